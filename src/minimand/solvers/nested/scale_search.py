"""The scale of the Huber loss: a search for the σ at which F of `joint_scale` is least."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ..._base.watch import INTERRUPT, StoppedError, carried_through, watching
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import solve
from ..base import CALLBACK, STOP, Control, Solution
from ..history import State
from .joint_newton import JointNewton
from .joint_scale import LEAST_SCALE, Joint, Scaled

_INNER = 1e-13  # relative gap of a problem with σ fixed: σ is found from its residuals; safeguard
_SHARP = 0.1  # share of the target that the first steps aim at; safeguard
_NEWTON = 40  # iterations of Newton's method before interior points are tried; safeguard
_STEEPEST = 1e-3  # factor by which σ falls at most from one problem to the next; safeguard
_MOST = 100  # scales that are tried; safeguard


class Null(NamedTuple):
    """The model with w = 0: a σ near its best one, and F there, the unit of tolerances."""

    point: Point
    sigma: float
    value: float


def null_of(scaled: Scaled, control: Control | None = None) -> Null:
    """Min F over b and σ with w = 0, up to 1e-8 of it; zeros if that fits all samples.

    After a stop (time limit, callback) it is the least F after one or a few σ.
    """
    objective = scaled.objective
    r = objective.null.z - objective.y
    spread = float(np.abs(r).max(initial=0.0))
    if (objective.constant_target and objective.intercept) or spread == 0:
        return Null(objective.null, 0.0, 0.0)
    first = JointNewton(scaled, fixed=True).best_from(
        objective.null, scaled.best(objective.null) or spread, control
    )
    if first.settled:
        return Null(first.point, first.sigma, first.value)
    sigma, least = first.sigma, first.value
    search = _Search(most=least)
    for _ in range(_MOST):
        here = scaled.at(sigma)
        null = here.objective.null
        best = here.best(null)
        least = min(least, here.value(null), here.at(best).value(null) if best else np.inf)
        sigma, last = search.next(sigma, here.excess(null), best), sigma
        # Relative changes of σ; safeguard.
        if abs(sigma - last) <= 1e-10 * sigma or sigma <= 1e-9 * least:
            break
        if control is not None and control.expired:
            break
    return Null(first.point, sigma, least)


@dataclass
class _Search:
    """The σ with excess 1: log excess falls with log σ; secants within a bracket find it.

    F is at least σ, so the best σ is at most any value of F, such as ``most``. Where log excess is
    nearly flat, secants mean little: so steps double until there is a bracket, and one that two
    steps have not halved is halved.
    """

    most: float
    low: float = -np.inf
    high: float = np.inf
    last: tuple[float, float] | None = None
    step: float = 0.0  # the last change of log σ
    widths: tuple[float, float] = (np.inf, np.inf)  # of the bracket, before the last two steps

    def next(self, sigma: float, excess: float, best: float) -> float:
        """The next σ, given the last one, its excess and the best σ for its residuals."""
        s = float(np.log(sigma))
        if excess > 1:
            self.low = max(self.low, s)
        else:
            self.high = min(self.high, s)
        width = self.high - self.low
        slow = np.isfinite(width) and width > 0.5 * self.widths[0]
        self.widths = (self.widths[1], width)
        # Without an excess, most residuals are zero, and σ may be almost 0.
        new = np.nan if excess <= 0 or best <= 0 or slow else self._towards(s, excess, best)
        if not self.low <= new <= self.high:
            new = self._middle()
        new = min(new, float(np.log(self.most)))
        self.step = new - s
        return float(np.exp(new))

    def _towards(self, s: float, excess: float, best: float) -> float:
        """A new log σ, by the secant through the last two or by the best σ for the residuals."""
        f, last = float(np.log(excess)), self.last
        self.last = (s, f)
        new = max(float(np.log(best)), s + np.log(_STEEPEST))
        if last is not None and f != last[1]:
            secant = s - f * (s - last[0]) / (f - last[1])
            if self.low <= secant <= self.high:
                new = min(secant, float(np.log(self.most)))
        if not np.isfinite(self.high - self.low) and self.step * (new - s) > 0:
            further = max(abs(new - s), 2.0 * abs(self.step))
            new = s + float(np.copysign(min(further, -np.log(_STEEPEST)), new - s))
        return new

    def _middle(self) -> float:
        """The middle of the bracket; without one, a step beyond its only end."""
        if np.isfinite(self.high - self.low):
            return 0.5 * (self.low + self.high)
        # Factor of σ without a bracket; safeguard.
        return float(self.high - np.log(10) if np.isfinite(self.high) else self.low + np.log(10))


def minimise_jointly(
    scaled: Scaled, control: Control, start: Point | None = None, evidence: Iterable[Array] = ()
) -> tuple[float, Solution]:
    """The best σ and its model; one iteration is one σ.

    Every σ costs one problem with σ fixed, started from the last; it tells whether σ is too large
    or too small. The result is the best of the points seen, each with the best σ for its residuals.
    If that σ is 0, as when most samples are fitted exactly, σ stays positive but small enough for
    the tolerance. ``evidence`` are multipliers θ from another source.
    """
    evidence = list(evidence)
    null, course = carried_through(lambda: _begun(scaled, control, start, evidence))
    stopped_by = ""
    with watching(control.late, hears=True) as watch:
        try:
            stopped_by = course.report(control)
            while not stopped_by and not course.best.reaches(control.target, null.value):
                if control.max_iter is not None and course.count >= control.max_iter:
                    stopped_by = f"max_iter={control.max_iter}"
                elif control.expired:
                    stopped_by = control.why
                elif course.step(control):
                    stopped_by = course.report(control)
                else:
                    break
        except KeyboardInterrupt:
            watch.interrupt()
            stopped_by = INTERRUPT
        except StoppedError as stopped:
            stopped_by = stopped.reason
    found = carried_through(lambda: course.solution(control, null.value, stopped_by))
    return course.best.sigma, found


def _begun(
    scaled: Scaled, control: Control, start: Point | None, evidence: list[Array]
) -> tuple[Null, _Course]:
    """The null model, and a search at the start."""
    null = null_of(scaled, control)
    control.target = control.tol * null.value
    floor = LEAST_SCALE * (null.value or 1.0)
    point = null.point if start is None else start
    sigma = max((start and scaled.best(start)) or null.sigma, floor)
    steps = control.max_iter is None or control.max_iter > 0
    if steps and start is not None:  # which may be the optimum already
        here = scaled.at(sigma)
        judged = here.judged(recentred(here.objective, point), evidence, control.target)
        steps = not judged.reaches(control.target, null.value)
    newton, aimed = JointNewton(scaled), list[Array]()
    for near in (_SHARP * control.target, 0.0):
        if steps:
            found = newton.best_from(point, sigma, control, near)
            sigma = max(found.sigma, floor)
            # Steps add up their changes of the scores, with rounding: the judge sees those of w.
            point = scaled.objective.point(found.point.w, found.point.b)
            aimed = [] if found.theta is None else [found.theta]
        here = scaled.at(sigma)
        point = recentred(here.objective, point)
        theta = (point.z - scaled.objective.y) / sigma
        theta = 2.0 * np.clip(theta, -scaled.epsilon, scaled.epsilon)
        # Those that a step aimed at balance the penalty, and mostly are enough by themselves.
        judged = here.judged(point, [*aimed, theta, *evidence], control.target)
        if not (steps and found.near) or judged.reaches(control.target, null.value):
            break
    search = _Search(most=max(null.value, floor))
    return null, _Course(scaled, floor, point, sigma, judged, search, count=int(steps))


@dataclass
class _Course:
    """The state of a search: the last model, the next σ, and the best result so far."""

    scaled: Scaled
    floor: float
    point: Point
    sigma: float
    best: Joint
    search: _Search
    count: int = 0
    solver: str = "newton"

    def step(self, control: Control) -> bool:
        """Solve for one σ, judge it and choose the next; False if there was no σ left to try."""
        if self.sigma == 0 or self.count >= _MOST:
            return False
        here = self.scaled.at(self.sigma)
        solution = _with_fixed_scale(here.objective, self.point, control)
        self.point, self.solver, self.count = solution.point, solution.solver, self.count + 1
        own = here.best(self.point)
        near = self.scaled.at(max(own, _STEEPEST * self.sigma, self.floor))
        assert solution.certificate.dual_point is not None
        theta = 2.0 / self.sigma * solution.certificate.dual_point
        found = near.judged(self.point, [theta, self.best.theta], control.target)
        self.best = min(found, self.best, key=lambda joint: joint.gap)
        moved = max(self.search.next(self.sigma, here.excess(self.point), own), self.floor)
        self.sigma = 0.0 if moved == self.sigma else moved
        return True

    def report(self, control: Control) -> str:
        """Call the callbacks; the reason if one of them stops the fit."""
        best = self.best
        state = State(
            self.count,
            self.scaled.objective.meter.passes,
            control.seconds,
            best.primal,
            best.primal - best.gap,
            best.gap,
            control.target,
            best.judgement.point,
        )
        answers = [callback(state) for callback in control.callbacks]
        return CALLBACK if any(answer is STOP for answer in answers) else ""

    def solution(self, control: Control, scale: float, stopped_by: str) -> Solution:
        """The best model with its certificate."""
        found = self.best
        whole = self.scaled.at(found.sigma)
        certificate = whole.certificate(found, scale, self.count, control.seconds)
        converged = found.reaches(control.target, scale)
        return Solution(
            point=found.judgement.point,
            slope=found.judgement.slope,
            certificate=certificate,
            solver=self.solver,
            converged=converged,
            stopped_by=stopped_by or ("" if converged else "no further progress"),
        )


def _with_fixed_scale(objective: Objective, start: Point, control: Control) -> Solution:
    """The best model for one σ, by Newton's method from the last model, or by interior points.

    A small σ makes the loss almost kinked, and then Newton's method may make no progress.
    """
    near = Control(tol=_INNER, max_iter=_NEWTON, max_seconds=control.remaining)
    solution = solve(objective, "auto", near, start)
    if solution.converged or control.expired:
        return solution
    far = Control(tol=_INNER, max_seconds=control.remaining)
    try:
        other = solve(objective, "primal_dual", far, solution.point)
    except ValueError:  # the solver refuses the problem
        return solution
    return min(solution, other, key=lambda each: each.certificate.gap)
