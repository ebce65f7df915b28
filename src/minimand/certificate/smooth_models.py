"""The referee for several models of one data set under a smooth loss: two products for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._base.typing import Array
from ..problem.intercept import best_shift
from ..problem.objective import Objective, Point
from .finding import Dual, Finding, is_balanced
from .least_squares import scores_of_models, used_columns
from .referee import judge


def smooth_findings(
    base: Objective, problems: Sequence[Objective], coefs: Array
) -> Iterator[Finding]:
    """The result of `judge` for each row of coefficients, with its best intercept, on its problem.

    The problems differ from ``base`` in their penalty only. The dual point of a model is the
    gradient of the loss there; the slopes of all models come from one product.
    """
    scores = _scores(base, coefs)
    if base.offset is not None:
        scores += base.offset
    points = []
    for w, z in zip(coefs, scores):
        shift = best_shift(base, z) if base.intercept else base.no_shift
        z += shift
        points.append(Point(w, shift, z))
    thetas = [base.loss.gradient(point.z, base.y) for point in points]
    slopes = _slopes(base, thetas)
    for problem, point, theta, slope in zip(problems, points, thetas, slopes):
        problem.meter.passes += 2.0 / len(points)
        mean, size = base.row_mean(theta), base.row_mean_of(np.abs, theta)
        if base.intercept and not np.all(is_balanced(mean, size)):
            yield judge(problem, point)  # the gradient is no valid dual point
        else:
            yield judge(problem, point, known=[Dual(theta, slope)], raw=False)


def _scores(base: Objective, coefs: Array) -> Array:
    """The scores of all models, without an intercept: one product."""
    if coefs.ndim == 2:
        return scores_of_models(base.design, coefs)
    models, _, k = coefs.shape
    design, coefs = used_columns(base.design, coefs)
    beside = np.ascontiguousarray(np.moveaxis(coefs, 0, 1)).reshape(design.shape[1], models * k)
    scores = design.matvec(beside).reshape(-1, models, k)
    return np.ascontiguousarray(np.moveaxis(scores, 1, 0))


def _slopes(base: Objective, thetas: Sequence[Array]) -> Array:
    """The slopes of all dual points: one product."""
    if base.n_scores == 1:
        return base.design.slopes_of(np.stack(thetas) * base.mass)
    beside = np.concatenate([base.weigh(theta) for theta in thetas], axis=1)
    slopes = base.design.rmatvec(beside).reshape(base.n_features, len(thetas), -1)
    return np.ascontiguousarray(np.moveaxis(slopes, 1, 0))
