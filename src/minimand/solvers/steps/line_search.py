"""Moves without a pass over the data: the best intercept, and a line search on the scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._base.typing import Array
from ...losses import Terms
from ...losses.curvature import Curvature, Diagonal
from ...penalties import BoundPenalty
from ...problem.objective import EPS, Objective, Point, dot

_BEND = 10.0  # least ratio of `wrong` to gain²/scale; safeguard
_STEEP = 0.05  # share of the first slope, above which the step is lengthened; safeguard
_FARTHEST = 8.0  # factor by which a step is lengthened at most; safeguard


@dataclass
class Caution:
    """The share (0 to 1) of the curvature that is replaced by that of a parabola above the loss.

    Short steps mean that the curvature was too small, as on the flat pieces of Huber's loss or the
    squared hinge. The majoriser is always safe but slow; the curvature itself is fast.
    """

    share: float = 0.0
    bend: float = _BEND
    """The share of its gain that a step leaves, divided by its gain in units of the scale."""
    last: float = np.inf

    def wrong(self, gained: float, scale: float) -> float:
        """The error of the quadratic model after a step that has gained so much.

        A Newton step leaves about the square of its gain.
        """
        if not gained > 0:
            return 0.0
        return gained * min(1.0, self.bend * gained / scale) if scale > 0 else np.inf

    def observe(self, gained: float, scale: float) -> None:
        """Update ``bend``: what a step gains is what the last step left."""
        left = (gained / self.last) * (scale / self.last)  # last² may underflow
        self.bend, self.last = max(_BEND, left), max(gained, 0.0) or np.inf

    def curvature(self, objective: Objective, point: Point, terms: Terms) -> Curvature:
        """The curvature to build a step with."""
        found: Curvature = terms.curvature
        share = self.share if found.any else 1.0
        if share == 0.0:
            return found
        safe, h = objective.loss.majoriser(point.z, objective.y), found.bound
        return Diagonal(h + share * np.maximum(safe - h, 0.0))

    def learn(self, t: float) -> bool:
        """More caution after a short step, less after a full one; False: reject this step.

        A step cut below a hundredth came from a curvature that had nearly vanished (saturated
        samples): even a hundredth of it may move w so far that scores lose their digits.
        """
        worthless = t < 0.01 and self.share < 1.0  # a step cut below 1 %; safeguard
        if worthless:
            self.share = 1.0
        elif t < 0.1:  # a step cut below 10 %; safeguard
            # Factor 8, and a least share of 0.01; safeguard.
            self.share = min(1.0, max(8 * self.share, 1e-2))
        else:
            # Factor 1/4, and a share of 1e-6 that counts as 0; safeguard.
            self.share = self.share / 4 if self.share > 1e-6 else 0.0
        return not worthless


def line_search(
    objective: Objective,
    form: BoundPenalty,
    point: Point,
    dw: Array,
    dz: Array,
    db: float,
    *,
    beyond: bool = False,
    first: float | None = None,
    trials: int = 40,  # safeguard
) -> tuple[float, Point]:
    """Minimise t ↦ P along the step, roughly: the full step if it is good, else a root of φ'.

    φ(t) = mean ℓ(z + t·dz) + Ω(w + t·dw) is convex, so bisection on the sign of its slope is safe;
    slopes stay accurate where differences of values are lost in rounding. If Ω has no kinks
    the step may be lengthened (``beyond``); with kinks, the exact zeros of the full step are kept.
    ``first`` is φ'(0), where it is known.
    """
    if first is None:
        first = _slope(objective, form, point, dw, dz, 0.0)
    if not first < 0:
        return 0.0, point
    lo, hi, slope_lo, slope_hi = 0.0, np.inf, first, np.inf
    t = 1.0
    for _ in range(trials):
        slope = _slope(objective, form, point, dw, dz, t)
        if beyond and slope < _STEEP * first and t < _FARTHEST:
            # The slope is still steep, so the curvature was too large: go on along the secant.
            lo, slope_lo = t, slope
            ahead = t * first / (first - slope) if slope > first else np.inf
            t = min(_FARTHEST, 0.5 * (lo + hi), ahead)
            continue
        # 0.1: share of the first slope that is flat enough; safeguard.
        if slope <= 0 or (slope <= 0.1 * abs(first) and _falls(objective, form, point, dw, dz, t)):
            break
        hi, slope_hi = t, slope
        secant = lo - slope_lo * (hi - lo) / (slope_hi - slope_lo) if slope_hi < np.inf else 0.0
        middle = 0.5 * (lo + hi)
        # 0.05: share of the bracket that a secant must stay away from its ends; safeguard.
        t = secant if lo + 0.05 * (hi - lo) < secant < hi - 0.05 * (hi - lo) else middle
    if t <= EPS or not slope <= 0.1 * abs(first):  # 0.1 as above
        return 0.0, point
    w = form.project(point.w + t * dw)
    return t, Point(w, point.b + t * db, point.z + t * dz)


def _falls(
    objective: Objective, form: BoundPenalty, point: Point, dw: Array, dz: Array, t: float
) -> bool:
    """Whether P(t) ≤ P(0) up to rounding; beyond its minimum φ may have risen again."""
    with np.errstate(over="ignore", invalid="ignore"):
        before = objective.mean(objective.loss.value(point.z, objective.y))
        after = objective.mean(objective.loss.value(point.z + t * dz, objective.y))
        moved = form.project(point.w + t * dw)  # rounding may have crossed a bound
        change = form.value(moved) - form.value(point.w) + (after - before)
    return bool(change <= 1e-12 * abs(before))  # share of P: rounding; safeguard


def _slope(
    objective: Objective, form: BoundPenalty, point: Point, dw: Array, dz: Array, t: float
) -> float:
    """φ'(t); at a kink of Ω the one-sided slope that faces the step: right at 0, left beyond.

    A coefficient that the step brings to zero must not count as one that is about to leave zero.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        z = point.z + t * dz if t else point.z
        smooth = dot(objective.weigh(objective.loss.gradient(z, objective.y)), dz)
    w = point.w + t * dw if t else point.w
    slope = smooth + form.slope_along(w, dw, leaving=not t)
    return np.inf if math.isnan(slope) else slope
