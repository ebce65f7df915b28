"""Sound upper bounds of ψ*(v) = sup_t v·t − ψ(t) for a convex ψ known by value and slope only.

If ψ'(lo) ≤ v ≤ ψ'(hi), the tangents at lo and hi lie below ψ, so v·t − ψ(t) is largest where the
tangents cross: a bound that is valid for every bracket and tight when the bracket is small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import Array, BoolArray, IntArray

RowFunction = Callable[[Array, IntArray], Array]
_FAR = 1e300  # beyond this a slope that has not reached v never will
_NOTHING = 1e-250  # slopes nearer than this are equal: formulas are clipped against overflow
_ROUNDS = 400
_ULPS = 8 * float(np.finfo(float).eps)


def young_gap(
    psi: Callable[..., Array], dpsi: Callable[..., Array], t: Array, v: Array, *rowwise: Array
) -> Array:
    """Upper bound of the Fenchel-Young term ψ(t) + ψ*(v) − v·t, elementwise; inf outside dom ψ*.

    Everything is measured from t, so nothing cancels when the term is small. What ψ depends on
    besides t, one number per entry of t each, is given to it as further arguments.
    """
    t, v = np.broadcast_arrays(np.asarray(t, float), np.asarray(v, float))
    shape = t.shape
    t, v = t.ravel(), v.ravel()
    columns = [np.broadcast_to(column, shape).ravel() for column in rowwise]
    psi, dpsi = _vectorised(psi, columns), _vectorised(dpsi, columns)
    with np.errstate(all="ignore"):
        lo, hi, inside = _bracket(dpsi, t, v)
        gap = np.full(t.shape, np.inf)
        rows = np.flatnonzero(inside)
        if rows.size:
            gap[rows] = _shrink(psi, dpsi, rows, t[rows], v[rows], lo[rows], hi[rows])
    return gap.reshape(shape)


def _vectorised(f: Callable[..., Array], columns: list[Array]) -> RowFunction:
    """f of the given rows, with an answer of the shape of t, also where it is constant."""

    def at(t: Array, rows: IntArray) -> Array:
        value = f(t, *(column[rows] for column in columns))
        return np.broadcast_to(np.asarray(value, float), t.shape)

    return at


def _bracket(dpsi: RowFunction, t: Array, v: Array) -> tuple[Array, Array, BoolArray]:
    """Points with ψ'(lo) ≤ v ≤ ψ'(hi), found by growing steps from t."""
    slope = dpsi(t, np.arange(t.size))
    lo, hi = t.copy(), t.copy()
    need_hi, need_lo = slope < v, slope > v
    step = np.maximum(1.0, np.abs(t)) * 1e-3
    while (need_hi | need_lo).any() and step.min() < _FAR:
        idx = np.flatnonzero(need_hi)
        if idx.size:
            trial = np.minimum(hi[idx] + step[idx], _FAR)
            reached = ~(dpsi(trial, idx) < v[idx] - _NOTHING)
            lo[idx] = np.where(reached, lo[idx], trial)
            hi[idx] = trial
            need_hi[idx[reached]] = False
        idx = np.flatnonzero(need_lo)
        if idx.size:
            trial = np.maximum(lo[idx] - step[idx], -_FAR)
            reached = ~(dpsi(trial, idx) > v[idx] + _NOTHING)
            hi[idx] = np.where(reached, hi[idx], trial)
            lo[idx] = trial
            need_lo[idx[reached]] = False
        step = step * 8.0
    return lo, hi, ~(need_hi | need_lo)


def _shrink(
    psi: RowFunction,
    dpsi: RowFunction,
    rows: IntArray,
    t: Array,
    v: Array,
    lo: Array,
    hi: Array,
) -> Array:
    """Bisect the bracket until the tangent bound is within rounding of the best lower bound."""
    base = psi(t, rows)
    best = np.full(t.shape, np.inf)
    active = np.arange(t.size)
    for _ in range(_ROUNDS):
        lo_a, hi_a = lo[active], hi[active]
        here = rows[active]
        upper, lower = _bounds(psi, dpsi, here, t[active], v[active], base[active], lo_a, hi_a)
        best[active] = np.fmin(best[active], upper)
        noise = 4 * _ULPS * (np.abs(base[active]) + np.abs(v[active] * t[active]))
        wide = hi_a - lo_a > 4e-16 * np.maximum(np.abs(lo_a), np.abs(hi_a))
        open_ = wide & ~(upper - lower <= np.maximum(noise, 1e-13 * np.abs(lower)))
        active = active[open_]
        if not active.size:
            break
        middle = midpoint(lo[active], hi[active])
        below = dpsi(middle, rows[active]) < v[active]
        lo[active] = np.where(below, middle, lo[active])
        hi[active] = np.where(below, hi[active], middle)
    return np.maximum(best, 0.0)


def midpoint(lo: Array, hi: Array) -> Array:
    """Arithmetic middle, or the geometric one where the ends differ by orders of magnitude."""
    middle = 0.5 * lo + 0.5 * hi
    small, large = np.minimum(np.abs(lo), np.abs(hi)), np.maximum(np.abs(lo), np.abs(hi))
    apart = (lo * hi > 0) & (large > 1e3 * small)
    return np.where(apart, np.sign(middle) * np.sqrt(small) * np.sqrt(large), middle)


def _bounds(
    psi: RowFunction,
    dpsi: RowFunction,
    rows: IntArray,
    t: Array,
    v: Array,
    base: Array,
    lo: Array,
    hi: Array,
) -> tuple[Array, Array]:
    """(upper, lower) bounds of sup_s [v·(s − t) − (ψ(s) − ψ(t))] from the ends of the bracket."""
    slope_lo, slope_hi = dpsi(lo, rows), dpsi(hi, rows)
    psi_lo, psi_hi = psi(lo, rows), psi(hi, rows)
    at_lo, at_hi = v * (lo - t) - (psi_lo - base), v * (hi - t) - (psi_hi - base)
    width = hi - lo
    # Tangents from both ends cross at lo + x.
    rise_lo, rise_hi = np.maximum(v - slope_lo, 0.0), np.maximum(slope_hi - v, 0.0)
    span = rise_lo + rise_hi
    x = np.where(span > 0, (at_hi - at_lo + rise_hi * width) / span, 0.0)
    x = np.clip(np.where(np.isfinite(x), x, width), 0.0, width)
    climb_lo, climb_hi = rise_lo * x, rise_hi * (width - x)
    # Far from t these are differences of huge numbers: a bound must carry its own rounding.
    noise_lo = _ULPS * (np.abs(v * (lo - t)) + np.abs(psi_lo) + np.abs(base) + climb_lo)
    noise_hi = _ULPS * (np.abs(v * (hi - t)) + np.abs(psi_hi) + np.abs(base) + climb_hi)
    from_lo, from_hi = at_lo + climb_lo + noise_lo, at_hi + climb_hi + noise_hi
    upper = np.fmin(
        np.where(np.isfinite(from_lo), from_lo, np.inf),
        np.where(np.isfinite(from_hi), from_hi, np.inf),
    )
    usable = np.isfinite(slope_lo) & np.isfinite(slope_hi)
    lower = np.fmax(
        np.where(np.isfinite(at_lo), at_lo - noise_lo, 0.0),
        np.where(np.isfinite(at_hi), at_hi - noise_hi, 0.0),
    )
    return np.where(usable, upper, np.inf), np.fmax(lower, 0.0)
