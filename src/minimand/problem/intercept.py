"""The best intercept for given scores, and multipliers that sum to zero, as a free one requires."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._base.row_blocks import in_parts
from .._base.typing import Array
from .._core import dot, residual_shift
from ..losses import PLQ, Loss
from .point import Point

if TYPE_CHECKING:
    from .objective import Objective

_EPS = float(np.finfo(float).eps)
_FAR = 1e-3  # share of the slope's terms, above which the exact root of pieces is taken; safeguard
_CANCELLING = 1e5  # ratio of a score's parts to the score, beyond which digits are lost; safeguard


class Risk(Protocol):
    """A mean loss Σ mass·ℓ(z, y): the part of an objective that an intercept depends on."""

    @property
    def loss(self) -> Loss:
        """ℓ."""

    @property
    def y(self) -> Array:
        """Targets."""

    @property
    def mass(self) -> Array:
        """Weights."""

    @property
    def kinks(self) -> PLQ | None:
        """The loss as pieces, if it has kinks."""

    def mean(self, values: Array) -> float:
        """Σ mass·values."""


def best_shift(risk: Risk, z: Array, steps: int = 200) -> Any:  # steps: safeguard
    """The b that minimises Σ mass·ℓ(z + b, y): a float, or a number for each of k scores.

    Exact if the loss is quadratic, or piecewise quadratic with kinks (the middle if several b are
    optimal); otherwise a safeguarded Newton method on the slope. For a non-convex loss, the lowest
    of the minima found.
    """
    if z.ndim > 1 or risk.loss.unit != "row":
        from .shift import newton_shift

        known = risk.loss.best_shift(z, risk.y, risk.mass)
        return newton_shift(risk, z, steps) if known is None else known
    if risk.loss.quadratic:
        z, y = np.ascontiguousarray(z), np.ascontiguousarray(risk.y)
        return residual_shift(z, y, risk.mass)
    if not risk.loss.convex:
        from .robust_intercept import robust_shift

        return robust_shift(risk.loss, z, risk.y, risk.mass)
    if risk.kinks is not None:
        return _middle(*risk.kinks.best_shifts(z, risk.mass))
    known = risk.loss.best_shift(z, risk.y, risk.mass)
    return _root(risk, z, steps) if known is None else known


def recentred(objective: Objective, point: Point) -> Point:
    """The same w with the best intercept; if only differences of scores count, they sum to 0.

    The scores are recomputed from w if large coefficients cancel in them.
    """
    if point is objective.null:
        return point
    if objective.reach(point) > _CANCELLING * (1.0 + objective.row_total_of(np.abs, point.z)):
        point = objective.point(point.w, point.b)
    if not objective.intercept:
        return point
    shift = best_shift(objective, point.z)
    if objective.loss.level_free and objective.n_scores > 1:
        shift = shift - np.mean(point.b + shift)
    moves = shift if objective.n_scores == 1 else shift.any()
    return Point(point.w, point.b + shift, point.z + shift) if moves else point


def _middle(lowest: float, highest: float) -> float:
    """The middle of an interval; its finite end if one side is open, 0 if both are."""
    if np.isfinite(lowest) and np.isfinite(highest):
        return float(0.5 * lowest + 0.5 * highest)
    return float(lowest if np.isfinite(lowest) else highest if np.isfinite(highest) else 0.0)


def balanced_gradient(risk: Risk, z: Array) -> Array | None:
    """A subgradient with Σ mass·θ = 0 at the best intercept; None if none is known.

    Samples at a kink may take any slope between those on its two sides: each takes the same
    share of that range, such that the sum vanishes.
    """
    found = slopes_beside(risk, z)
    if found is None:
        return None
    least, greatest = found
    low, high = risk.mean(least), risk.mean(greatest)
    if not low <= 0 <= high:
        return None
    share = -low / (high - low) if high > low else 0.0
    for lower, upper in in_parts(least, greatest):
        lower += share * (upper - lower)
    return least


def balance(objective: Objective, theta: Array) -> Array:
    """Make Σ mass·θ = 0 by shrinking the heavier sign towards zero.

    Zero lies in the domain of ℓ* and the domain is convex, so shrinking cannot leave it.
    """
    weighted = objective.row_mass * theta
    total = float(weighted.sum())
    half = 0.5 * float(np.abs(weighted).sum())
    plus, minus = half + 0.5 * total, half - 0.5 * total
    if plus == minus:
        return theta
    up = minus / plus if plus > minus else 1.0
    down = plus / minus if minus > plus else 1.0
    return theta * np.where(theta > 0, up, down)


def slopes_beside(risk: Risk, z: Array) -> tuple[Array, Array] | None:
    """The least and greatest slope of every sample, different at a kink; None without kinks."""
    if risk.kinks is None:
        return None
    pieces, *signs = risk.kinks
    farthest = float(np.max(np.abs(pieces.knots)))
    lowest, highest = np.empty(z.size), np.empty(z.size)
    for low, high, scores, sign, shift in in_parts(lowest, highest, z, *signs):
        reach = 8 * _EPS * (np.abs(scores) + np.abs(shift) + farthest)
        least, greatest = pieces.subgradients(sign * scores - shift, reach)
        # With a negative sign, the least slope in t is the greatest in z.
        low[:] = np.where(sign > 0, least, -greatest)
        high[:] = np.where(sign > 0, greatest, -least)
    return lowest, highest


def _root(risk: Risk, z: Array, steps: int) -> float:
    """Where the slope of the mean loss changes sign, by Newton steps inside a bracket.

    Along an exponential every Newton step is as short as the last one. So before there is a
    bracket a step is at least twice as long as the last one, and inside the bracket a step that is
    not half as long as the one before the last is replaced by bisection. Pieces say where the root
    is, up to rounding, which one more Newton step removes.
    """
    loss = risk.loss
    b, lo, hi, reach = 0.0, -np.inf, np.inf, 8.0
    before, last = np.inf, 0.0  # the lengths of the two steps before
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            slope, bend, size, curved = _slopes_at(risk, z, b)
            if math.isnan(slope):
                slope = _direction(risk.mass, loss.gradient(z + b, risk.y), b)
            noise = _EPS * (size + curved + bend * abs(b))
            if abs(slope) <= noise and math.isfinite(noise):
                break
            step = -slope / bend if bend > 0 and math.isfinite(slope) else np.nan
            lo, hi = (b, hi) if slope < 0 else (lo, b)
            if b + step == b:
                break
            exact = _by_pieces(risk, z) if not b and abs(slope) > _FAR * size else None
            if exact is not None:
                trusted, new = True, exact
            elif math.isfinite(hi - lo):
                trusted = lo < b + step < hi and (loss.quadratic or abs(step) <= 0.5 * before)
                new = b + step if trusted else 0.5 * (lo + hi)
            else:
                length = _stride(step, last, reach, loss.quadratic)
                trusted, reach = length == abs(step), 4 * reach
                new = b + math.copysign(length, -slope)
            if abs(new) > 1e300 or new == b:  # nearly the largest number
                break
            before, last, b = last, abs(new - b), new
            if trusted and abs(slope) <= 1e-9 * size:  # share of the slope's terms; safeguard
                break  # Newton doubles the digits, so the rest is rounding
    return float(b)


def _by_pieces(risk: Risk, z: Array) -> float | None:
    """The same root up to the rounding of sums over all rows, if the loss is made of pieces."""
    pieces = risk.loss.plq(risk.y)
    found = 0.0 if pieces is None else _middle(*pieces.best_shifts(z, risk.mass))
    return found if found and math.isfinite(found) else None


def _slopes_at(risk: Risk, z: Array, b: float) -> tuple[float, float, float, float]:
    """The means of ℓ', ℓ'', |ℓ'| and ℓ''·|z| at z + b."""
    slope = bend = size = curved = 0.0
    for scores, y, mass in in_parts(z, risk.y, risk.mass):
        gradient, curvature = risk.loss.slopes(scores + b if b else scores, y)
        slope += dot(mass, gradient)
        bend += dot(mass, curvature)
        size += dot(mass, np.abs(gradient))
        curved += dot(mass, curvature * np.abs(scores))
    return slope, bend, size, curved


def _stride(step: float, last: float, reach: float, exact: bool) -> float:
    """The length of a step downhill while there is no bracket."""
    if exact and math.isfinite(step):
        return abs(step)
    longest = max(reach, 2 * last)
    return min(max(abs(step), 2 * last), longest) if math.isfinite(step) else longest


def _direction(mass: Array, gradient: Array, b: float) -> float:
    """The sign of a slope that overflows on both sides: that of the larger overflowing mass."""
    balance = float(np.sign(mass @ np.where(np.isinf(gradient), np.sign(gradient), 0.0)))
    return np.inf * (balance or (1.0 if b > 0 else -1.0))
