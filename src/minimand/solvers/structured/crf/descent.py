"""The descent of a likelihood with its penalty: ever better points, and the certified last one.

Quasi-Newton steps (L-BFGS) in a metric made of the curvature of single labels come first; near the
optimum Newton steps follow, whose equations are solved by conjugate gradients in the same metric.
With an l1 part both keep every step in the orthant of its signs, so that weights become zero, until
conjugate gradients promise to need more passes than the curvature of all weights that move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...._base.typing import Array
from ...._base.watch import undisturbed
from ..course import Course, Trained
from .metric import Metric
from .penalised import ChainPoint, Model, ScoredPoint
from .steps import LimitedMemory, newton_direction, search
from .support import MOST, SupportSteps, support

LARGEST = 1e9  # bytes of what is kept beside the data if there is no limit; safeguard
_PAIRS = 40  # steps that L-BFGS remembers; measured on OCR words
_PAIRS_IF_SPARSE = 20  # the same where vectors are long; measured on CoNLL-2000: 40 save no step
_NEAR = 1e-5  # share of the scale, below which Newton steps are taken; measured on OCR words
_SLOW = (
    1e-3  # share of P that a step must gain, or with an l1 part a Newton step follows; safeguard
)
_FORCING = 0.1  # share of the gap that a Newton step may leave; safeguard
_IDLE = 100  # points without progress, after which only rounding is left; safeguard
_STILL = 0.99  # share of the gap, above which it has not fallen; safeguard
_LOWEST = 0.0  # of the mean loss: log Σ_c exp z(c) is never below z(y); derived
_WITHOUT_PENALTY = "without a penalty 0 is the only bound: set alpha above 0"


def descend(model: Model, course: Course, w: Array, prepare: Callable[[Array], Array]) -> Trained:
    """The best weights, as a vector, with the gap that was proved for them.

    ``prepare`` may improve the start within the limits of the course. The best bound of all points
    counts, and the gap of the returned weights is computed anew, from the data.
    """
    best: ChainPoint | None = None
    bound, least, idle = _LOWEST, (np.inf, np.inf), 0
    with np.errstate(over="ignore", invalid="ignore"), course.watched():
        w = prepare(w)
        for point in points(model, w, course):
            best = point
            bound = max(bound, point.primal - point.gap)
            gap = max(min(point.gap, point.primal - bound), 0.0)
            moved = point.primal < least[0] - point.rounding or gap < _STILL * least[1]
            least = (min(least[0], point.primal), min(least[1], gap)) if moved else least
            idle = 0 if moved else idle + 1
            if course.record(point.primal, gap) or idle > _IDLE:
                break
    with undisturbed():
        final = model.point(w if best is None else best.w)
        gap = max(min(final.gap, final.primal - bound), 0.0)
        unpenalised = not (model.problem.l1 or model.problem.l2)
        words = _WITHOUT_PENALTY if unpenalised and gap > 0 else ""
        return course.trained(final.w, final.primal, gap, final.rounding, words)


def points(model: Model, w: Array, course: Course) -> Iterator[ChainPoint]:
    """Ever better points; the caller decides when to stop."""
    problem, control = model.problem, course.control
    point: ChainPoint = model.scored(w)
    bytes_each = (8.0 if model.direct else 16.0) * max(point.w.size, 1)
    most = max(int(min(control.memory, LARGEST) / bytes_each), 3)
    most = min(most, _PAIRS_IF_SPARSE if model.direct else _PAIRS)
    memory = LimitedMemory(most, point.w.size, rounded=model.direct)
    metric: Metric | None = None
    newton = _Newton(model, course)
    refresh, iteration, slow, lost = 0, 0, False, False
    while True:
        yield point
        if metric is None or iteration == refresh:
            scored = point = _with_scores(model, point)
            metric = model.metric(scored.terms)
            memory.fit(metric)
            refresh = max(4, (3 if metric.sound else 2) * iteration)  # it changes ever more slowly
        near = point.gap <= _NEAR * course.scale and metric.close
        new, curved = None, model.curved and (near or lost or (problem.l1 > 0 and slow))
        if curved:
            scored = point = _with_scores(model, point)
            new = newton.step(scored, metric)
        if new is None:
            new = _quasi_newton_step(model, point, metric, memory)
        if new is None and not curved:
            scored = point = model.scored(point.w)  # products belong to the last point made
            new = newton.step(scored, metric)
        if new is None:
            return
        memory.learn(new.w - point.w, _change(point, new), metric)
        gain = point.primal - new.primal
        slow = slow or gain <= _SLOW * abs(point.primal)
        lost = lost or gain <= new.rounding  # then the gap alone tells where to go
        point = new
        iteration += 1


def _with_scores(model: Model, point: ChainPoint) -> ScoredPoint:
    """The same point with its scores."""
    return point if isinstance(point, ScoredPoint) else model.scored(point.w)


def _change(point: ChainPoint, new: ChainPoint) -> Array:
    """The change of the smooth part of the slope."""
    if not point.problem.l1:
        return new.steepest - point.steepest
    change = new.slope - point.slope
    change += point.problem.l2 * (new.w - point.w)
    return change


class _Newton:
    """Newton steps: by conjugate gradients, or over all weights that move where those are slow."""

    def __init__(self, model: Model, course: Course) -> None:
        self._model, self._course = model, course
        self._over_support = SupportSteps(model)
        self._begun: tuple[float, float] | None = None  # gap and passes before the last step
        self._expected = 0.0  # passes that conjugate gradients still need, as far as they tell

    def step(self, point: ScoredPoint, metric: Metric) -> ChainPoint | None:
        """The point after a step; None if it fails."""
        model, course = self._model, self._course
        if not model.problem.l1:
            return _newton_step(model, point, metric, course)
        spent = course.problem.meter.passes
        if self._begun is not None:
            self._expected = _still_to_go(self._begun, (point.gap, spent), course.control.target)
        self._begun = None
        chosen = support(point, metric)
        new, rows = None, self._over_support.cost(chosen)
        if 0 < chosen.size <= MOST and rows <= spent and rows < self._expected:
            new = self._over_support.step(point, chosen, course.control.target)
            if new is not None:
                return new
            point = model.scored(point.w)  # products belong to the last point made
        self._begun = point.gap, course.problem.meter.passes
        return _newton_step(model, point, metric, course)


def _still_to_go(before: tuple[float, float], now: tuple[float, float], target: float) -> float:
    """Passes until the gap is at its target, if each lowers it by the factor of the last ones."""
    (first, begun), (gap, spent) = before, now
    if not 0.0 < gap < first:
        return np.inf
    return float(
        (spent - begun) * np.log(max(gap / max(target, 1e-300), 1.0)) / np.log(first / gap)
    )


def _newton_step(
    model: Model, point: ChainPoint, metric: Metric, course: Course
) -> ChainPoint | None:
    """The point after a Newton step; None if it fails."""
    control = course.control
    rest = float(np.vdot(point.steepest, point.steepest))
    share = _FORCING * min(1.0, float(np.sqrt(point.gap / max(course.scale, 1e-300))))
    enough = 0.3 * control.target / max(point.gap, 1e-300)  # of the gap that is left; safeguard
    goal = max(share, min(enough, 0.5)) * rest
    step, along = newton_direction(model, point, metric, control, goal)
    return search(model, point, step, along)


def _quasi_newton_step(
    model: Model, point: ChainPoint, metric: Metric, memory: LimitedMemory
) -> ChainPoint | None:
    """The point after a step of L-BFGS; else after one along the slope in the metric."""
    slope = point.steepest
    for direction in (lambda: memory.direction(slope, metric), lambda: -metric.solve(slope)):
        step = direction()
        if model.problem.l1:
            step = np.where(step * slope < 0, step, 0.0)
        # A metric of single tokens is too small where many features of a token move together.
        loose = model.direct and (memory.settled or (metric.sound and not memory.empty))
        found = search(model, point, step, measure=memory.empty, loose=loose)
        if found is not None:
            return found
    return None
