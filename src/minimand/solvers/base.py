"""What a solver is: verdicts, limits, hand-overs and solutions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._base.parameters import Parameterized
from .._base.typing import Array
from .._base.watch import reason as reason_to_stop
from ..certificate import Certificate, Finding, Judgement
from ..problem.objective import Objective, Point
from .history import History, State
from .traits import Trait, missing, traits_of


class Stop:
    """The type of `minimand.STOP`."""

    def __repr__(self) -> str:
        return "minimand.STOP"


STOP = Stop()

CALLBACK = "a callback"  # who stopped a fit, as the warning says it


class Verdict(NamedTuple):
    """Whether a solver takes a problem, why or why not, and about how many operations it costs."""

    ok: bool
    reason: str
    cost: float = np.inf


@dataclass(eq=False)
class HandOver:
    """What `Solver.iterate` yields where others would do better from here on.

    The first of ``to`` that accepts the problem goes on from the best point so far. When it has
    ended without a solution, the solver that handed over is resumed: ``taken`` then tells it
    whether there was such an heir. ``reason`` completes "handed over because …".
    """

    reason: str
    to: tuple[str, ...]
    taken: bool = False


Callback = Callable[[State], Any]


@dataclass
class Control:
    """When to stop: the gap to reach, and the limits on the way."""

    tol: float = 1e-6
    max_iter: int | None = None
    max_seconds: float | None = None
    callbacks: Sequence[Callback] = ()
    memory: float = np.inf  # bytes a solver may use beside the data
    random_state: Any = None
    started: float = field(default_factory=time.perf_counter)
    target: float = 0.0  # tol·scale, set once the objective is known
    ended_by: str = ""  # why a solver had no further point, where it says so itself
    until: float | None = None  # seconds since the start, where this is but a part of a fit

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.started

    def state(self, objective: Objective, finding: Finding, iteration: int) -> State:
        """What has been found by now, and what it took."""
        primal, gap = finding.primal, finding.gap
        return State(
            iteration,
            objective.meter.passes,
            time.perf_counter() - self.started,
            primal,
            primal - gap,
            gap,
            self.target,
            finding.point,
        )

    @property
    def remaining(self) -> float | None:
        """Seconds that are left; None where there is no limit."""
        end = self.max_seconds if self.until is None else self.until
        return None if end is None else end - self.seconds

    def share(self, parts: float) -> Control:
        """The same limits, with one of so many equal parts of the time that is left."""
        if self.remaining is None:
            return replace(self)
        return replace(self, until=self.seconds + max(self.remaining, 0.0) / parts)

    @property
    def expired(self) -> bool:
        """Whether the time is up; solvers ask inside long iterations."""
        return bool(self.late() or reason_to_stop())

    @property
    def why(self) -> str:
        """Why the fit shall stop by now: its time is up, or somebody said so; empty if not."""
        return self.late() or reason_to_stop()

    def late(self) -> str:
        """The limit of time that has passed, in words; empty if none has."""
        end = self.max_seconds if self.until is None else self.until
        if end is None or time.perf_counter() - self.started < end:
            return ""
        return f"max_seconds={self.max_seconds}"


class Solver(Parameterized):
    """An algorithm: says which problems it accepts, and improves a point step by step.

    A value object like losses and penalties: options are constructor arguments, stored unchanged.
    """

    name: ClassVar[str] = ""
    null_may_do: ClassVar[bool] = True
    """Whether a null model within the tolerance is a solution. Where no l1 term makes exact zeros,
    it is never the optimum itself: strong penalties make coefficients small, not zero."""
    by_name_only: ClassVar[bool] = False  # "auto" never takes it, however many refuse
    parallel: ClassVar[bool] = False  # several problems are best solved on a thread each
    kind: ClassVar[tuple[Trait, ...]] = (
        Trait.CONVEX_LOSS,
        Trait.CONVEX_PENALTY,
        Trait.MEAN_OVER_SAMPLES,
    )
    """Without these traits a problem is of another kind than its own, whatever the details."""
    shapes: ClassVar[tuple[Trait, ...]] = (Trait.ONE_SCORE, Trait.COLUMNS)  # nor without these
    needs: ClassVar[tuple[Trait, ...]] = ()  # further traits of the problems it takes
    least_cost: ClassVar[float] = 0.0
    """What it costs at least, per stored number: one that costs more need not be asked."""
    default_max_iter: ClassVar[int | None] = None  # most iterations where max_iter is None
    heirs: ClassVar[tuple[str, ...]] = ()  # to whom it may hand over: the first that accepts
    patience: ClassVar[int] = 30  # iterations without any progress before it is given up
    exhausted: ClassVar[str] = "no further progress"  # why its last judgement was the last

    def check_parameters(self) -> None:
        """Raise ValueError, in one sentence, for an option outside its range."""

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """A verdict with a reason in words, on a problem that has all traits it needs."""
        raise NotImplementedError

    def verdict(self, objective: Objective, control: Control) -> Verdict:
        """The same, after problems that lack a trait it needs have been refused."""
        lacking = missing((*self.shapes, *self.kind, *self.needs), traits_of(objective))
        if lacking is not None:
            return Verdict(False, self.without(lacking, objective))
        return self.accepts(objective, control)

    def without(self, trait: Trait, objective: Objective) -> str:
        """Why a problem that lacks a trait is refused."""
        return trait.value.format(loss=objective.loss, solver=self.name)

    def prepared(self, objective: Objective) -> Solver:
        """The same solver, with done what problems that differ in y alone can share."""
        return self

    def shared(
        self, objectives: Sequence[Objective], starts: Sequence[tuple[Array, float] | None]
    ) -> Solver:
        """The same solver for several problems that differ in y alone, and where each begins.

        One that can work on all of them at once does so when the first of them is solved.
        """
        return self

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """Judged points, each better than the last; the caller stops when it has enough.

        A `HandOver` between them asks for another solver, see there. It is carried out for solvers
        that were asked for by name, too: it is part of their algorithm.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Solution:
    """A fitted model, its certificate, and why the solver stopped."""

    point: Point
    slope: Array  # of the mean loss at the point, or near it
    certificate: Certificate
    solver: str  # the name; of several, which went on after one another, "first → second"
    converged: bool
    stopped_by: str = ""
    history: History = field(default_factory=History)

    def certified(self, certificate: Certificate, history: History | None = None) -> Solution:
        """The same model with another certificate, with which its history ends, or another one."""
        found = certificate.primal, certificate.dual, certificate.gap
        course = (self.history if history is None else history).ending(*found)
        return replace(self, certificate=certificate, history=course)

    @property
    def w(self) -> Array:
        """Coefficients."""
        return self.point.w

    @property
    def b(self) -> float:
        """The intercept."""
        return self.point.b


def observe(
    control: Control, objective: Objective, finding: Finding, iteration: int, history: History
) -> str:
    """Record the state, tell the callbacks, and say whether one of them wants to stop."""
    state = control.state(objective, finding, iteration)
    history.append(state)
    if not control.callbacks:
        return ""
    answers = [callback(state) for callback in control.callbacks]
    return CALLBACK if any(answer is STOP for answer in answers) else ""
