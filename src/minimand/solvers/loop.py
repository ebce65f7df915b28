"""The loop that runs every solver: limits, callbacks, hand-overs, and the final judgement."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from operator import attrgetter

import numpy as np

from .._base.threads import one_blas_thread
from .._base.watch import INTERRUPT, StoppedError, current, interrupt, undisturbed, watching
from .._base.watch import reason as reason_to_stop
from ..certificate import UNATTAINED, Course, Finding, judge
from ..problem.objective import Objective, Point
from .base import UNATTAINED_MINIMUM, Control, Solution, Solver, answered, observe
from .choose import cheapest_others, choose_solver
from .history import History
from .shape import too_large
from .succession import Succession
from .view import View

_MOMENT = 0.25  # seconds for a closer judgement after a stop; safeguard
_SMALL = 2e8  # multiply-adds of a Gram, up to which BLAS has one thread; measured on digits
_STALLED = "no further progress"
_TURNS = 5  # runs of solvers that are all named; convention


def solve(
    objective: Objective,
    solver: str | Solver = "auto",
    control: Control | None = None,
    start: Point | None = None,
    *,
    replaceable: bool | None = None,
) -> Solution:
    """Minimise an objective to a certified gap, by a solver given by name or as an object.

    Others may continue where the solver gives up if it is ``replaceable``: by default, if it is
    "auto", or stands for it.
    """
    control = control or Control()
    # After every call, threads of BLAS wait for the next by spinning, and take a core from our own
    # kernels: on small problems they gain less than that.
    small = objective.design.nnz * min(objective.design.shape) <= _SMALL
    alone = one_blas_thread() if small else nullcontext()
    # Overflow shows in the gap.
    with alone, np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            chosen = choose_solver(objective, control, solver)
            if replaceable is None:
                replaceable = chosen.chosen or (isinstance(solver, str) and solver == "auto")
            found = run(chosen, objective, control, start, replaceable=replaceable)
            if not found.converged and _gave_up(chosen, objective, found) and too_large(objective):
                raise OverflowError
            return found
        except (OverflowError, np.linalg.LinAlgError) as error:
            raise ValueError("numbers overflow on these data: rescale X and y.") from error


def run(
    solver: Solver,
    objective: Objective,
    control: Control,
    start: Point | None = None,
    *,
    replaceable: bool = False,
) -> Solution:
    """Iterate until the gap is small enough, a limit is reached, or the fit is stopped.

    The solver's own hand-overs are carried out. A solver that was not asked for by name is
    ``replaceable``: if it has nothing further to try, and a bound of the optimum is possible, all
    others that accept the problem continue, the cheapest first.
    """
    around = current()
    before = "" if around is None else around.why()
    if before and around is not None and around.hears:
        raise StoppedError(before)  # the surrounding fit has a better point
    control.ended_by = ""
    fit = _Fit(solver, objective, control, start and _feasible(objective, start))
    solution = fit.concluded(before or fit.improve(solver, fit.start))
    if not _gave_up(solver, objective, solution):
        return solution
    for view in View.in_units(objective, solver, control, replaceable):
        if control.expired or not _gave_up(solver, objective, solution):
            break
        fit.look_through(view, solution.stopped_by)
        solution = fit.concluded(fit.improve(view.solver, solution.point))
    if not replaceable:
        return solution
    for heir in cheapest_others(objective, control, fit.solvers):
        if control.expired or not _gave_up(solver, objective, solution):
            break
        fit.hand_over(heir, solution.stopped_by)
        solution = fit.concluded(fit.improve(heir, solution.point))
    return solution


def _gave_up(solver: Solver, objective: Objective, solution: Solution) -> bool:
    """Whether a solver had nothing further to try, although its optimum could be proved.

    If no bound was found there may be none, as for separable classes; but a loss that attains its
    minimum has a bound, and then the solver stopped before it was near enough.
    """
    if solution.converged or solution.stopped_by not in (_STALLED, solver.exhausted):
        return False
    certificate = solution.certificate
    bounded = not certificate.infeasibility or objective.loss.attained(objective.y)
    return certificate.kind == "global" and bounded


class _Fit:
    """One problem from its start to a solution: the points found, by which solvers, and when."""

    def __init__(
        self, solver: Solver, objective: Objective, control: Control, start: Point | None
    ) -> None:
        self.objective, self.control, self.start = objective, control, start
        self._asked = solver
        self._history = History("", objective.words)
        self._recorded = 0  # its length
        self._view = View(objective, solver)
        self._earlier: Finding | None = None  # the best point of an earlier view
        self._course: Succession | None = None
        self._enough: Finding | None = None  # the point that reached the target
        self._at_work: Solver | None = None  # the solver that found the last point
        self._since = 0  # the record at which its work began

    @property
    def solvers(self) -> list[Solver]:
        """The solvers that ran, in their order; the first one if no point was found."""
        return (self._course.ran if self._course is not None else []) or [self._asked]

    @property
    def best(self) -> Finding | None:
        """The point that reached the target, or else the best one."""
        if self._enough is not None or self._course is None or self._course.best is None:
            return self._enough or self._earlier
        best = self._view.outside(self._course.best)
        return self._earlier if self._earlier and self._earlier.beats(best) else best

    def improve(self, solver: Solver, start: Point | None) -> str:
        """Take points of a solver; what stopped it, empty if it ended or reached the target.

        The first solver decides whether the null model is a solution: a solver that does not accept
        the null model must not get it from another one that continues.
        """
        objective, control, history = self.objective, self.control, self._history
        with watching(control.late, hears=True) as watch:
            try:
                if not math.isfinite(objective.scale):
                    from .refusal import without_scale  # loaded only when needed

                    raise ValueError(without_scale(objective))
                control.target = history.target = control.tol * objective.scale
                begin = objective.null if start is None else start
                if late := control.late():
                    return late  # the returned point is judged in any case
                for judgement in self._points(solver, begin):
                    if judgement.course is not None and (said := self._retold(judgement.course)):
                        return said
                    self._recorded += 1  # before callbacks, which Ctrl-C may end
                    said = observe(control, objective, judgement, self._recorded - 1, history)
                    if self._will_do(judgement):
                        self._enough = judgement.summary
                        # This is one of several minima; the search for a lower one was cut off.
                        return control.why if judgement.kind == "stationary" else ""
                    if stopped_by := said or self._limit(judgement, self._recorded):
                        return stopped_by
                    del judgement  # frees n numbers before the solver makes the next
            except KeyboardInterrupt:
                watch.interrupt()
                return INTERRUPT
            except StoppedError as stopped:
                return stopped.reason
        return ""

    def _retold(self, course: Course) -> str:
        """Record the points that a compiled call has visited; why one of them is the last.

        No model is better than the infimum of the loss, which is the bound that is known there. A
        model at which a callback stops the fit is judged.
        """
        objective, control, history = self.objective, self.control, self._history
        bound, meter = objective.infimum, objective.meter
        if not control.callbacks:
            history.extend(course.primal, course.passes, control.seconds, bound)
            self._recorded += len(course.primal)
            return ""
        null = objective.null
        for primal, passes, model in zip(course.primal, course.passes, course.models):
            w, b = np.split(model, [null.w.size])
            history.extend([primal], [passes], control.seconds, bound)
            self._recorded += 1
            counted = meter.passes
            point = objective.point(w.reshape(null.w.shape), b if null.w.ndim > 1 else float(b[0]))
            meter.passes = counted  # looking at a model is no part of the fit
            try:
                stopped_by = answered(control, replace(history[-1], point=point))
            except KeyboardInterrupt:
                self._end_at(point)
                raise
            if stopped_by:
                self._end_at(point)
                return stopped_by
        return ""

    def _end_at(self, point: Point) -> None:
        """Judge the point that a callback was told last, which is the model now."""
        self._earlier = judged = judge(self.objective, point)
        self._history.end(judged.primal, judged.primal - judged.gap, judged.gap)

    def _points(self, solver: Solver, start: Point) -> Iterator[Finding]:
        """Judged points of the problem as solvers get it, as points of the whole problem."""
        if self._course is None:
            if start is self.objective.null:
                for found in solver.at_once(self.objective, self.control):
                    self._earlier = found.summary
                    yield found
            # A textbook solver gets the columns as they are.
            if self.objective.has_free_columns and not solver.by_name_only:
                self._view = View.on_independent_columns(self.objective, solver)
            self._course = Succession(solver, self._view.problem, self.control)
        view = self._view
        if view.problem is self.objective:
            yield from self._course.points(solver, start)
            return
        for judgement in self._course.points(solver, view.inside(start)):
            yield view.outside(judgement)

    def look_through(self, view: View, reason: str) -> None:
        """Let solvers continue on another view of the problem; the best point so far is kept."""
        course, self._earlier = self._course, self.best
        self._view, self._at_work = view, None
        self._course = Succession(view.solver, view.problem, self.control)
        if course is not None:
            self._course.ran, self._course.reasons = course.ran, course.reasons
        if view.solver is not self.solvers[-1]:
            self.hand_over(view.solver, reason)

    def _will_do(self, judgement: Finding) -> bool:
        """Whether the gap is small enough; a null model must be optimal up to rounding."""
        objective = self.objective
        if not judgement.reaches(objective, self.control.target):
            return False
        if self._asked.null_may_do or judgement.point is not objective.null:
            return True
        return judgement.gap <= judgement.rounding(objective)

    def _limit(self, judgement: Finding, recorded: int) -> str:
        """The limit that has been reached by now, in words; empty if none has."""
        control, history = self.control, self._history
        solver = self._asked if self._course is None else self._course.solver
        most = solver.default_max_iter if control.max_iter is None else control.max_iter
        if most is not None and recorded > most:
            return f"max_iter={most}"
        if why := reason_to_stop():  # of this fit's own scope, which knows its limit of time
            return why
        if judgement.infeasibility.endswith(UNATTAINED):
            return UNATTAINED_MINIMUM
        if solver is not self._at_work:  # a new solver does not count the standstill before it
            self._at_work, self._since = solver, recorded - 1
        waited = recorded - self._since > solver.patience
        return _STALLED if waited and _stalled(history, solver.patience) else ""

    def hand_over(self, heir: Solver, reason: str) -> None:
        """Record that another solver continues after one that gave up."""
        if self._course is not None:
            self._course.reasons.append(f"{self.solvers[-1].name} → {heir.name}: {reason}")

    def concluded(self, stopped_by: str) -> Solution:
        """The solution, even if Ctrl-C is pressed while it is judged."""
        try:
            return self._solution(stopped_by)
        except KeyboardInterrupt:
            if stopped_by == INTERRUPT:
                raise  # a second Ctrl-C ends the fit without a certificate
            interrupt()
            return self._solution(INTERRUPT)

    def _solution(self, stopped_by: str) -> Solution:
        """The returned model with its certificate and history."""
        objective, control, best = self.objective, self.control, self.best
        if stopped_by and not stopped_by.startswith("max_iter"):
            # The stop may have come while the facts of the path were being changed.
            objective = objective.with_path_facts(None)
        final = _final(objective, control, best, self.start, bool(stopped_by))
        history, told, solvers = self._history[:], self._recorded, self.solvers
        certificate = final.certificate(objective, max(told - 1, 0), control.seconds)
        if not told and stopped_by == control.late():
            observe(control, objective, final, 0, history)  # time ran out before any other record
        elif final.point is objective.null or not (told and history.ends_at(best)):
            history.append(control.state(objective, final, told))
        history.solver, names = _in_turn(map(_label, solvers), map(attrgetter("name"), solvers))
        reasons = [] if self._course is None else self._course.reasons
        history.hand_overs = _told_once(reasons) if reasons else ()
        history.end(certificate.primal, certificate.dual, certificate.gap)
        # A search among several minima that was cut off has not converged, whatever its gap.
        cut_off = bool(stopped_by) and final.kind == "stationary"
        converged = not cut_off and final.reaches(objective, control.tol * objective.scale)
        return Solution(
            point=final.point,
            slope=final.slope if best is None else best.slope,
            certificate=certificate,
            solver=names,
            converged=converged,
            stopped_by=stopped_by
            or ("" if converged else control.ended_by or solvers[-1].exhausted),
            history=history,
        )


def _in_turn(*lists: Iterable[str]) -> list[str]:
    """Lists of solvers that ran in turn, as texts; of many turns, each solver once."""
    found = [*map(list, lists)]
    for i, names in enumerate(found):
        if len(names) > _TURNS:
            found[i] = [*dict.fromkeys(names), f"… ({len(names)} runs)"]
    return [*map(" → ".join, found)]


def _told_once(reasons: list[str]) -> tuple[str, ...]:
    """Every reason once, with the number of times that it was given."""
    return tuple(f"{r} ({n} times)" if n > 1 else r for r, n in Counter(reasons).items())


def _label(solver: Solver) -> str:
    """The solver's name, with its options if they are not the default."""
    return solver.name if not vars(solver) or repr(solver).endswith("()") else repr(solver)


