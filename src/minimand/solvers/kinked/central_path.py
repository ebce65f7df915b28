"""Mehrotra's predictor-corrector step, for any problem whose kinks are risers.

A subclass says how Newton's equations are solved, and moves its own variables.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from .slope_rises import Rises

System = TypeVar("System")
Step = TypeVar("Step")


class CentralPath(Generic[System, Step]):
    """Pairs of numbers whose products shrink together.

    Attributes
    ----------
    products : float
        The gap that is left once the slopes of the dual agree.
    unmet : float
        The share of the first disagreement of slopes, or of slacks, that is left.
    all_lines : bool
        Whether nothing is curved: primal and dual steps then have lengths of their own.
    """

    nearest: ClassVar[float] = 0.9995
    """The share of the way to the boundary that a step may go; convention."""
    products: float
    unmet: float
    all_lines: bool
    _parts: list[Rises]
    _measure: float

    def _system(self) -> System:
        """Newton's equations at the current point, with all risers told to aim at μ = 0."""
        raise NotImplementedError

    def _solve(self, system: System) -> Step:
        """The step for the products that the risers aim at now; the risers follow it."""
        raise NotImplementedError

    def _move(self, step: Step, primal: float) -> None:
        """Move all variables but those of the risers."""
        raise NotImplementedError

    def _begin_path(self) -> None:
        """Count the products, once all risers have begun."""
        self._measure = sum([part.measure for part in self._parts])
        self.products = sum([part.products for part in self._parts])
        self.unmet, self._unmet = 1.0, (1.0, 1.0)

    def step(self, least_centring: float = 0.0) -> float:
        """One predictor and one corrector step; returns the length of the step.

        Steps that aim too low may cycle: ``least_centring`` is the least share of the products a
        step aims to leave.
        """
        system = self._system()
        before = self.products
        self._solve(system)
        dual, primal = self._lengths(1.0)
        after = sum([part.products_after(dual, primal) for part in self._parts])
        centring = (max(after, 0.0) / before) ** 3 if before > 0 else 0.0
        mu = max(centring, least_centring) * before / self._measure
        for part in self._parts:
            part.recentre(mu)
        step = self._solve(system)
        dual, primal = self._lengths(self.nearest)
        self._move(step, primal)
        for part in self._parts:
            part.move(dual, primal)
        self.products = sum([part.products for part in self._parts])
        self._unmet = self._unmet[0] * (1.0 - dual), self._unmet[1] * (1.0 - primal)
        self.unmet = max(self._unmet)
        return min(dual, primal)

    def _lengths(self, nearest: float) -> tuple[float, float]:
        """The lengths of the dual and primal steps; one common length if anything is curved."""
        dual = primal = 1.0
        for part in self._parts:
            dual_room, primal_room = part.room()
            dual = min(dual, nearest * dual_room)
            primal = min(primal, nearest * primal_room)
        return (dual, primal) if self.all_lines else (min(dual, primal),) * 2
