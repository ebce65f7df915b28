"""The rounding errors of a formula, measured, because nothing is known of a user's formula.

A function in floating point differs from the exact function. A well written one is off by a few
ulps of its result and of its argument,

    |f̂(t) − f(t)| ≤ few·eps·(|f(t)| + |t·f'(t)|),

but e^t − t − 1 near 0, log cosh t or √(1 + t²) − 1 subtract numbers much larger than their result,
and are off by ulps of these. `Noise` holds that excess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array, BoolArray

Function = Callable[[Array], Array]

EPS = float(np.finfo(float).eps)
FEW = 8  # ulps; safeguard: NumPy's own functions are off by one to four
_STEPS = np.geomspace(1e-2, 1e-8, 7)  # shares of t, the steps of the differences; safeguard
_NORM = np.sqrt(70.0)  # norm of (1, −4, 6, −4, 1): a difference of independent errors of size 1
_FLAT = 5.0  # factor; safeguard: a tenth of the step divides the difference of f by 10 or more
_NEIGHBOURS = 5  # grid points whose median counts; safeguard: one of them may be next to a kink
_FEW_POINTS = 8  # grid points; safeguard: next to where f is constant, differences may be too small
_CARRIED = 1e6  # factor; safeguard: the rounding at t counts for all smaller t down to t/1e6
_SAFETY = 8  # factor from the standard deviation of errors to the largest; safeguard


class Noise(NamedTuple):
    """The rounding of ψ and of ψ' beyond ulps of their own size, on a grid of t.

    Cell i lies between the grid points i − 1 and i, and holds the larger number of the two.
    """

    t: Array
    value: Array
    slope: Array

    @classmethod
    def measured(cls, t: Array, of_value: Array, of_slope: Array) -> Noise:
        """From the rounding at the grid points."""
        return cls(t, _cells(of_value), _cells(of_slope))

    def of_value(self, t: Array) -> Array:
        """Excess rounding of ψ(t)."""
        return self.value[np.searchsorted(self.t, t)]

    def of_slope(self, t: Array) -> Array:
        """Excess rounding of ψ'(t)."""
        return self.slope[np.searchsorted(self.t, t)]

    @property
    def worthwhile(self) -> bool:
        """Whether there is any."""
        return bool(self.value.any() or self.slope.any())


def _cells(at_points: Array) -> Array:
    return np.maximum(np.append(at_points, at_points[-1]), np.append(at_points[0], at_points))


def hidden(f: Function, t: Array, size: Array) -> Array:
    """The rounding of f at every t beyond ulps of numbers of the given size, |f| + |t·f'|.

    The loss by cancellation near zero does not grow towards zero, but the differences at a small t
    may be too short to show it, so the rounding at larger t counts there too. Where f does not
    change at all, as 1 + e^−t for large t, the rounding is that of the neighbouring points.
    """
    sides = (np.flatnonzero(t > 0), np.flatnonzero(t < 0)[::-1])
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(_rounding(f, t), _NEIGHBOURS // 2, mode="edge"), _NEIGHBOURS
    )
    seen = np.median(windows, axis=1)
    with np.errstate(all="ignore"):
        found = _SAFETY * (seen - 2 * EPS * size)
    found = np.where(np.isfinite(found) & (found > 0), found, 0.0)
    for side in sides:
        found[side] = _nearest(found[side], seen[side] > 0)
    for side in sides:
        ends = np.searchsorted(np.abs(t[side]), _CARRIED * np.abs(t[side]), side="right")
        found[side] = [found[side[i:end]].max() for i, end in enumerate(ends)]
    zero = np.flatnonzero(t == 0)
    found[zero] = np.maximum(found[zero - 1], found[(zero + 1) % t.size])
    return found


def _nearest(found: Array, seen: BoolArray) -> Array:
    """The numbers found; where none was, the largest of the nearest few on either side."""
    count, order = found.size, np.arange(found.size)
    after = np.minimum.accumulate(np.where(seen, order, count)[::-1])[::-1]
    before = np.maximum.accumulate(np.where(seen, order, -1))
    nothing = np.zeros(_FEW_POINTS)
    padded = np.concatenate([nothing, found, nothing])
    largest = np.lib.stride_tricks.sliding_window_view(padded, _FEW_POINTS).max(axis=1)
    return np.where(seen, found, np.maximum(largest[after + _FEW_POINTS], largest[before + 1]))


def _rounding(f: Function, t: Array) -> Array:
    """The size of the rounding errors of f around every t, from fourth differences.

    Over steps of h·t the fourth difference of the function itself shrinks with h⁴, or with h next
    to a jump of its derivative. That of its rounding errors does not depend on h, until h·t
    is too short for an inner function to notice. So from long steps to short ones, the first
    difference that is about as large as the one before is rounding.
    """
    places = t[:, None, None] * (1.0 + _STEPS[:, None] * np.arange(-2.0, 3.0))
    with np.errstate(all="ignore"):
        values = np.broadcast_to(np.asarray(f(places.ravel()), float), (places.size,))
        # Not a product with the stencil: differences of equal numbers must be exactly zero.
        differences = np.abs(np.diff(values.reshape(places.shape), n=4)[:, :, 0]) / _NORM
        longer, shorter = differences[:, :-1], differences[:, 1:]
        flat = np.isfinite(longer) & (longer <= _FLAT * shorter)
    first = np.argmax(flat, axis=1)
    return np.where(flat.any(axis=1), shorter[np.arange(t.size), first], 0.0)
