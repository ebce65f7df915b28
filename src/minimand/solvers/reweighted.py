"""Non-convex penalties: minimise a convex tangent problem, take the tangent there, repeat."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import ClassVar

from ..certificate import Judgement, lifted
from ..objective import Objective, Point
from ..tangent import Tangent
from .base import Control, Solver, Verdict
from .working_set import WorkingSet

_ROUNDS = 1000
_SHARE = 0.1  # of the gap at a tangent's start that its minimisation must leave at most
_TANGENTS = 10  # what the whole costs, in lassos


class Reweighted(Solver):
    """A lasso, then weighted lassos whose weights p'(|wⱼ|) are those of the last one's solution.

    Each problem bounds the objective from above and touches it where the last one ended, so the
    objective never rises: the model is never worse than the lasso it started from, nor than the
    point it was given. Every first judgement of a round is the gap of the tangent at the current
    point, which is the certificate; later ones are those of the round's own problem.
    """

    name = "reweighted"
    takes_nonconvex: ClassVar[bool] = True
    _inner: ClassVar[Solver] = WorkingSet()

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Penalties that are concave in |w|, and losses that the lasso's solver takes."""
        if objective.convex:
            return Verdict(False, "the penalty is convex: it needs no tangents")
        inner = self._inner.accepts(Tangent.first(objective).problem, control)
        if not inner.ok:
            return Verdict(False, f"its tangent problems are refused: {inner.reason}")
        words = "non-convex penalty: its convex tangents one after the other, from the lasso"
        return Verdict(True, words, _TANGENTS * inner.cost)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """The lasso, or the given point if that is better; then tangents."""
        point = yield from self._lasso(objective, start, control)
        if objective.primal(start) < objective.primal(point):
            point = start
        for _ in range(_ROUNDS):
            before = objective.primal(point)
            new = yield from self._round(Tangent.at(objective, point.w), point, control)
            # The tangent has fallen, and so has the objective, but for rounding.
            if objective.primal(new) > before + 1e-13 * abs(before):
                return
            point = new

    def _lasso(
        self, objective: Objective, start: Point, control: Control
    ) -> Generator[Judgement, None, Point]:
        """Minimise the first majoriser; being good at it is not yet a reason to stop."""
        first = Tangent.first(objective)
        point = start
        for judgement in self._inner.iterate(first.problem, first.inside(start), control):
            point = first.outside(judgement.point)
            if judgement.reaches(first.problem, 0.5 * control.target) or control.expired:
                break
            if not judgement.reaches(first.problem, control.target):
                yield lifted(judgement, first)
        return point

    def _round(
        self, tangent: Tangent, point: Point, control: Control
    ) -> Generator[Judgement, None, Point]:
        """Lower the gap of one tangent problem to a share of what it was at the start."""
        goal = None
        for judgement in self._inner.iterate(tangent.problem, tangent.inside(point), control):
            point = tangent.outside(judgement.point)
            if goal is None:
                yield lifted(judgement, tangent)
                goal = max(0.5 * control.target, _SHARE * min(judgement.gap, tangent.whole.scale))
            elif judgement.reaches(tangent.problem, goal) or control.expired:
                break
            else:
                yield lifted(judgement, tangent)
        return point
