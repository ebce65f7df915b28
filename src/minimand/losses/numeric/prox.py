"""The proximal point of any convex loss of one score, by safeguarded Newton."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._base.typing import Array
from .bracket import midpoint

if TYPE_CHECKING:
    from ..base import Loss


def proximal_point(loss: Loss, z: Array, y: Array, step: float | Array) -> Array:
    """argmin_t ℓ(t, y) + (t − z)²/(2·step): the root of t − z + step·ℓ'(t, y), which increases."""
    z = np.asarray(z, float)
    if np.any(np.asarray(step) <= 0):
        raise ValueError("step must be positive.")
    with np.errstate(over="ignore", invalid="ignore"):
        lo, hi = _bracket(loss, z, y, step)
        t = 0.5 * (lo + hi)
        for i in range(400):
            residual = t - z + step * loss.gradient(t, y)
            lo, hi = np.where(residual < 0, t, lo), np.where(residual > 0, t, hi)
            if np.all(hi - lo <= 4e-16 * np.maximum(1.0, np.abs(t))):
                break
            newton = t - residual / (1.0 + step * loss.curvature(t, y))
            # Newton's method may be slow on an exponential: every other step halves the bracket.
            inside = (newton > lo) & (newton < hi) & (i % 2 == 0)
            new = np.where(residual == 0, t, np.where(inside, newton, midpoint(lo, hi)))
            t = new
    return t


def _bracket(loss: Loss, z: Array, y: Array, step: float | Array) -> tuple[Array, Array]:
    """The root lies between z and z − step·ℓ'(z, y), because ℓ' increases."""
    slope = loss.gradient(z, y)
    other = z - step * slope
    other = np.where(np.isfinite(other), other, -np.sign(slope) * 1e300)
    return np.minimum(z, other), np.maximum(z, other)
