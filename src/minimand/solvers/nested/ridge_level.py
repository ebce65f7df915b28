"""The norm of all coefficients, solved as half its square with the right factor.

The minimiser of loss + norm·‖w‖ + ½·l2‖w‖² is that of loss + ½·(level + l2)‖w‖² with
level·‖w‖ = norm: both have the same subgradients there. level·‖w(level)‖ rises with the level, so
that there is one such level, unless w = 0 is the solution.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..steps.progress import Progress
from ..traits import Trait
from .penalised import cheapest, solved

_PROBLEMS = 3.0  # whose time all levels take: later ones start close; measured at 300 and 1500 rows
_ROUNDS = 100  # levels that are tried; safeguard, eight are usual
_PATIENCE = 30  # levels without progress, after which only rounding is left; safeguard
_FINER = 0.3  # factor of the accuracy from level to level; safeguard
_FINEST = 1e-6  # least share of the target; safeguard
_GROWTH = math.log(8.0)  # of the factor between levels while one end is missing; safeguard
_INSIDE = 1e-3  # share of the bracket that a secant stays away from its ends; safeguard


class RidgeLevel(Solver):
    """norm·‖w‖: finds the level at which ½·level·‖w‖² has the same solution, by secants.

    Every level costs one problem with L2, which more solvers take, started from the last solution.
    Between the solutions at both ends of the bracket lies one whose pull level·‖w‖ is the norm; it
    is judged with the same mixture of their dual points.
    """

    name = "ridge_level"
    shapes = (Trait.COLUMNS,)
    kind = (Trait.CONVEX_LOSS, Trait.CONVEX_PENALTY, Trait.NORM_OF_ALL)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """The norm of all coefficients, for every loss that L2 is solved for."""
        if math.prod(objective.coef_shape) == 1:
            return Verdict(False, "of one coefficient the norm is |w|: a sum over features")
        solver, verdict = cheapest(_with_level(objective, 1.0), control)
        if solver is None:
            return Verdict(False, f"no solver takes L2 in its place: {verdict.reason}")
        words = f"the level of the norm, over problems solved by {solver.name!r}"
        return Verdict(True, words, _PROBLEMS * verdict.cost)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Judged points, one per level."""
        form = objective.penalty.function_of_norm
        assert form is not None
        norm = float(form.l1[0])
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        # ½·level·‖w(level)‖² ≤ scale, so that no lower level has the pull.
        least = norm / max(2.0 * objective.scale, 1e-300) * norm
        size = float(np.linalg.norm(judgement.point.w))
        bracket = _Bracket(math.log(max(least, 1e-300, norm / size if size > 0 else 0.0)))
        point, accuracy = judgement.point, 0.3  # of the target; safeguard
        progress = Progress(control.target, _PATIENCE)
        for _ in range(_ROUNDS):
            problem = _with_level(objective, math.exp(bracket.next))
            found = solved(problem, point, control, accuracy * control.target)
            bracket.add(norm, found)
            w, duals = bracket.candidate()
            point = recentred(objective, objective.point(w, found.point.b))
            judgement = judge(objective, point, duals, known=[judgement.dual])
            yield judgement
            if progress.ended(judgement):
                return
            accuracy = max(_FINER * accuracy, _FINEST)


def _with_level(objective: Objective, level: float) -> Objective:
    """The problem with ½·level·‖w‖² in place of the norm."""
    form = objective.penalty.function_of_norm
    assert form is not None
    ones = np.ones(objective.coef_shape)
    return objective.with_penalty(Separable(0.0 * ones, (level + float(form.l2[0])) * ones))


class _End(NamedTuple):
    """The logarithm of a level, that of its pull over the norm, and the solution there."""

    level: float
    excess: float
    w: Array
    theta: Array


class _Bracket:
    """Logarithms of levels below and above the one whose pull is the norm.

    Secants with Illinois' correction: the excess at an end that stays is halved.
    """

    def __init__(self, first: float) -> None:
        self.next = first
        self._low: _End | None = None
        self._high: _End | None = None
        self._shares = [1.0, 1.0]  # by which the secant takes the excess at both ends
        self._last = 0

    def add(self, norm: float, found: Judgement) -> None:
        """Take the solution at the last level as an end, and find the next level."""
        size = float(np.linalg.norm(found.point.w))
        # A model of zero has no pull, whatever the level; -1: safeguard.
        excess = self.next + math.log(size / norm) if size > 0 else -1.0
        end = _End(self.next, excess, found.point.w, found.dual.theta)
        side = 1 if excess > 0 else -1
        if side > 0:
            self._high = end
        else:
            self._low = end
        if self._low is None or self._high is None:
            self.next -= side * _GROWTH
            return
        changed = 0 if side < 0 else 1
        self._shares[changed] = 1.0
        if side == self._last:
            self._shares[1 - changed] *= 0.5
        self._last = side
        below, above = -self._low.excess * self._shares[0], self._high.excess * self._shares[1]
        share = below / (below + above) if below + above > 0 else 0.5
        width = self._high.level - self._low.level
        self.next = self._low.level + width * min(max(share, _INSIDE), 1.0 - _INSIDE)

    def candidate(self) -> tuple[Array, list[Array]]:
        """The model between the ends at which the pull is the norm, and dual points there."""
        low, high = self._low, self._high
        if high is None:
            assert low is not None
            return low.w, [low.theta]
        if low is None:
            return high.w, [high.theta]
        total = high.excess - low.excess
        share = -low.excess / total if total > 0 else 0.5
        mixed = low.theta + share * (high.theta - low.theta)
        return low.w + share * (high.w - low.w), [mixed, low.theta, high.theta]
