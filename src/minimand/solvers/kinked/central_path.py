"""Mehrotra's predictor-corrector step, for any problem whose kinks are risers.

A subclass says how Newton's equations are solved, and moves its own variables.
"""

from __future__ import annotations

from typing import ClassVar, Generic, NamedTuple, TypeVar

from ..._base.watch import reason
from .slope_rises import Rises

System = TypeVar("System")
Step = TypeVar("Step")
_SHORT_WAIT = 3  # steps, after which steps are centred; safeguard


class Limits(NamedTuple):
    """When a walk ends."""

    near: float  # products
    most: int  # steps
    far: float = float("inf")  # products
    patience: int = 1 << 30  # steps in which the products must halve
    centred: float = 0.0  # least share of the products that a step aims at if they do not fall


class Walked(NamedTuple):
    """How a walk ended."""

    steps: int
    stuck: bool  # rounding allows no more, or the products have grown too far


class Course(NamedTuple):
    """How the products have fallen since the start, and what is left of the disagreements."""

    least: float = float("inf")
    waited: int = 0  # steps since they were halved
    unmet_dual: float = 1.0
    unmet_primal: float = 1.0


class CentralPath(Generic[System, Step]):
    """Pairs of numbers whose products shrink together.

    Attributes
    ----------
    products : float
        The gap that is left once the slopes of the dual agree.
    all_lines : bool
        Whether nothing is curved: primal and dual steps then have lengths of their own.
    """

    nearest: ClassVar[float] = 0.9995
    """The share of the way to the boundary that a step may go; convention."""
    products: float
    all_lines: bool
    _parts: list[Rises]
    _measure: float
    _course: Course

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
        self._course = Course()

    @property
    def unmet(self) -> float:
        """The share of the first disagreement of slopes, or of slacks, that is left."""
        return max(self._course.unmet_dual, self._course.unmet_primal)

    def walk(self, limits: Limits) -> Walked:
        """Steps until the products are small enough or a limit is reached, at least one."""
        taken, stuck = 0, False
        while taken < limits.most:
            taken += 1
            length = self.step(limits.centred if self._course.waited > _SHORT_WAIT else 0.0)
            course, now = self._course, self.products
            waited = 0 if now < 0.5 * course.least else course.waited + 1
            self._course = course._replace(least=min(course.least, now), waited=waited)
            # 1e-12: a step of no length; safeguard.
            stuck = not length > 1e-12 or waited >= limits.patience or not now <= limits.far
            if now <= limits.near or stuck or reason():
                break
        return Walked(taken, stuck)

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
        known = self._course
        self._course = known._replace(
            unmet_dual=known.unmet_dual * (1.0 - dual),
            unmet_primal=known.unmet_primal * (1.0 - primal),
        )
        return min(dual, primal)

    def _lengths(self, nearest: float) -> tuple[float, float]:
        """The lengths of the dual and primal steps; one common length if anything is curved."""
        dual = primal = 1.0
        for part in self._parts:
            dual_room, primal_room = part.room()
            dual = min(dual, nearest * dual_room)
            primal = min(primal, nearest * primal_room)
        return (dual, primal) if self.all_lines else (min(dual, primal),) * 2
