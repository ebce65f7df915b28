"""Many models of one data set, certified together: scores and slopes in two products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .._typing import Array
from ..certificate import Dual, Judgement, judge, stamp
from ..objective import Objective, Point
from . import solve
from .base import CALLBACK, INTERRUPT, Control, Solution


def was_cut_short(stopped_by: str) -> bool:
    """Whether a limit or somebody stopped a fit, rather than its own arithmetic."""
    return stopped_by.startswith(("max_", CALLBACK, INTERRUPT))


class Models:
    """Models of one data set under the squared loss, each with its scores and its slopes."""

    def __init__(self, objective: Objective, coefs: Array, intercepts: Array) -> None:
        self.points = _points(objective, coefs, intercepts)
        self.duals = _duals(objective, self.points)

    def judgement(self, i: int, problem: Objective) -> Judgement:
        """Of one of them, as a model of this problem on the same data."""
        problem.meter.passes += 2.0 / len(self.points)
        return judge(problem, self.points[i], known=[self.duals[i]], raw=False)


def certify_together(
    objective: Objective,
    problems: Sequence[Objective],
    coefs: Array,
    intercepts: Array,
    control: Control,
    found: Sequence[tuple[str, int, str]],
) -> Iterator[Solution]:
    """Models as solutions of their problems, which share the data and the squared loss.

    ``found`` says of each which solver found it, in how many iterations, and what stopped it. One
    that misses the tolerance, and was not cut short, is solved by itself.
    """
    models = Models(objective, coefs, intercepts)
    for i, (problem, (solver, iterations, stopped_by)) in enumerate(zip(problems, found)):
        judgement = models.judgement(i, problem)
        converged = judgement.reaches(problem, control.tol * problem.scale)
        if not converged and not was_cut_short(stopped_by):
            yield solve(problem, "auto", replace(control), models.points[i])
            continue
        certificate = stamp(judgement.certificate(problem), iterations, control.seconds)
        slope = models.duals[i].slope
        yield Solution(models.points[i], slope, certificate, solver, converged, stopped_by)


def _points(objective: Objective, coefs: Array, intercepts: Array) -> list[Point]:
    """The models with their scores, in one product; b is the best one to the last digit."""
    scores = objective.forward(np.ascontiguousarray(coefs.T))
    shift = 0.0 if objective.offset is None else objective.offset
    points = []
    for w, b, z in zip(coefs, intercepts, np.ascontiguousarray(scores.T)):
        z += shift + b
        more = objective.mean(objective.y - z) if objective.intercept else 0.0
        points.append(Point(w, float(b + more), z + more))
    return points


def _duals(objective: Objective, points: list[Point]) -> list[Dual]:
    """The gradients of the loss as dual points, their slopes in one product."""
    thetas = [objective.loss.gradient(point.z, objective.y) for point in points]
    slopes = objective.backward(np.stack([objective.mass * theta for theta in thetas], axis=1))
    return [Dual(*pair) for pair in zip(thetas, np.ascontiguousarray(slopes.T))]
