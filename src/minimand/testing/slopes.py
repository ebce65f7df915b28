"""Checks that values, slopes and curvatures of a loss agree, and that it is convex if claimed."""

from __future__ import annotations

import numpy as np

from .._base.typing import Array, BoolArray
from ..losses import Loss
from ..problem.objective import EPS
from .axis import rounding_of
from .require import require, require_all


def check_extremes(loss: Loss, y: float) -> None:
    """Nothing is NaN at scores of any size."""
    z = np.array([-1e8, -1e3, 1e3, 1e8])
    ys = np.full(4, y)
    u = loss.into_domain(np.zeros(4), ys)
    for name, result in (
        ("value", loss.value(z, ys)),
        ("gradient", loss.gradient(z, ys)),
        ("curvature", loss.curvature(z, ys) if loss.smooth else np.zeros(4)),
        ("fenchel_young", loss.fenchel_young(z, u, ys)),
        ("transform", loss.transform(z)),
    ):
        require_all(~np.isnan(result), f"{loss!r}: {name} is NaN", z=z, y=ys)


def check_terms(loss: Loss, z: Array, y: Array) -> None:
    """`terms` are value, gradient and curvature, one number per sample, strided input or not."""
    strided = np.repeat(z, 2)[::2]
    parts = [loss.value(z, y), loss.gradient(z, y)]
    if loss.smooth:
        parts.append(loss.curvature(z, y))
    for name, one, other, part in zip(
        ("value", "gradient", "curvature"), loss.terms(z, y), loss.terms(strided, y), parts
    ):
        require(part.shape == z.shape, f"{loss!r}: {name} must give one number per sample.")
        size = 1e-11 * np.maximum(np.abs(part), 1e-12)
        same = (np.abs(one - part) <= size) | (one == part)
        again = (np.abs(other - part) <= size) | (other == part)
        require_all(same & again, f"{loss!r}: terms differ from {name}", z=z, y=y)


def check_slopes(loss: Loss, z: Array, y: Array) -> None:
    """(ℓ(z) − ℓ(z−h))/h ≤ ℓ'(z) ≤ (ℓ(z+h) − ℓ(z))/h for every h; ℓ'' is the limit for ℓ'."""
    size = np.maximum(np.minimum(np.abs(z), np.abs(z - y)), 0.1)
    slope = loss.gradient(z, y)
    bends = np.zeros(z.shape, dtype=bool)
    for relative in (1e-2, 1e-3, 1e-4, 1e-5):
        step = (z + relative * size) - z
        here, above, below = loss.value(z, y), loss.value(z + step, y), loss.value(z - step, y)
        noise = (
            rounding_of(loss, z, y)
            + rounding_of(loss, z + step, y)
            + rounding_of(loss, z - step, y)
        ) / step
        inside = (slope <= (above - here) / step + noise) & (slope >= (here - below) / step - noise)
        inside |= ~np.isfinite(above) | ~np.isfinite(below)
        require_all(inside, f"{loss!r}: the gradient is not the slope of the value", z=z, y=y)
        if loss.smooth:
            bends |= _bend_fits(loss, z, y, step, slope)
    if loss.smooth and not bends.all():
        bends |= _bend_is_singular(loss, z, y, size)
    sentence = f"{loss!r}: the curvature is not the slope of the gradient"
    require_all(bends | (not loss.smooth), sentence, z=z, y=y)


def _bend_fits(loss: Loss, z: Array, y: Array, step: Array, slope: Array) -> BoolArray:
    """Whether ℓ'' lies between the quotients of ℓ' on both sides, up to its change over a step."""
    bend = loss.curvature(z, y)
    require_all(bend >= 0, f"{loss!r}: the curvature is negative", z=z, y=y)
    right, left = loss.gradient(z + step, y), loss.gradient(z - step, y)
    ahead, behind = (right - slope) / step, (slope - left) / step
    size = np.abs(right) + np.abs(left) + np.abs(y) + (1.0 + bend) * np.abs(z)
    # The quotients span z ± step, over which the curvature may change by some share of itself.
    slack = 64 * EPS * size / step + 0.02 * step * np.maximum(bend, np.maximum(ahead, behind))
    slack += 1e-6 * bend
    inside = bend >= np.minimum(ahead, behind) - slack
    inside &= bend <= np.maximum(ahead, behind) + slack
    return inside | ~np.isfinite(right) | ~np.isfinite(left)


