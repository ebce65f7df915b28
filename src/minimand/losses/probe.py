"""Probing a function of one number: is it convex, are its slopes its own, does it have kinks?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Array

Function = Callable[[Array], Array]


class Facts(NamedTuple):
    """What a probe found: a violation of convexity in words, the place of a kink, a minimum."""

    violation: str | None
    kink: float | None
    attained: bool = True  # whether the infimum is a minimum


CONVEX_AND_SMOOTH = Facts(violation=None, kink=None)
WITHOUT_MINIMUM = Facts(violation=None, kink=None, attained=False)


def _grid() -> Array:
    """Points dense near 0 and ±1, where losses bend, and over all scales data may have."""
    near = np.linspace(-8.0, 8.0, 161)
    far = np.geomspace(1e-8, 1e12, 241)
    return np.unique(np.concatenate([near, far, -far]))


def inspect(psi: Function, dpsi: Function, ddpsi: Function, scale: float = 1.0) -> Facts:
    """Test the subgradient inequality on all pairs of a grid, then look for jumps of the slope.

    ``scale`` moves the dense part of the grid to where the data are.
    """
    t = scale * _grid()
    with np.errstate(all="ignore"):
        value, slope, curvature = (
            np.broadcast_to(np.asarray(f(t), float), t.shape) for f in (psi, dpsi, ddpsi)
        )
        usable = np.isfinite(value) & np.isfinite(slope)
        violation = _violation(t[usable], value[usable], slope[usable])
        if violation is None and (curvature[usable] < 0).any():
            at = t[usable][np.flatnonzero(curvature[usable] < 0)[0]]
            violation = f"ddpsi is negative at {at:g}, so psi bends downwards there."
        kink = None if violation else _kink(dpsi, t[usable], slope[usable])
        attained = bool((slope[np.abs(t) <= 100 * scale] >= 0).any())
        attained = attained and bool((slope[np.abs(t) <= 100 * scale] <= 0).any())
    return Facts(violation, kink, attained)


def _violation(t: Array, value: Array, slope: Array) -> str | None:
    """ψ(b) − ψ(a) − ψ'(a)(b − a) must be ≥ 0; says where it is not."""
    rise = slope[:, None] * (t[None, :] - t[:, None])
    excess = value[None, :] - value[:, None] - rise
    size = np.abs(value)[None, :] + np.abs(value)[:, None] + np.abs(rise)
    # Formulas such as log(cosh) carry the rounding of numbers around 1 even where ψ is tiny.
    unit = float(np.max(np.abs(value[np.abs(t) <= np.median(np.abs(t))]), initial=0.0))
    bad = excess < -1e-10 * size - 64 * np.finfo(float).eps * unit - 1e-300
    if not bad.any():
        return None
    a, b = np.unravel_index(np.argmin(np.where(bad, excess / size, 0.0)), bad.shape)
    return (
        f"the tangent at {t[a]:g} (slope {slope[a]:g}) lies above psi at {t[b]:g}; "
        "either psi is not convex or dpsi is not its derivative."
    )


def _kink(dpsi: Function, t: Array, slope: Array) -> float | None:
    """Bisect every interval of the grid towards its larger rise; a jump that stays is a kink."""
    lo, hi, left, right = t[:-1].copy(), t[1:].copy(), slope[:-1].copy(), slope[1:].copy()
    rise = right - left
    for _ in range(45):
        middle = 0.5 * (lo + hi)
        at = np.broadcast_to(np.asarray(dpsi(middle), float), middle.shape)
        go_right = right - at > at - left
        lo, left = np.where(go_right, middle, lo), np.where(go_right, at, left)
        hi, right = np.where(go_right, hi, middle), np.where(go_right, right, at)
    jump = right - left
    kinks = (jump > 1e-3 * np.abs(rise)) & (jump > 1e-7 * (np.abs(left) + np.abs(right)))
    return float(lo[np.flatnonzero(kinks)[0]]) if kinks.any() else None
