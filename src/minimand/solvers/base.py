"""What a solver is, and the one loop that runs any of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._base.parameters import Parameterized
from .._base.typing import Array
from .._base.watch import INTERRUPT, StoppedError, current, interrupt, undisturbed, watching
from .._base.watch import reason as reason_to_stop
from ..certificate import UNATTAINED, Certificate, Finding, Judgement, judge
from ..problem.objective import Objective, Point
from .history import History, State
from .independent_columns import points_of


class Stop:
    """The type of `minimand.STOP`."""

    def __repr__(self) -> str:
        return "minimand.STOP"


STOP = Stop()

_MOMENT = 0.25  # seconds for a closer look at a model whose fit was stopped; a safeguard
CALLBACK = "a callback"  # who stopped a fit, as the warning says it


class Verdict(NamedTuple):
    """Whether a solver takes a problem, why or why not, and about how many operations it costs."""

    ok: bool
    reason: str
    cost: float = np.inf


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
        return bool(self.why)

    @property
    def why(self) -> str:
        """Why the fit shall stop by now: its time is up, or somebody said so; empty if not."""
        return self.late() or reason_to_stop()

    def late(self) -> str:
        """The limit of time that has passed, in words; empty if none has."""
        remaining = self.remaining
        return f"max_seconds={self.max_seconds}" if remaining is not None and remaining <= 0 else ""


class Solver(Parameterized):
    """An algorithm: says which problems it accepts, and improves a point step by step.

    A value object like losses and penalties: options are constructor arguments, stored unchanged.
    """

    name: ClassVar[str] = ""
    null_may_do: ClassVar[bool] = True
    """Whether a null model within the tolerance is a solution. Where no l1 term makes exact zeros,
    it is never the optimum itself: strong penalties make coefficients small, not zero."""
    by_name_only: ClassVar[bool] = False  # "auto" never takes it, however many refuse
    side_by_side: ClassVar[bool] = False  # several problems are best solved on a thread each
    takes_nonconvex: ClassVar[bool] = False  # others are not asked about such problems
    takes_pooled: ClassVar[bool] = False  # nor about a loss that is no mean over samples
    default_max_iter: ClassVar[int | None] = None  # most iterations where max_iter is None
    patience: ClassVar[int] = 30  # iterations without any progress before it is given up
    exhausted: ClassVar[str] = "no further progress"  # why its last judgement was the last

    def check_parameters(self) -> None:
        """Raise ValueError, in one sentence, for an option outside its range."""

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """A verdict with a reason in words."""
        raise NotImplementedError

    def another_kind(self, objective: Objective) -> str:
        """Why a problem is none of its kind, whatever the details; empty if it is one."""
        if not objective.convex and not self.takes_nonconvex:
            part, name = "penalty", "reweighted"
            if not objective.loss.convex:
                part, name = "loss", "graduated"
            return f"the {part} is not convex; {name!r} minimises its tangents"
        if objective.loss.pooled and not self.takes_pooled:
            return f"{objective.loss!r} is one number for the whole set, not a mean over samples"
        return ""

    def verdict(self, objective: Objective, control: Control) -> Verdict:
        """The same, after problems of another kind have been refused."""
        words = self.another_kind(objective)
        if words:
            return Verdict(False, words)
        return self.accepts(objective, control)

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

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Judged points, each better than the last; the caller stops when it has enough."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Solution:
    """A fitted model, its certificate, and why the solver stopped."""

    point: Point
    slope: Array  # of the mean loss at the point, or near it
    certificate: Certificate
    solver: str
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


def run(
    solver: Solver, objective: Objective, control: Control, start: Point | None = None
) -> Solution:
    """Iterate until the gap is small enough, a limit is reached, or somebody says stop."""
    around, before = current(), reason_to_stop()
    if before and around is not None and around.hears:
        raise StoppedError(before)  # whoever hears it has a better point than this would find
    history = History(_label(solver), objective.words)
    control.ended_by = ""
    start = _feasible(objective, start)
    best, stopped_by = None, before
    if not before:
        best, stopped_by = _improved(solver, objective, control, start, history)
    try:
        return _conclude(solver, objective, control, best, start, stopped_by, history)
    except KeyboardInterrupt:
        if stopped_by == INTERRUPT:
            raise  # whoever asks twice will not wait for a certificate
        interrupt()
        return _conclude(solver, objective, control, best, start, INTERRUPT, history)


def _improved(
    solver: Solver, objective: Objective, control: Control, start: Point | None, history: History
) -> tuple[Judgement | None, str]:
    """The best judged point, and who stopped the solver; nobody if the gap is small enough."""
    best: Judgement | None = None
    with watching(control.late, hears=True) as watch:
        try:
            control.target = history.target = control.tol * _finite_scale(objective)
            begin = objective.null if start is None else start
            if control.late():
                return None, control.late()  # what is handed over will be judged anyway
            for judgement in points_of(solver, objective, begin, control):
                if best is None or judgement.beats(best):
                    best = judgement.summary
                asked = observe(control, objective, judgement, len(history), history)
                unmoved = judgement.point is objective.null and not solver.null_may_do
                # The null model will not do, unless it is the optimum itself up to rounding.
                if judgement.reaches(objective, control.target) and (
                    not unmoved or judgement.gap <= judgement.rounding(objective)
                ):
                    # Of several minima this is one; the search for a lower one was cut off.
                    why = control.why if judgement.kind == "stationary" else ""
                    return judgement.summary, why
                stopped_by = asked or _limit(solver, control, judgement, history)
                if stopped_by:
                    return best, stopped_by
                del judgement  # which is as long as the data, before the solver makes the next
        except KeyboardInterrupt:
            watch.interrupt()
            return best, INTERRUPT
        except StoppedError as stopped:
            return best, stopped.reason
    return best, ""


def _label(solver: Solver) -> str:
    """The solver's name; with its options where they are not the default ones."""
    return solver.name if repr(solver).endswith("()") else repr(solver)