def _bend_is_singular(loss: Loss, z: Array, y: Array, size: Array) -> BoolArray:
    """Points such as r = 0 of |r|^p, where quotients of ℓ' go to 0 or ∞ with the step.

    There ℓ'' must lie on the side to which the quotients go.
    """
    bend, slope = loss.curvature(z, y), loss.gradient(z, y)
    wide, narrow = (
        np.stack([(loss.gradient(z + h, y) - slope) / h, (slope - loss.gradient(z - h, y)) / h])
        for h in ((z + 1e-2 * size) - z, (z + 1e-5 * size) - z)
    )
    growing = (narrow > 1.03 * wide).all(axis=0) & (bend >= narrow.max(axis=0))
    fading = (wide > 1.03 * narrow).all(axis=0) & (bend <= narrow.min(axis=0))
    return growing | fading


def check_steps(loss: Loss, z: Array, y: Array) -> None:
    """The gradient is the limit of difference quotients from at least one side."""
    slope, fits = loss.gradient(z, y), np.zeros(z.shape, dtype=bool)
    size = np.maximum(np.minimum(np.abs(z), np.abs(z - y)), 0.1)
    for relative in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        step = (z + relative * size) - z
        around = [loss.value(z + k * step, y) for k in (-1, 0, 1)]
        noise = (
            rounding_of(loss, z, y)
            + rounding_of(loss, z + step, y)
            + rounding_of(loss, z - step, y)
        ) / step
        left, right = (around[1] - around[0]) / step, (around[2] - around[1]) / step
        both = (around[2] - around[0]) / (2 * step)
        for quotient in (left, right, both):
            near = 1e-4 * np.maximum(np.abs(quotient), np.abs(slope))
            fits |= np.abs(quotient - slope) <= near + noise
    require_all(fits, f"{loss!r}: the gradient is not the slope of the value", z=z, y=y)


def check_tangents(loss: Loss, z: Array, y: Array) -> None:
    """ℓ(b) ≥ ℓ(a) + ℓ'(a)(b − a) on all pairs."""
    value, slope = loss.value(z, y), loss.gradient(z, y)
    tangent = value[:, None] + slope[:, None] * (z[None, :] - z[:, None])
    slack = rounding_of(loss, z, y)
    slack = slack[:, None] + slack[None, :] + 8 * EPS * np.abs(tangent)
    sentence = f"{loss!r}: a tangent lies above the loss, so it is not convex"
    require_all(value[None, :] >= tangent - slack, sentence, tangent_at=z[:, None], z=z[None, :])


def check_piecewise_form(loss: Loss, z: Array, y: Array) -> None:
    """The piecewise form, if there is one, is the loss."""
    plq = loss.plq(y)
    if plq is None:
        return
    t = plq.at(z)
    value, slope, _ = plq.pieces.terms(t)
    noise = rounding_of(loss, z, y) + 64 * EPS * float(np.max(np.abs(plq.pieces.values)))
    same = np.abs(value - loss.value(z, y)) <= noise
    require_all(same, f"{loss!r}: value differs from its pieces", z=z, y=y)
    away = np.abs(t[:, None] - plq.pieces.knots).min(axis=1) > 1e-9 * (1 + np.abs(z) + np.abs(y))
    steep = np.abs(slope) * 1e-12 + 1e-12
    same = ~away | (np.abs(plq.sign * slope - loss.gradient(z, y)) <= steep)
    require_all(same, f"{loss!r}: gradient differs from its pieces", z=z, y=y)
