"""The base class of solvers, with verdicts, limits, hand-overs and solutions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._base.parameters import Parameterized
from .._base.typing import Array
from .._base.watch import reason as reason_to_stop
from ..certificate import Certificate, Finding
from ..problem.objective import Objective, Point
from .history import History, State
from .traits import Trait, missing, traits_of


class Stop:
    """The type of `minimand.STOP`."""

    def __repr__(self) -> str:
        return "minimand.STOP"


STOP = Stop()

CALLBACK = "a callback"  # the reason of a stop, as printed in the warning
UNATTAINED_MINIMUM = "a minimum that is not attained"  # likewise


class Verdict(NamedTuple):
    """Whether a solver accepts a problem, the reason, and its cost in units of `costs`.

    The part ``once`` of the cost is paid once by several problems that differ in y only.
    """

    ok: bool
    reason: str
    cost: float = np.inf
    once: float = 0.0

    def cost_of_each(self, count: int) -> float:
        """The cost of one of so many problems that differ in y only."""
        return self.cost - self.once * (1.0 - 1.0 / count)


@dataclass(eq=False)
class HandOver:
    """Yielded by `Solver.iterate` to let another solver continue.

    The first of ``to`` that accepts the problem at a cost below ``remaining``, the estimated cost
    of going on (in the unit of `costs`), continues from the best point so far. If that solver ends
    without reaching the target, the one that handed over is resumed; ``taken`` tells it whether
    any solver accepted. ``reason`` completes "handed over because …".
    """

    reason: str
    to: tuple[str, ...]
    remaining: float = np.inf
    taken: bool = False


Callback = Callable[[State], Any]
Start = tuple[Array, Any] | Point | None  # a model to begin with: w, b; None: the null model


@dataclass
class Control:
    """The gap to reach, and the limits of a fit."""

    tol: float = 1e-6  # share of the scale; convention
    max_iter: int | None = None
    max_seconds: float | None = None
    callbacks: Sequence[Callback] = ()
    memory: float = np.inf  # bytes a solver may use in addition to the data
    random_state: Any = None
    started: float = field(default_factory=time.perf_counter)
    target: float = 0.0  # tol·scale, set once the objective is known
    ended_by: str = ""  # the reason why a solver ended, if it gives one
    until: float | None = None  # seconds since the start; the limit of a part of a fit

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def state(self, objective: Objective, finding: Finding, iteration: int) -> State:
        """The current result and its costs, for callbacks."""
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
        """Seconds that are left; None without a limit."""
        end = self.max_seconds if self.until is None else self.until
        return None if end is None else end - self.seconds

    def share(self, parts: float) -> Control:
        """The same limits, with one of so many equal parts of the remaining time."""
        if self.remaining is None:
            return replace(self)
        return replace(self, until=self.seconds + max(self.remaining, 0.0) / parts)

    @property
    def expired(self) -> bool:
        """Whether to stop; solvers check it inside long iterations."""
        return bool(self.late() or reason_to_stop())

    @property
    def why(self) -> str:
        """Why the fit must stop now (time limit, callback, Ctrl-C); empty if it need not."""
        return self.late() or reason_to_stop()

    def late(self) -> str:
        """The time limit that has passed, in words; empty if none has."""
        end = self.max_seconds if self.until is None else self.until
        if end is None or time.perf_counter() - self.started < end:
            return ""
        return f"max_seconds={self.max_seconds}"


class Solver(Parameterized):
    """An algorithm: it says which problems it accepts, and improves a point step by step.

    A value object like losses and penalties: options are constructor arguments, stored unchanged.
    """

    name: ClassVar[str] = ""
    null_may_do: ClassVar[bool] = True
    """Whether a null model within the tolerance is a solution. Without an l1 term, w = 0 is never
    the optimum itself: strong penalties make coefficients small, not zero."""
    by_name_only: ClassVar[bool] = False  # "auto" never selects it
    parallel: ClassVar[bool] = False  # several problems are best solved on one thread each
    kind: ClassVar[tuple[Trait, ...]] = (
        Trait.CONVEX_LOSS,
        Trait.CONVEX_PENALTY,
        Trait.MEAN_OVER_SAMPLES,
    )
    """A problem without these traits is of another kind; `refusal` quotes solvers of its kind."""
    shapes: ClassVar[tuple[Trait, ...]] = (Trait.ONE_SCORE, Trait.COLUMNS)  # also needed
    needs: ClassVar[tuple[Trait, ...]] = ()  # further traits of the problems it accepts
    least_cost: ClassVar[float] = 0.0
    """A lower bound of its cost per stored number: "auto" does not ask it if another is cheaper."""
    least_calls: ClassVar[float] = 0.0
    """What it costs beside that, at least, whatever the data."""
    least_on_smooth: ClassVar[float] = 0.0
    """What it costs beside that, at least, where the loss is smooth."""
    default_max_iter: ClassVar[int | None] = None  # iterations if max_iter is None; None: no limit
    heirs: ClassVar[tuple[str, ...]] = ()  # solvers it may hand over to: the first that accepts
    patience: ClassVar[int] = 30  # iterations without progress before it is stopped; safeguard
    idle: ClassVar[int] = 4
    """Iterations without progress, after which another solver that uses it goes on; safeguard."""
    exhausted: ClassVar[str] = "no further progress"  # why it stopped, if it has no further point
    chosen = False  # whether "auto" stands for it, so that others continue where it gives up

    def check_parameters(self) -> None:
        """Raise ValueError, in one sentence, for an option outside its range."""

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """The verdict, with its reason, on a problem that has all the traits it needs."""
        raise NotImplementedError(f"{type(self).__name__} must define accepts(objective, control)")

    def verdict(self, objective: Objective, control: Control) -> Verdict:
        """What `accepts` says, or a refusal if the problem lacks a needed trait."""
        lacking = missing((*self.shapes, *self.kind, *self.needs), traits_of(objective))
        if lacking:
            return Verdict(False, self.without(lacking[0], objective))
        found = self.accepts(objective, control)
        if not isinstance(found, Verdict):
            raise TypeError(
                f"accepts of solver {self.name!r} must return a minimand.solvers.Verdict, not "
                f"{found!r:.60}."
            )
        return found

    def without(self, trait: Trait, objective: Objective) -> str:
        """The reason for refusing a problem that lacks a trait."""
        unit = "every run of rows" if objective.loss.unit == "run" else "the whole set"
        loss = objective.loss.of_one_score
        return trait.value.format(loss=loss, solver=self.name, unit=unit)

    def shared(self, objectives: Sequence[Objective], starts: Sequence[Start]) -> Solver:
        """The same solver for several problems that differ in y only, and the start of each.

        A solver that can train all of them at once does so when the first one is solved; one that
        can share some work among them keeps it. Others return themselves.
        """
        return self

    def at_once(self, objective: Objective, control: Control) -> Iterator[Finding]:
        """Points that a solver finds without any analysis of the columns, from the null model.

        None by default. If none of them reaches the target, `iterate` follows.
        """
        return iter(())

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Finding | HandOver]:
        """Judged points, each better than the last; the caller decides when to stop.

        A `HandOver` among them asks for another solver. It is carried out even if this one was
        asked for by name, because it is part of the algorithm.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define iterate(objective, start, control)"
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """A fitted model, its certificate, and why the solver stopped."""

    point: Point
    slope: Array  # slope of the mean loss at the point, or near it
    certificate: Certificate
    solver: str  # the name; if several ran one after the other, "first → second"
    converged: bool
    stopped_by: str = ""
    history: History = field(default_factory=History)
    mean_loss: float | None = None  # at the point, if it is known

    def certified(self, certificate: Certificate, history: History | None = None) -> Solution:
        """The same model with another certificate; its history ends with that, or is replaced."""
        found = certificate.primal, certificate.dual, certificate.gap
        course = (self.history if history is None else history).ending(*found)
        return replace(self, certificate=certificate, history=course)

    @property
    def w(self) -> Array:
        """Coefficients."""
        return self.point.w

    @property
    def b(self) -> Any:
        """The intercept, or one per score."""
        return self.point.b


def observe(
    control: Control, objective: Objective, finding: Finding, iteration: int, history: History
) -> str:
    """Record the state and call the callbacks; returns the reason if one of them stops the fit."""
    state = control.state(objective, finding, iteration)
    history.append(state)
    return answered(control, state) if control.callbacks else ""


def answered(control: Control, state: State) -> str:
    """Call the callbacks; returns the reason if one of them stops the fit."""
    answers = [callback(state) for callback in control.callbacks]
    return CALLBACK if any(answer is STOP for answer in answers) else ""
