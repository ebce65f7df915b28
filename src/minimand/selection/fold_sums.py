"""Folds of a least-squares problem from sums over rows: all but one part, by subtraction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from .._typing import Array, IntArray
from ..certificate import judge
from ..condensed import Sums, condense, is_worthwhile, middle, sums
from ..estimators.settings import Settings
from ..objective import Meter, Objective
from ..solvers import Control, Solution
from ..solvers.path import solve_path
from ..solvers.together import was_cut_short
from .path import penalties_of
from .samples import Fold, Samples

Watch = Callable[[Iterable[Solution]], Iterator[Solution]]


class FoldSums:
    """What the folds of one problem with the squared loss share.

    The sums of the rows that a fold trains on are those of all rows less those that it leaves out,
    so all folds together cost little more than one Gram.
    """

    def __init__(
        self, settings: Settings, objective: Objective, samples: Samples, folds: list[Fold]
    ) -> None:
        self._objective = objective
        self._at = penalties_of(settings, objective)
        self._train = [_places(samples, fold.train) for fold in folds]
        self._sums = training_sums(objective, self._train)

    @staticmethod
    def serve(objective: Objective, solver: str, folds: list[Fold]) -> bool:
        """Whether sums over rows cost less than the rows, in every fold."""
        if solver != "auto" or any(np.bincount(f.train).max(initial=0) > 1 for f in folds):
            return False
        return is_worthwhile(objective, min(fold.train.size for fold in folds))

    def solutions(
        self, fold: int, alphas: Array, control: Control, watch: Watch
    ) -> tuple[Objective, list[Solution]] | None:
        """A condensed problem and its path; None if its last model is not as good on the data.

        The smallest alpha is where the rounding of the sums matters most.
        """
        small = condense(self._objective, self._sums[fold])
        values = [float(alpha) for alpha in alphas]
        found = list(watch(solve_path(small.objective, self._at, values, control)))
        found = [replace(s, point=s.point._replace(b=small.intercept(s.w))) for s in found]
        if any(not s.converged and not was_cut_short(s.stopped_by) for s in found):
            return None
        last, alpha = found[-1], values[len(found) - 1]
        if last.converged and not self._holds(fold, alpha, last, control):
            return None
        return small.objective, found

    def _holds(self, fold: int, alpha: float, solution: Solution, control: Control) -> bool:
        """Whether a solution is one on the rows themselves; the others get no mass."""
        mass = np.zeros(self._objective.n_samples)
        mass[self._train[fold]] = self._objective.mass[self._train[fold]]
        rows = replace(self._objective, mass=mass / mass.sum(), meter=Meter())
        problem = self._at(rows, alpha)
        judgement = judge(problem, problem.point(solution.w, solution.b))
        return judgement.reaches(problem, control.tol * problem.scale)


def training_sums(objective: Objective, train: list[IntArray]) -> list[Sums]:
    """The sums over each of these sets of rows; directly, where a subtraction would not do."""
    everything = np.arange(objective.n_samples)
    left_out = [np.setdiff1d(everything, rows, assume_unique=True) for rows in train]
    centre = middle(objective)
    parts = [
        sums(objective, centre, out) if 0 < out.size <= rows.size else None
        for out, rows in zip(left_out, train)
    ]
    known = [part for part in parts if part is not None]
    divided = len(known) == len(parts) and np.array_equal(
        np.sort(np.concatenate(left_out)), everything
    )
    whole = reduce(add, known) if divided else sums(objective, centre)
    found = []
    for rows, part in zip(train, parts):
        rest = None if part is None else whole - part
        kept = rest is not None and rest.keeps_digits_of(whole)
        found.append(rest if rest is not None and kept else sums(objective, rows=rows))
    return found


def _places(samples: Samples, rows: IntArray) -> IntArray:
    """Where these samples stand in an objective, which has no rows of weight zero."""
    if samples.weight is None:
        return np.sort(rows)
    place = np.cumsum(samples.weight > 0) - 1
    return np.sort(place[samples.weighted(rows)])
