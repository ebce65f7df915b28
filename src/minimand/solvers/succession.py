"""Solvers that continue each other on one problem: where one hands over, another goes on."""

from __future__ import annotations

from collections.abc import Iterator

from ..certificate import Finding, Judgement, judge
from ..problem.objective import Objective, Point
from . import SOLVERS
from .base import Control, HandOver, Solver


class Succession:
    """The judged points of a solver and of those it hands over to, as one sequence.

    Attributes
    ----------
    solver : Solver
        The solver that is running.
    ran : list of Solver
        The solvers that found the points so far, in their order.
    reasons : list of str
        Why they handed over, one sentence each.
    best : Finding or None
        The best point of all.
    """

    def __init__(self, solver: Solver, objective: Objective, control: Control) -> None:
        self.solver, self._objective, self._control = solver, objective, control
        self.ran: list[Solver] = []
        self.reasons: list[str] = []
        self.best: Finding | None = None

    def points(self, solver: Solver, start: Point) -> Iterator[Finding]:
        """The points of ``solver``, and of the solvers it hands over to."""
        self.solver = solver
        for found in solver.iterate(self._objective, start, self._control):
            if isinstance(found, HandOver):
                heir = self._heir(found)
                found.taken = heir is not None
                if heir is not None:
                    self.reasons.append(f"{solver.name} → {heir.name}: {found.reason}")
                    yield from self.points(heir, self._best_point(start))
                    self.solver = solver
                continue
            if not isinstance(found, Finding):
                raise TypeError(
                    f"iterate of solver {solver.name!r} must yield what minimand.certificate.judge "
                    f"returns, or a HandOver, not {found!r:.60}."
                )
            if not self.ran or self.ran[-1] is not solver:
                self.ran.append(solver)
            if self.best is None or found.beats(self.best):
                self.best = found.summary
            yield found
            del found  # frees n numbers before the solver makes the next

    def _heir(self, hand_over: HandOver) -> Solver | None:
        """The first of the named solvers that accepts the problem and costs less than going on."""
        for name in hand_over.to:
            if name not in SOLVERS:
                raise ValueError(
                    f"solver {self.solver.name!r} hands over to {name!r}, which is none of the "
                    f"solvers {sorted(SOLVERS)}."
                )
            verdict = SOLVERS[name].verdict(self._objective, self._control)
            if verdict.ok and verdict.cost <= hand_over.remaining:
                return SOLVERS[name]
        return None

    def _best_point(self, start: Point) -> Point:
        """The start of the next solver; scores of long data were freed and are recomputed."""
        if self.best is None:
            return start
        point = self.best.point
        return point if point.z.size else self._objective.point(point.w, point.b)


def points_of(
    solver: Solver, objective: Objective, start: Point, control: Control
) -> Iterator[Judgement]:
    """The judged points of a solver on a problem that is part of another solver's work."""
    for found in Succession(solver, objective, control).points(solver, start):
        yield fully_judged(objective, found)


def fully_judged(objective: Objective, found: Finding) -> Judgement:
    """A finding with all that another solver may need to go on."""
    if isinstance(found, Judgement):
        return found
    return judge(objective, found.point, known=[found.dual])
