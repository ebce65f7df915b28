"""The slope at a point from the same pass as its scores, where a pass takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._base.typing import Array
from .point import EPS, Point

if TYPE_CHECKING:
    from .objective import Objective


class KeptSlope(NamedTuple):
    """Xᵀ(mass∘θ) of some multipliers θ, and the means Xᵀmass of the columns."""

    theta: Array
    slope: Array
    mean: Array

    def of(self, theta: Array) -> Array | None:
        """The slope of θ, if it is the kept one plus a constant; else None."""
        if theta.shape != self.theta.shape:
            return None
        moved = theta - self.theta
        constant = float(np.median(moved[:: max(1, moved.size // 100)]))  # of about 100; safeguard
        size = float(np.abs(theta).max(initial=0.0)) + abs(constant)
        if float(np.abs(moved - constant).max(initial=0.0)) > 4 * EPS * size:
            return None
        return self.slope + constant * self.mean


def point_with_slope(objective: Objective, w: Array, b: float) -> Point:
    """The model (w, b) with its scores; the slope of a squared loss there is kept for the referee.

    Moving the intercept adds a constant to the multipliers of a squared loss, so that the slope
    with the best intercept is known as well.
    """
    loss, design = objective.loss, objective.design
    rows = objective.n_scores == 1 and loss.unit == "row" and objective.has_columns
    if not (loss.quadratic and rows and design.reading > 1.0):
        return objective.point(w, b)
    offset = np.zeros(objective.n_samples) if objective.offset is None else objective.offset

    def multipliers(t: Array, y: Array, mass: Array, own: Array) -> Array:
        return np.stack([mass * loss.gradient(t + own + b, y), mass], axis=1)

    objective.meter.passes += 1
    sums, t = design.scores_and_sums(w, multipliers, objective.y, objective.row_mass, offset)
    z = t + offset + b
    slope, mean = np.ascontiguousarray(sums.T)
    objective.keep_slope(KeptSlope(loss.gradient(z, objective.y), slope, mean))
    return Point(w, b, z)
