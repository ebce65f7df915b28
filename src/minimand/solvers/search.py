"""Moves that need no pass over the data: the best intercept, and a line search on the scores."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..objective import EPS, Objective, Point, best_shift, dot
from ..penalties import Separable


def recentred(objective: Objective, point: Point) -> Point:
    """The same w with the best intercept."""
    if not objective.intercept:
        return point
    shift = best_shift(objective, point.z)
    return Point(point.w, point.b + shift, point.z + shift) if shift else point


def line_search(
    objective: Objective,
    form: Separable,
    point: Point,
    dw: Array,
    dz: Array,
    db: float,
    trials: int = 40,
) -> tuple[float, Point]:
    """Minimise t ↦ P along the step, roughly: the full step if it is good, else a root of φ'.

    φ(t) = mean ℓ(z + t·dz) + Ω(w + t·dw) is convex, so bisection on the sign of its slope is safe;
    slopes stay accurate when differences of values have drowned in rounding.
    """
    first = _slope(objective, form, point, dw, dz, 0.0)
    if not first < 0:
        return 0.0, point
    lo, hi, slope_lo, slope_hi = 0.0, np.inf, first, np.inf
    t = 1.0
    for _ in range(trials):
        slope = _slope(objective, form, point, dw, dz, t)
        if slope <= 0.1 * abs(first) and (slope >= first or t >= 1.0):
            break
        lo, hi = (t, hi) if slope < 0 else (lo, t)
        slope_lo, slope_hi = (slope, slope_hi) if slope < 0 else (slope_lo, slope)
        secant = lo - slope_lo * (hi - lo) / (slope_hi - slope_lo) if slope_hi < np.inf else 0.0
        middle = 0.5 * (lo + hi)
        t = secant if lo + 0.05 * (hi - lo) < secant < hi - 0.05 * (hi - lo) else middle
    if t <= EPS:
        return 0.0, point
    return t, Point(point.w + t * dw, point.b + t * db, point.z + t * dz)


def _slope(
    objective: Objective, form: Separable, point: Point, dw: Array, dz: Array, t: float
) -> float:
    """φ'(t); at a kink of Ω the one-sided slope that faces the step: right at 0, left beyond.

    A coefficient that the step brings to zero must not count as one about to leave zero.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        z = point.z + t * dz if t else point.z
        smooth = dot(objective.mass * objective.loss.gradient(z, objective.y), dz)
    w = point.w + t * dw if t else point.w
    sign = np.sign(w)
    kinked = np.where(sign == 0, -np.sign(dw) if t else np.sign(dw), sign)
    slope = smooth + dot(form.l2 * w + form.l1 * kinked, dw)
    return slope if not np.isnan(slope) else np.inf
