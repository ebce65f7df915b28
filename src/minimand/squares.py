"""The referee for many models of one least-squares problem: two products, then four sums each.

With the residuals r as dual point, scaled by s into the domain of Ω*, the samples' part of the gap
is Σ massᵢ·½(rᵢ − s·rᵢ)² = ½(1 − s)²·mean r². So of all that `judge` computes from n numbers, the sums
of r, |r|, r² and |r·z| are enough; what they cannot tell is left to `judge` itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _core
from ._typing import Array
from .certificate import Dual, Finding, dual_scales, is_balanced, judge, slack
from .objective import Objective, Point


@dataclass(frozen=True, eq=False, kw_only=True)
class SquaresFinding(Finding):
    """What the referee found at a model of the squared loss."""

    square: float  # mean r²
    score_times: float  # mean |r·z|

    def sizes(self, objective: Objective) -> tuple[float, float]:
        """The value is ½r², the gradient r."""
        return float(np.sqrt(self.square)), self.primal + self.score_times


class Models:
    """Models of one data set under the squared loss, each with its scores and its slopes.

    Where the intercept is free, each model gets the best one.
    """

    def __init__(self, objective: Objective, coefs: Array, intercepts: Array) -> None:
        scores = objective.design.scores_of(coefs)
        if objective.offset is not None:
            scores += objective.offset
        shifts, mass = np.array(intercepts, dtype=float), objective.mass
        residuals, self._sums = _core.residual_rows(
            scores, objective.y, mass, objective.intercept, shifts
        )
        # Another array of that size costs as much as the product itself.
        equal = bool((mass == mass[0]).all())
        slopes = objective.design.slopes_of(residuals if equal else residuals * mass)
        if equal:
            slopes *= mass[0]
        self.points = [Point(*row) for row in zip(coefs, shifts.tolist(), scores)]
        self.duals = [Dual(*row) for row in zip(residuals, slopes)]

    def finding(self, i: int, problem: Objective) -> Finding:
        """What the referee says of one of them as a model of this problem, on the same data."""
        problem.meter.passes += 2.0 / len(self.points)
        mean, size = self._sums[i, :2].tolist()
        if problem.intercept and not is_balanced(mean, size):
            return judge(problem, self.points[i])  # the residuals are no dual point
        found = None if problem.has_rays or not problem.convex else self._measured(i, problem)
        return found or judge(problem, self.points[i], known=[self.duals[i]], raw=False)

    def _measured(self, i: int, problem: Objective) -> Finding | None:
        """The gap from the sums; None where that of no residuals at all is smaller."""
        square, score_times = self._sums[i, 2:].tolist()
        point, dual = self.points[i], self.duals[i]
        scales = dual_scales(problem.penalty, dual.slope)
        gap, s = min(self._gap(i, problem, square, s) for s in scales)
        if not gap <= problem.scale:
            return None
        primal = 0.5 * square + problem.penalty.value(point.w)
        if s != 1.0:
            dual = Dual(s * dual.theta, s * dual.slope)
        return SquaresFinding(
            point=point,
            primal=primal,
            gap=gap,
            dual=dual._replace(value=primal - gap + slack(primal)),
            slope=self.duals[i].slope,
            square=square,
            score_times=score_times,
        )

    def _gap(self, i: int, problem: Objective, square: float, s: float) -> tuple[float, float]:
        """The gap of the residuals times s, and s."""
        by_feature = problem.penalty.by_feature(self.points[i].w, -s * self.duals[i].slope)
        return 0.5 * (1.0 - s) ** 2 * square + float(by_feature.sum()), s
