"""Training of conditional random fields over chains, with a certificate.

Quasi-Newton steps (L-BFGS) in a metric made of the curvature of single tokens come first; near the
optimum Newton steps follow, whose equations are solved by conjugate gradients in the same metric.
With an l1 part both keep every step in the orthant of its signs, so that weights become zero.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array
from ..._base.watch import undisturbed
from ..base import Control
from .course import Course, Trained
from .metric import Metric, Metrics, balanced
from .penalised import ChainModel, ChainPoint
from .problem import ChainProblem, ChainWeights
from .steps import LimitedMemory, newton_direction, search

_PAIRS = 40  # steps that L-BFGS remembers; measured on OCR words and CoNLL-2000
_LARGEST = 1e9  # bytes of what is kept beside the data if there is no limit; safeguard
_NEAR = 1e-5  # share of the scale, below which Newton steps are taken; measured on OCR words
_SLOW = (
    1e-3  # share of P that a step must gain, or with an l1 part a Newton step follows; safeguard
)
_PART = 8  # one sequence in so many gives a first start; safeguard
_MANY = 500  # sequences of such a part, from which it is worth it; safeguard
_ROUGH = 0.3  # share of the scale, the gap of that start; measured on OCR words
_FORCING = 0.1  # share of the gap that a Newton step may leave; safeguard
_WITHOUT_PENALTY = "without a penalty there is no bound: set alpha above 0"


def train_crf(
    problem: ChainProblem, control: Control, start: ChainWeights | None = None
) -> Trained:
    """Weights that minimise the mean negative log-likelihood plus the penalty, to a certified gap.

    The gap is that of the marginals as a dual point (see `penalised`), and is computed anew, from
    the returned weights, at the end. Limits, callbacks and Ctrl-C leave a valid model with its true
    gap; without a penalty there is no bound, and the gap is infinite.
    """
    problem.design.ready_for_scores(min(control.memory, _LARGEST))
    model = ChainModel(problem)
    scale = model.likelihood.null_value()
    course = Course(problem, control, "crf", scale)
    w = np.zeros(problem.layout.size)
    if start is not None:
        w = balanced(problem, problem.layout.vector(start))
    best: ChainPoint | None = None
    bound = -np.inf
    with np.errstate(over="ignore", invalid="ignore"), course.watched():
        if start is None:
            w = _rough_start(problem, w, course)
        for point in _points(model, w, course):
            best = point
            bound = max(bound, point.primal - point.gap)
            if course.record(point.primal, max(min(point.gap, point.primal - bound), 0.0)):
                break
    with undisturbed():
        final = model.point(w if best is None else best.w)
        gap = max(min(final.gap, final.primal - bound), 0.0)
        unbounded = "" if np.isfinite(gap) else _WITHOUT_PENALTY
        weights = problem.layout.weights(final.w)
        return course.trained(weights, final.primal, gap, final.rounding, unbounded)


def _rough_start(problem: ChainProblem, w: Array, course: Course) -> Array:
    """Weights that are nearly optimal for a part of many sequences; w itself if they are few."""
    if problem.n_sequences < _PART * _MANY or course.control.max_iter is not None:
        return w
    part = problem.on_sequences(_PART)
    model = ChainModel(part)
    for point in _points(model, w, course):
        w = point.w
        if point.gap <= _ROUGH * course.scale or course.control.expired:
            break
    problem.meter.passes += part.meter.passes / _PART
    return w


def _points(model: ChainModel, w: Array, course: Course) -> Iterator[ChainPoint]:
    """Ever better points; the caller decides when to stop."""
    problem, control = model.problem, course.control
    metrics = Metrics(problem)
    point = model.point(w)
    bytes_each = 16.0 * max(point.w.size, 1)
    most = int(min(control.memory, _LARGEST) / bytes_each)
    memory = LimitedMemory(min(max(most, 3), _PAIRS))
    metric: Metric | None = None
    refresh, iteration, slow = 0, 0, False
    while True:
        yield point
        if metric is None or iteration == refresh:
            metric = metrics.at(point.terms)
            memory.fit(metric)
            refresh = max(4, 2 * iteration)  # the curvature changes ever more slowly
        near = point.gap <= _NEAR * course.scale or (problem.l1 > 0 and slow)
        newton = near and problem.edges is None
        new = _newton_step(model, point, metric, course) if newton else None
        if new is None:
            new = _quasi_newton_step(model, point, metric, memory)
        if new is None:
            return
        memory.learn(new.w - point.w, _change(point, new), metric)
        slow = slow or point.primal - new.primal <= _SLOW * abs(point.primal)
        point = new
        iteration += 1


def _change(point: ChainPoint, new: ChainPoint) -> Array:
    """The change of the smooth part of the slope."""
    change = new.slope - point.slope
    change += point.problem.l2 * (new.w - point.w)
    return change


def _newton_step(
    model: ChainModel, point: ChainPoint, metric: Metric, course: Course
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
    model: ChainModel, point: ChainPoint, metric: Metric, memory: LimitedMemory
) -> ChainPoint | None:
    """The point after a step of L-BFGS; else after one along the slope in the metric."""
    slope = point.steepest
    for direction in (lambda: memory.direction(slope, metric), lambda: -metric.solve(slope)):
        step = direction()
        if model.problem.l1:
            step = np.where(step * slope < 0, step, 0.0)
        # A metric of single tokens is too small where many features of a token move together.
        found = search(model, point, step, measure=memory.empty)
        if found is not None:
            return found
    return None
