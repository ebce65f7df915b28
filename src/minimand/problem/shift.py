"""The best intercepts for k scores, or for units of more than one row, by Newton's method.

φ(b) = Σ mass·ℓ(z + b, y) is convex in b, which has a number for every score. Its second derivative
is a k×k matrix, which is singular if a shift of all scores changes nothing (the softmax): then
the shortest step is taken, so that the intercepts keep their sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array
from ..losses import Loss
from ..losses.curvature import as_curvature
from .point import EPS

_HALVINGS = 60  # halvings of a step that does not lower φ; safeguard
_RANK = 1e-12  # share of the largest eigenvalue, below which one counts as zero; safeguard
_ROUNDING = 1e-9  # share of its terms, below which a slope counts as rounding; safeguard
_BLOCK = 1 << 15  # numbers in a block of rows, 256 kB; safeguard: temporaries stay in a cache
_LOWER = 1e-4  # share of the slope by which a step must lower φ; convention (Armijo's rule)


def newton_shift(risk: Any, z: Array, steps: int = 200) -> Any:  # steps: safeguard
    """The b that minimises Σ mass·ℓ(z + b, y): a float for one score, else an array."""
    b = np.zeros(z.shape[1:])
    with np.errstate(over="ignore", invalid="ignore"):
        value, slope, size, hessian = _at(risk, z, b)
        largest = float(np.abs(z).max(initial=0.0))
        for _ in range(steps):
            if (np.abs(slope) <= EPS * size).all():
                break
            step = _downhill(hessian, slope, size)
            # A score is rounded by its last place, and the loss by that times its slope.
            noise = 8 * EPS * (abs(value) + float(np.max(size)) * largest)
            found = _line_search(risk, z, b, step, value, slope, noise)
            if found is None:
                break
            before, near = float(np.abs(slope).max()), (np.abs(slope) <= _ROUNDING * size).all()
            share, b, (value, slope, size, hessian) = found
            if near and share == 1.0:
                break  # Newton doubles the digits, so the rest is rounding
            # Where φ no longer changes in floating point, steps go on while the slope falls.
            if float(np.abs(slope).max()) >= before and (np.abs(slope) <= 1e-10 * size).all():
                break
    return float(b) if b.ndim == 0 else b


def _at(risk: Any, z: Array, b: Array) -> tuple[float, Array, Array, Array]:
    """The mean loss at z + b, its slope, the size of its terms, and its second derivative."""
    if risk.units is not None:
        return _sums(risk.loss, z + b, risk.y, risk.mass, risk.row_mass)
    rows = max(1, _BLOCK // max(b.size, 1))
    parts = [slice(start, start + rows) for start in range(0, len(z), rows)]
    found = [_sums(risk.loss, z[p] + b, risk.y[p], risk.mass[p], risk.mass[p]) for p in parts]
    value, slope, size, hessian = (sum(each) for each in zip(*found))
    return value, slope, size, hessian


def _sums(
    loss: Loss, z: Array, y: Array, mass: Array, row_mass: Array
) -> tuple[float, Array, Array, Array]:
    value, gradient, curvature = loss.terms(z, y)
    hessian = as_curvature(curvature).weighted(row_mass).over_scores()
    slope, size = np.asarray(row_mass @ gradient), np.asarray(row_mass @ np.abs(gradient))
    return float(mass @ value), slope, size, hessian


def _downhill(hessian: Array, slope: Array, size: Array) -> Array:
    """The Newton step; along directions with a slope but no curvature, one unit."""
    flat = np.atleast_1d(slope)
    if not np.isfinite(hessian).all() or not np.isfinite(flat).all():
        return -np.sign(np.nan_to_num(slope))
    values, vectors = np.linalg.eigh(hessian)
    most = float(values[-1])
    along = vectors.T @ flat
    kept = values > _RANK * most
    step = np.where(kept, along / np.where(kept, values, 1.0), 0.0)
    lost = ~kept & (np.abs(along) > _ROUNDING * float(size.max()))
    step = np.where(lost, np.sign(along), step)
    return np.asarray(-(vectors @ step)).reshape(slope.shape)


def _line_search(
    risk: Any, z: Array, b: Array, step: Array, value: float, slope: Array, noise: float
) -> tuple[float, Array, tuple[float, Array, Array, Array]] | None:
    """The first share of the step, halved each time, that lowers the mean loss, and where it ends.

    None if only rounding is left.
    """
    fall = float(np.sum(slope * step))
    share = 1.0
    for _ in range(_HALVINGS):
        new = b + share * step
        if (new == b).all():
            return None
        found = _at(risk, z, new)
        # False for NaN; a value that is equal up to rounding counts as not worse.
        if found[0] <= value + _LOWER * share * min(fall, 0.0) + noise:
            return share, new, found
        share *= 0.5
    return None
