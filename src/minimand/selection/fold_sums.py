"""Sums over the rows of least-squares folds: those of all rows minus those left out."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from .._base.typing import Array, IntArray
from ..certificate import judge
from ..estimators.settings import Settings
from ..problem.condensed import Condensed, Sums, condense, is_worthwhile, middle, sums
from ..problem.objective import Meter, Objective
from ..problem.point import LatePoint
from ..solvers import Control, Solution, solve
from ..solvers.paths.certified_models import was_cut_short
from ..solvers.paths.path import solve_path
from .path import penalties_of
from .samples import Fold, Samples
from .stopping import attempted, collected

_DIGITS = 1e-4  # share of Σ|terms| that a mean of squares must keep; safeguard: 4 of 16 digits lost


class Divided:
    """Sums over all rows, over each of some training sets, and over what each leaves out.

    The sums of a training set are those of all rows minus those of the rest, so all sets cost
    little more than one Gram matrix. If the subtraction would lose digits, the sums are computed
    directly.
    """

    def __init__(self, objective: Objective, train: list[IntArray]) -> None:
        everything = np.arange(objective.n_samples)
        self._objective, self._train = objective, train
        self.rest = [np.setdiff1d(everything, rows, assume_unique=True) for rows in train]
        centre = middle(objective)
        self.left_out = [
            sums(objective, centre, out) if 0 < out.size <= rows.size else None
            for out, rows in zip(self.rest, train)
        ]
        known = [part for part in self.left_out if part is not None]
        complete = len(known) == len(train) and np.array_equal(
            np.sort(np.concatenate(self.rest)), everything
        )
        self.whole = reduce(add, known) if complete else sums(objective, centre)

    def training(self, i: int) -> Sums:
        """The sums of the i-th training set."""
        part = self.left_out[i]
        if part is not None:
            rest = self.whole - part
            if rest.keeps_digits_of(self.whole):
                return rest
        return sums(self._objective, rows=self._train[i])


class FoldSums:
    """The sums over rows that the folds of one problem with the squared loss share."""

    def __init__(
        self, settings: Settings, objective: Objective, samples: Samples, folds: list[Fold]
    ) -> None:
        self._objective = objective
        self._at = penalties_of(settings, objective)
        self._train = [_places(samples, fold.train) for fold in folds]
        self._sums = Divided(objective, self._train)
        # Whether the test rows of a fold are exactly the rows that it leaves out.
        self._tests_on_rest = [
            np.array_equal(_places(samples, fold.test), rest)
            for fold, rest in zip(folds, self._sums.rest)
        ]

    @property
    def whole(self) -> Sums:
        """The sums over all rows."""
        return self._sums.whole

    @staticmethod
    def serve(objective: Objective, solver: str, folds: list[Fold]) -> bool:
        """Whether sums over rows cost less than the rows, in every fold."""
        if solver != "auto" or any(np.bincount(f.train).max(initial=0) > 1 for f in folds):
            return False
        return is_worthwhile(objective, min(fold.train.size for fold in folds))

    def solutions(
        self, fold: int, alphas: Array, control: Control
    ) -> tuple[Condensed, list[Solution]] | None:
        """A condensed problem and its path; None if its last model is not accurate on the data.

        Where certificates do not include the rounding of the sums, which matters most at the
        smallest alpha, the last model is checked.
        """
        own = attempted(lambda: self._sums.training(fold), control)
        if own is None:
            return None
        small = condense(self._objective, own)
        values = [float(alpha) for alpha in alphas]
        path = solve_path(small.objective, self._at, values, control, known=small.sums)
        found, _ = collected(path, control)
        if not found or any(not s.converged and not was_cut_short(s.stopped_by) for s in found):
            return None
        last, alpha = found[-1], values[len(found) - 1]
        charged = isinstance(last.point, LatePoint)  # for the rounding of the sums, in its gap
        if last.converged and not (charged or self._holds(fold, alpha, small, last.w, control)):
            return None
        return small, found

    def model(self, alpha: float, control: Control) -> tuple[Array, float]:
        """Coefficients and intercept of a problem of all rows, up to the rounding of sums."""
        small = condense(self._objective, self.whole)
        found = solve(self._at(small.objective, alpha), "auto", replace(control, callbacks=()))
        return found.w, float(small.intercepts(found.w))

    def held_out_losses(self, fold: int, coefs: Array, intercepts: Array) -> Array | None:
        """½·mean r² of these models on what a fold leaves out, from its sums.

        None if the test rows are others, or if the sums hold too few digits of the losses.
        """
        part = self._sums.left_out[fold]
        if part is None or not self._tests_on_rest[fold]:
            return None
        mean = part.first / part.weight
        spread = part.second / part.weight - np.outer(mean, mean)
        along = np.column_stack([coefs, np.full(len(coefs), -1.0)])  # r = along·(x, t) + b
        away = along @ (part.centre + mean) + intercepts
        squares = ((along @ spread) * along).sum(axis=1)
        size = np.abs(along) @ np.sqrt(np.maximum(np.diag(part.second), 0.0) / part.weight)
        if not (squares >= _DIGITS * size**2).all():
            return None
        return 0.5 * (squares + away**2)

    def _holds(self, fold: int, alpha: float, small: Condensed, w: Array, control: Control) -> bool:
        """Whether a solution meets the tolerance on the rows of a fold; other rows get mass 0."""
        mass = np.zeros(self._objective.n_samples)
        mass[self._train[fold]] = self._objective.mass[self._train[fold]]
        rows = replace(self._objective, mass=mass / mass.sum(), meter=Meter())
        problem = self._at(rows, alpha)
        judgement = judge(problem, problem.point(w, float(small.intercepts(w))))
        return judgement.reaches(problem, control.tol * problem.scale)


def _places(samples: Samples, rows: IntArray) -> IntArray:
    """The row numbers of these samples in an objective, which has no rows of weight zero."""
    if samples.weight is None:
        return np.sort(rows)
    place = np.cumsum(samples.weight > 0) - 1
    return np.sort(place[samples.weighted(rows)])
