"""A path where samples outnumber features: solved on d + 1 rows, certified on the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from .._typing import Array
from ..certificate import Dual, judge, stamp
from ..condensed import condense, sums
from ..objective import Objective, Point
from ..solvers import Control, Solution, solve
from ..solvers.base import CALLBACK, INTERRUPT

_BATCH = 1 << 23  # scores held at a time

At = Callable[[Objective, float], Objective]
Solve = Callable[[Objective], Iterator[Solution]]


def condensed_path(
    objective: Objective, at: At, alphas: list[float], control: Control, solved: Solve
) -> Iterator[Solution]:
    """Solutions of a problem with the squared loss by way of its condensed twin.

    ``solved`` gives the solutions of the twin. Every solution is judged on the data themselves;
    one that misses the tolerance there is solved there.
    """
    small = condense(objective, sums(objective))
    solutions, places = solved(small.objective), iter(alphas)
    size = max(1, _BATCH // max(objective.n_samples, 1))
    while batch := list(islice(solutions, size)):
        problems = [at(objective, alpha) for alpha in islice(places, len(batch))]
        coefs = np.stack([s.w for s in batch])
        intercepts = np.array([small.intercept(w) for w in coefs])
        points = _points(objective, coefs, intercepts)
        duals = _duals(objective, points)
        for problem, point, dual, solution in zip(problems, points, duals, batch):
            problem.meter.passes += 2.0 / len(batch)
            yield _certified(problem, point, dual, control, solution)


def was_cut_short(solution: Solution) -> bool:
    """Whether a limit or somebody stopped it, rather than its own arithmetic."""
    return solution.stopped_by.startswith(("max_", CALLBACK, INTERRUPT))


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


def _certified(
    problem: Objective, point: Point, dual: Dual, control: Control, solution: Solution
) -> Solution:
    """A solution of the twin as one of the problem, with the gap that it has there."""
    judgement = judge(problem, point, known=[dual], raw=False)
    converged = judgement.reaches(problem, control.tol * problem.scale)
    if not converged and not was_cut_short(solution):
        return solve(problem, "auto", replace(control), point)
    certificate = stamp(
        judgement.certificate(problem), solution.certificate.iterations, control.seconds
    )
    return replace(
        solution, point=point, slope=dual.slope, certificate=certificate, converged=converged
    )
