"""Losses with kinks under an l1 penalty on many columns, by interior points on a few of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..._base.typing import Array, IntArray
from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..sparse.next_columns import best_columns
from ..traits import Trait
from .primal_dual import PrimalDual

_FIRST = 200  # columns to begin with; safeguard
_MOST = 1200  # columns of one problem; safeguard
_ROUNDS = 60  # sets of columns; safeguard
_INNER = 0.3  # share of the target: gap of the problem on some columns; safeguard
_ROUGH = 1e-3  # share of the gap: accuracy while columns are still missing; safeguard
_FINEST = 1e-4  # share of the target, beyond which no more accuracy is tried; safeguard
_FEWEST_NEW = 50  # least number of columns added in a round; safeguard
_EXPECTED = 0.25  # columns per row that are expected to matter; estimate, corrected on the way
_CROWDED = 3  # columns per row of the last problem, where many matter; measured as in `costs`


class ColumnGeneration(Solver):
    """A problem on some columns; the others have |Xᵀu|ⱼ ≤ l1ⱼ, so that wⱼ = 0 is optimal for them.

    The multipliers u of the problem on some columns tell which others to add: those that break the
    inequality. When none does, u proves the solution optimal for all columns. Where nearly as many
    columns matter as there are rows, interior points on all columns take over.
    """

    name = "column_generation"
    heirs = ("primal_dual",)
    needs = Trait.KINKED, Trait.PIECES, Trait.SUM_OVER_FEATURES, Trait.NO_BOUNDS
    least_cost = costs.LEAST_COLUMN_GENERATION
    least_calls = costs.LEAST_COLUMN_CALLS

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses with pieces and kinks; an l1 part on almost all coefficients."""
        form = objective.penalty.sum_over_features
        assert form is not None
        if np.count_nonzero(form.l1 == 0) > _FIRST:
            return Verdict(False, "too many coefficients have no l1 part to keep them at zero")
        n, d = objective.design.shape
        size = float(min(d, _FIRST + min(_EXPECTED * n, _MOST)))
        words = "losses with kinks, l1: interior points on a few columns"
        return Verdict(True, words, costs.column_generation(objective, size))

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """One judged point for every set of columns."""
        form = objective.penalty.sum_over_features
        assert form is not None
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        columns = best_columns(objective, judgement, form, _FIRST)
        share, handed = _INNER, False
        for _ in range(_ROUNDS):
            goal = max(share * control.target, _ROUGH * judgement.gap)
            solved = _solved(objective, form, columns, goal, control)
            point = Point(_widened(objective, columns, solved.point.w), *solved.point[1:])
            judgement = judge(
                objective, point, [solved.dual.theta], known=[judgement.dual], raw=False
            )
            yield judgement
            violators = _violators(form, columns, judgement.slope)
            if not violators.size:
                if share < _FINEST:
                    return
                share *= 0.1  # no column is missing, only accuracy
            elif not handed:
                size = min(columns.size + violators.size, _CROWDED * objective.n_samples)
                words = f"{violators.size} more columns matter"
                offer = HandOver(words, self.heirs, costs.column_generation(objective, size))
                yield offer
                handed = offer.taken
            columns = _with_worst(form, columns, violators, point.w)


def _solved(
    objective: Objective, form: Separable, columns: IntArray, goal: float, control: Control
) -> Judgement:
    """The problem of some columns, by the interior-point method."""
    problem = objective.with_penalty(form.take(columns), columns=columns)
    inner = replace(control, target=goal, callbacks=(), max_iter=None)
    best: Judgement | None = None
    for judgement in PrimalDual().iterate(problem, problem.null, inner):
        if best is None or judgement.beats(best):
            best = judgement
        if best.reaches(problem, inner.target) or control.expired:
            break
    assert best is not None
    return best


def _widened(objective: Objective, columns: IntArray, values: Array) -> Array:
    w = np.zeros(objective.n_features)
    w[columns] = values
    return w


def _violators(form: Separable, columns: IntArray, slope: Array) -> IntArray:
    """The columns that break the inequality, those that do most first."""
    excess = np.abs(slope) / np.where(form.l1 > 0, form.l1, np.inf)
    excess[columns] = 0.0
    found = np.flatnonzero(excess > 1.0)
    return found[np.argsort(-excess[found])]


def _with_worst(form: Separable, columns: IntArray, violators: IntArray, w: Array) -> IntArray:
    """The current columns and the worst violators, ``_MOST`` at most."""
    worst = violators[: max(_FEWEST_NEW, columns.size // 2)]
    if columns.size + worst.size > _MOST:  # drop columns whose coefficient is zero
        columns = columns[(w[columns] != 0) | (form.l1[columns] == 0)]
    return np.union1d(columns, worst)
