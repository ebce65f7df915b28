"""The best intercepts of k classes for a loss of class margins: the proximal point method.

φ(b) = Σ mass·ℓ(z + b, y) is piecewise linear in k numbers. Dual ascent over the rows minimises
φ(b) + ‖b − centre‖²/(2·step) and then moves the centre; a piecewise linear function is minimised
after finitely many such moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import _core
from ..._base.typing import Array, IntArray

if TYPE_CHECKING:
    from .class_margins import ClassMargins

_SHARE = 1e-11  # share of the mean loss up to which it is minimised; safeguard: near rounding
_SWEEPS = 64  # sweeps of one run; safeguard
_RUNS = 60  # runs; safeguard
_WORK = 3e8  # numbers visited in all runs; safeguard: about a second


def best_class_shift(loss: ClassMargins, z: Array, y: Array, mass: Array) -> Array:
    """The b that minimises Σ mass·ℓ(z + b, y), with Σb = 0."""
    z, labels, mass = _distinct(z, np.ascontiguousarray(y, dtype=np.int64), mass)
    n, k = z.shape
    targets = labels.astype(float)
    cost, weights = loss.costs(k), loss.order_weights(k)
    order = np.flatnonzero(mass).astype(np.uint32)
    if not order.size or not np.isfinite(z).all():
        return np.zeros(k)
    reach = 1.0 + float(mass @ np.abs(z - z.mean(axis=1, keepdims=True)).max(axis=1))
    b = np.zeros(k)
    changed = (np.zeros((n, k)), np.zeros((n, k)), np.zeros((0, k)), b, order)
    arrays = (labels, cost, weights, z, mass, np.zeros(n))
    clock = (reach, order.size, np.inf)
    best, least = np.zeros(k), float(mass @ loss.value(z, targets))
    for run in range(max(2, min(_RUNS, int(_WORK / (_SWEEPS * n * k))))):
        if not least > 0:
            break
        clock, _, gap = _core.class_rows_dense(
            np.empty((n, 0)), arrays, np.ones(1), (True, reach), changed, clock,
            _SWEEPS, _SHARE * least, run,
        )  # fmt: skip
        moved = b - b.mean()
        found = float(mass @ loss.value(z + moved, targets))
        if found < least:
            best, least = moved, found
        if gap <= _SHARE * least:
            break
    return best


def _distinct(z: Array, labels: IntArray, mass: Array) -> tuple[Array, IntArray, Array]:
    """One row per class if all rows of a class have the same scores, as in a null model."""
    present, first, member = np.unique(labels, return_index=True, return_inverse=True)
    if present.size == len(z) or not (z == z[first][member]).all():
        return np.ascontiguousarray(z, dtype=float), labels, mass
    return z[first], present, np.asarray(np.bincount(member, weights=mass), dtype=float)