def _feasible(objective: Objective, start: Point | None) -> Point | None:
    """The start, moved to the nearest point that keeps the constraints."""
    if start is None:
        return None
    w = objective.penalty.project(start.w)
    return start if np.array_equal(w, start.w) else objective.point(w, start.b)


def _finite_scale(objective: Objective) -> float:
    if math.isfinite(objective.scale):
        return objective.scale
    if np.isfinite(objective.mean(objective.loss.infimum(objective.y))):
        raise ValueError(
            f"{objective.loss!r} overflows on these data: rescale y, the offset or the weights."
        )
    raise ValueError(
        f"loss {objective.loss!r} is unbounded below on these data: the mean loss has no "
        "minimum to be compared with."
    )


def _limit(solver: Solver, control: Control, judgement: Judgement, history: History) -> str:
    """The limit that has been reached, in words; empty if none has."""
    most = solver.default_max_iter if control.max_iter is None else control.max_iter
    if most is not None and len(history) > most:
        return f"max_iter={most}"
    if control.expired:
        return control.why
    if judgement.infeasibility.endswith(UNATTAINED):
        return "a minimum that is not attained"
    return "no further progress" if _stalled(history, solver.patience) else ""


def _stalled(history: History, patience: int) -> bool:
    """Whether neither the gap nor the objective has moved for many iterations."""
    if len(history) <= patience:
        return False
    before, now = history[-patience - 1], history[-1]
    falling = before.primal - now.primal > 1e-13 * abs(before.primal)
    return not falling and not now.gap < 0.999 * before.gap


def observe(
    control: Control,
    objective: Objective,
    judgement: Finding,
    iteration: int,
    history: History,
) -> str:
    """Record the state, tell the callbacks, and say whether one of them wants to stop."""
    state = _state(control, objective, judgement, iteration)
    history.append(state)
    answers = [callback(state) for callback in control.callbacks]
    return CALLBACK if any(answer is STOP for answer in answers) else ""


def _ends_at(history: History, best: Judgement | None) -> bool:
    """Whether the last record is that of the best point."""
    if best is None or not len(history):
        return False
    return (history[-1].primal, history[-1].gap) == (best.primal, best.gap)


def _state(control: Control, objective: Objective, judgement: Finding, iteration: int) -> State:
    """What has been found and what it took."""
    return State(
        iteration,
        objective.meter.passes,
        control.seconds,
        judgement.primal,
        judgement.primal - judgement.gap,
        judgement.gap,
        control.target,
        judgement.point,
    )


def _conclude(
    solver: Solver,
    objective: Objective,
    control: Control,
    best: Judgement | None,
    start: Point | None,
    stopped_by: str,
    history: History,
) -> Solution:
    """The model that is handed over, as a solution with its certificate."""
    if stopped_by and not stopped_by.startswith("max_iter"):
        # Who stopped it may have done so while the memory was being changed.
        objective = objective.with_memory(None)
    final = _final(objective, control, best, start, bool(stopped_by))
    fresh, target = final.point, control.tol * objective.scale
    iterations = max(len(history) - 1, 0)
    certificate = final.certificate(objective, iterations, control.seconds)
    if not len(history) and stopped_by == control.late():
        observe(control, objective, final, 0, history)  # no point was, as there was no time
    elif fresh is objective.null or not _ends_at(history, best):
        history.append(_state(control, objective, final, len(history)))
    # A search among several minima that was cut off is not over, wherever it stands.
    cut_off = bool(stopped_by) and final.kind == "stationary"
    converged = final.reaches(objective, target) and not cut_off
    solution = Solution(
        point=fresh,
        slope=final.slope if best is None else best.slope,
        certificate=certificate,
        solver=solver.name,
        converged=converged,
        stopped_by=stopped_by or ("" if converged else control.ended_by or solver.exhausted),
        history=history,
    )
    return solution.certified(certificate)


def _final(
    objective: Objective,
    control: Control,
    best: Judgement | None,
    start: Point | None,
    stopped: bool,
) -> Judgement:
    """Judge the model that is handed over once more, from its coefficients alone.

    That much is carried through whoever has stopped the fit. A closer look, which may take as long
    as a factorisation, is then given up after a moment.
    """
    with undisturbed():
        began = time.perf_counter()
        first = objective.null if start is None else start
        duals = [best.dual] if best is not None else []
        point = first if best is None else best.point
        stays = stopped and _unmoved(objective, point, first)
        fresh = first if stays else objective.point(point.w, point.b)
        # The slopes of a dual point do not depend on the model: they are known.
        final = judge(objective, fresh, known=duals, raw=False)
        if fresh is not objective.null and not final.primal <= objective.null_primal:
            # Nothing worse than the null model, or NaN, is ever handed over.
            final = judge(objective, objective.null, known=duals, raw=False)
        end = began + _MOMENT if stopped else np.inf
        if final.gap <= control.tol * objective.scale or time.perf_counter() > end:
            return final
        with watching(lambda: "a moment" if time.perf_counter() > end else "", hears=True):
            try:
                return judge(objective, final.point, known=duals, thorough=True)
            except StoppedError:
                return final


def _unmoved(objective: Objective, point: Point, first: Point) -> bool:
    """Whether a point is the first one, or has its w alone and an intercept that is no better."""
    if not np.array_equal(point.w, first.w):
        return False
    return point.b == first.b or (first is objective.null and objective.convex)