def _feasible(objective: Objective, start: Point) -> Point:
    """The start, moved to the nearest feasible point."""
    w = objective.penalty.project(start.w)
    return start if np.array_equal(w, start.w) else objective.point(w, start.b)


def _stalled(history: History, patience: int) -> bool:
    """Whether neither the gap nor the objective has moved in the last ``patience`` iterations."""
    before, now = history[-patience - 1], history[-1]
    # Share of P: rounding; safeguard.
    falling = before.primal - now.primal > 1e-13 * abs(before.primal)
    # Factor of the gap: least progress; safeguard.
    return not falling and not now.gap < 0.999 * before.gap


def _final(
    objective: Objective,
    control: Control,
    best: Finding | None,
    start: Point | None,
    stopped: bool,
) -> Finding:
    """Judge the returned model once more, from its coefficients alone.

    A finding that was computed so already is not judged again. This is completed even after a
    stop. A closer judgement, which may take as long as a factorisation, is then given up after
    ``_MOMENT`` seconds.
    """
    if best is not None and best.fresh and best.gap <= control.tol * objective.scale:
        return best
    with undisturbed():
        began = time.perf_counter()
        first = objective.null if start is None else start
        duals = [best.dual] if best is not None else []
        point = first if best is None else best.point
        stays = stopped and _unmoved(objective, point, first)
        fresh = first if stays else objective.point(point.w, point.b)
        # The slopes of a dual point do not depend on the model, so no pass is needed for them.
        final = judge(objective, fresh, known=duals, raw=False)
        if fresh is not objective.null and not final.primal <= objective.null_primal:
            # A model worse than the null model, or NaN, is never returned.
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
    """Whether a point is the first one, or has its w and an intercept that is no better."""
    if not np.array_equal(point.w, first.w):
        return False
    return bool(np.array_equal(point.b, first.b)) or (first is objective.null and objective.convex)
