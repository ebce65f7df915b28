"""Sums over the rows of least-squares folds: those of all rows minus those left out."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._base.typing import Array, IntArray
from ..certificate import judge
from ..estimators.settings import Settings
from ..penalties import Strengths
from ..problem.condensed import Condensed, Sums, condense, middle, outnumber, sums
from ..problem.objective import Meter, Objective
from ..problem.point import LatePoint
from ..solvers import Control, Solution, solve
from ..solvers.paths.certified_models import was_cut_short
from ..solvers.paths.from_sums import SummedModels, models_from_sums
from ..solvers.paths.on_gram import OnGram
from ..solvers.paths.path import kind_of_settler, solve_path
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
        self._objective, self._settings = objective, settings
        self._at = penalties_of(settings, objective)
        self._known: tuple[Array, Strengths | None] | None = None
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
        return outnumber(objective, min(fold.train.size for fold in folds)) and objective.is_summed

    def models(self, fold: int, alphas: Array, control: Control) -> SummedModels | None:
        """All models of a fold in arrays; None if one of them needs more than its sums."""
        strengths = self._strengths(alphas)
        if strengths is None or control.callbacks:
            return None
        return attempted(
            lambda: self._from(self._sums.training(fold), alphas, strengths, control), control
        )

    def _from(
        self, own: Sums, alphas: Array, strengths: Strengths, control: Control
    ) -> SummedModels | None:
        return models_from_sums(self._objective, own, strengths, alphas, control.tol)

    def _strengths(self, alphas: Array) -> Strengths | None:
        """The penalties of a path in arrays, if it is one that blocks solve on a Gram."""
        if self._known is None or self._known[0] is not alphas:
            self._known = alphas, self._strengths_at(alphas)
        return self._known[1]

    def _strengths_at(self, alphas: Array) -> Strengths | None:
        base, penalty = self._objective, self._settings.penalty
        if kind_of_settler(base, self._at, [float(alpha) for alpha in alphas]) is not OnGram:
            return None
        if penalty.proved:  # ours: those without constraints are multiples of each other
            unit = Strengths.of([base.bound(penalty, 1.0)])
            return None if unit is None else unit.times(alphas)
        return Strengths.of([base.bound(penalty, float(alpha)) for alpha in alphas])

    def solutions(
        self, fold: int, alphas: Array, control: Control
    ) -> tuple[Condensed, list[Solution]] | None:
        """A condensed problem and its path; None if its last model is not accurate on the data.

        Where certificates do not include the rounding of the sums, which matters most at the
        smallest alpha, the last model is checked. None for several outputs, too.
        """
        if self._objective.n_scores > 1:
            return None
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

    def model(self, alpha: float, control: Control) -> tuple[Array, Any] | None:
        """Coefficients and intercept of a problem of all rows, up to the rounding of sums."""
        strengths = self._strengths_at(np.array([alpha, alpha]))
        if strengths is not None:
            alone = Strengths(*(part[:1] for part in strengths))
            models = self._from(self.whole, np.array([alpha]), alone, control)
            if models is not None:
                return models.coefs[0].T, models.shifts[0]
        if self._objective.n_scores > 1:
            return None
        small = condense(self._objective, self.whole)
        found = solve(self._at(small.objective, alpha), "auto", replace(control, callbacks=()))
        return found.w, float(small.intercepts(found.w))

    def held_out_losses(self, fold: int, coefs: Array, intercepts: Array) -> Array | None:
        """½·mean ‖r‖² of these models on what a fold leaves out, from its sums.

        The last axis of the coefficients is that of the features, and the one before that of the
        outputs, if there are several. None if the test rows are others, or if the sums hold too few
        digits of the losses.
        """
        part = self._sums.left_out[fold]
        if part is None or not self._tests_on_rest[fold]:
            return None
        mean = part.first / part.weight
        spread = part.second / part.weight - np.outer(mean, mean)
        k, d = self._objective.n_scores, coefs.shape[-1]
        own = np.tile(-np.eye(k), (len(coefs), 1))
        along = np.hstack([coefs.reshape(-1, d), own])  # r = along·(x, t) + b
        away = along @ (part.centre + mean) + intercepts.ravel()
        squares = ((along @ spread) * along).sum(axis=1)
        size = np.abs(along) @ np.sqrt(np.maximum(np.diag(part.second), 0.0) / part.weight)
        if not (squares >= _DIGITS * size**2).all():
            return None
        return 0.5 * (squares + away**2).reshape(-1, k).sum(axis=1)

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
