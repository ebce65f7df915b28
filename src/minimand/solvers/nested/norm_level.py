"""Half a squared norm, solved as the norm itself with the right factor.

The minimiser of loss + ½·factor·N(w)² + ½·l2‖w‖² is that of loss + level·N(w) + ½·l2‖w‖² with
level = factor·N(w): both have the same subgradients there. N falls as the level rises, so that
level − factor·N(w(level)) has one root.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...certificate import Judgement, judge
from ...penalties import SquaredNorm
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..sparse.working_groups import WorkingGroups
from ..succession import points_of
from ..traits import Trait

_ROUNDS = 100  # levels that are tried; safeguard, six are usual
_INNER = 100  # iterations of one problem; safeguard
_FINER = 0.3  # factor of the accuracy from level to level; safeguard
_FINEST = 1e-4  # least share of the target; safeguard
_INSIDE = 1e-3  # share of the bracket that a secant stays away from its ends; safeguard


class NormLevel(Solver):
    """½N(w)²: finds the level at which the plain norm has the same solution, by secants.

    Every level costs one problem with the norm itself, started from the last solution.
    """

    name = "norm_level"
    shapes = (Trait.COLUMNS,)
    kind = (*Solver.kind, Trait.SQUARED_NORM)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Squared norms of groups, for every loss that the norms themselves are solved for."""
        verdict = WorkingGroups().verdict(self._plain(objective, 1.0), control)
        if not verdict.ok:
            return Verdict(False, f"no solver takes the plain norm: {verdict.reason}")
        words = "the level of the norm, over problems solved by 'working_groups'"
        return Verdict(True, words, 10 * verdict.cost)  # 10: problems; estimate

    def _plain(self, objective: Objective, level: float) -> Objective:
        penalty = objective.penalty
        assert isinstance(penalty, SquaredNorm)
        return objective.with_penalty(penalty.with_multiplier(level))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Judged points, one per level."""
        penalty = objective.penalty
        assert isinstance(penalty, SquaredNorm)
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        gauges = penalty.with_multiplier(1.0).gauges(judge(objective, objective.null).slope)
        high = float(np.max(gauges[np.isfinite(gauges)], initial=0.0))
        if not high > 0:
            return
        bracket = _Bracket(high)
        level = penalty.factor * penalty.size(judgement.point.w)
        level = level if 0 < level < high else 0.5 * high
        point, accuracy = judgement.point, 0.3  # of the target; safeguard
        for _ in range(_ROUNDS):
            solved = self._solved(objective, level, point, accuracy, control)
            point = solved.point
            judgement = judge(objective, point, [solved.dual.theta], known=[judgement.dual])
            yield judgement
            level = bracket.next(level, penalty.factor * penalty.size(point.w))
            accuracy = max(_FINER * accuracy, _FINEST)

    def _solved(
        self, objective: Objective, level: float, start: Point, accuracy: float, control: Control
    ) -> Judgement:
        """The solution with the plain norm at one level."""
        problem = self._plain(objective, level)
        inner = replace(control, target=accuracy * control.target, callbacks=())
        solver = WorkingGroups()
        for count, judgement in enumerate(points_of(solver, problem, start, inner)):
            if judgement.reaches(problem, inner.target) or control.expired or count >= _INNER:
                break
        return judgement


class _Bracket:
    """Levels below and above the root of level − factor·N(w(level))."""

    def __init__(self, high: float) -> None:
        self._low, self._high = 0.0, high
        self._last: tuple[float, float] | None = (high, high)  # a level, and how far it is above

    def next(self, level: float, found: float) -> float:
        """The next level, after ``level`` has led to factor·N = ``found``."""
        above = level - found
        if above > 0:
            self._high = min(self._high, level)
        else:
            self._low = max(self._low, level)
        width = self._high - self._low
        middle = self._low + 0.5 * width
        guess = middle
        if self._last is not None and self._last[1] != above:
            before, was = self._last
            guess = level - above * (level - before) / (above - was)
        self._last = level, above
        if not self._low + _INSIDE * width < guess < self._high - _INSIDE * width:
            near = self._low < guess < self._high
            return guess if near and abs(guess - level) < _INSIDE * level else middle
        return guess
