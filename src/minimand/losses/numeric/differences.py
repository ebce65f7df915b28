"""The curvature of a loss of k scores of which the gradient is known, by central differences.

Steps built with it are tested by a line search, and the referee does not read it: its errors, some
1e-10 of its size, cost at most a little speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._base.typing import Array
from ..curvature import Operator

if TYPE_CHECKING:
    from ..base import Loss

_STEP = float(np.finfo(float).eps) ** (1 / 3)  # of a score, relative; the best for such differences
_MOST_SCORES = 32  # scores of which blocks k×k are formed for every row; safeguard of memory


def differenced(loss: Loss, z: Array, y: Array) -> Operator:
    """A block k×k for every row; with very many scores, differences along every product."""
    step = _STEP * (1.0 + np.abs(z).max(axis=1, initial=0.0))
    if z.shape[1] > _MOST_SCORES:
        return _along(loss, z, y, step)
    blocks = _blocks(loss, z, y, step)
    values, vectors = np.linalg.eigh(blocks)
    values = np.maximum(values, 0.0)  # of a convex loss; less is rounding
    blocks = (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)
    bound = np.repeat(values[:, -1:], z.shape[1], axis=1)
    return Operator(lambda t: np.einsum("nce,ne->nc", blocks, t), bound)


def _blocks(loss: Loss, z: Array, y: Array, step: Array) -> Array:
    """The derivative of the gradient in every score, made symmetric."""
    n, k = z.shape
    blocks = np.empty((n, k, k))
    for c in range(k):
        ahead, behind = z.copy(), z.copy()
        ahead[:, c] += step
        behind[:, c] -= step
        rise = loss.gradient(ahead, y) - loss.gradient(behind, y)
        blocks[:, :, c] = rise / (ahead[:, c] - behind[:, c])[:, None]
    blocks = 0.5 * (blocks + blocks.transpose(0, 2, 1))
    return np.where(np.isfinite(blocks), blocks, 0.0)


def _along(loss: Loss, z: Array, y: Array, step: Array) -> Operator:
    """Two gradients for every product; the bound must be known."""
    if not np.isfinite(loss.smoothness):
        raise NotImplementedError(
            f"{type(loss).__name__} must define curvature(z, y), or, with more than {_MOST_SCORES} "
            "scores, the number `smoothness` that no eigenvalue of it exceeds."
        )

    def product(t: Array) -> Array:
        size = np.abs(t).max(axis=1, initial=0.0)
        share = (step / np.where(size > 0, size, 1.0))[:, None]
        ahead, behind = loss.gradient(z + share * t, y), loss.gradient(z - share * t, y)
        return np.asarray((ahead - behind) / (2.0 * share))

    return Operator(product, np.full(z.shape, float(loss.smoothness)))
