"""The level of the coefficients of a feature, on which a softmax does not depend."""

from __future__ import annotations

import numpy as np

from ...problem.objective import Objective, Point


def levelled(objective: Objective, point: Point) -> Point:
    """The same model with the least Σ|w| of every feature: coefficients minus their median.

    If only differences of scores count, a number may be added to all coefficients of a feature. The
    loss is flat along it and the l1 norm is not: descent would move there in tiny steps, until
    some coefficient is zero. Only for an l1 norm that is the same for all scores of a feature.
    """
    form = objective.penalty.sum_over_features
    if objective.n_scores == 1 or not objective.loss.level_free or form is None:
        return point
    if form.has_constraints or form.l2.any() or np.ptp(form.l1, axis=1).any():
        return point
    k = objective.n_scores
    ordered = np.sort(point.w, axis=1)
    # The medians nearest to zero; zero itself if it is one of them.
    median = np.clip(0.0, ordered[:, (k - 1) // 2], ordered[:, k // 2])
    median[form.l1[:, 0] == 0] = 0.0
    if point is objective.null or not median.any():
        return point
    shift = objective.forward(median)
    return Point(point.w - median[:, None], point.b, point.z - shift[:, None])
