"""Columns of the kernel (Λ − aK)⁻¹ over the mean degree, by which labels spread over a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..._base.typing import Array, IntArray
from ..._base.watch import look

_ACCURACY = 1e-13  # of the residual; safeguard: the kernel of labelled rows is symmetric then
_STEPS = 10_000  # of conjugate gradients; safeguard: √((1 + a)/(1 − a)) times 30 are enough


def spread_from(matrix: Any, a: float, rows: IntArray) -> Array:
    """λ̄(Λ − aK)⁻¹ at the given columns, (n, len(rows)); λ̄ is the mean of Λ = Δ(K1).

    With S = Λ^-½KΛ^-½ it is λ̄Λ^-½(I − aS)⁻¹Λ^-½, and I − aS has eigenvalues in [1 − a, 1 + a].
    """
    n = matrix.shape[0]
    degrees = np.asarray(matrix.sum(axis=1), dtype=float).ravel()
    scale = 1.0 / np.sqrt(degrees)
    right = np.zeros((n, rows.size))
    right[rows, np.arange(rows.size)] = scale[rows]
    if sparse.issparse(matrix):
        found = _conjugate_gradients(matrix, scale, a, right)
    else:
        square = -a * (np.asarray(matrix) * np.outer(scale, scale))
        square[np.diag_indices(n)] += 1.0
        found = linalg.solve(square, right, assume_a="pos", overwrite_a=True)
    return float(degrees.mean()) * scale[:, None] * found


def _conjugate_gradients(matrix: Any, scale: Array, a: float, right: Array) -> Array:
    """(I − aS)⁻¹ right, all columns at once, each with its own steps."""
    side = scale[:, None]

    def product(x: Array) -> Array:
        return np.asarray(x - a * (side * (matrix @ (side * x))))

    x, r = np.zeros_like(right), right.copy()
    p, square = r.copy(), np.einsum("ij,ij->j", r, r)
    goal = _ACCURACY**2 * square
    for _ in range(_STEPS):
        look()
        if (square <= goal).all():
            break
        image = product(p)
        below = np.einsum("ij,ij->j", p, image)
        step = np.divide(square, below, out=np.zeros_like(square), where=below > 0)
        x += step * p
        r -= step * image
        now = np.einsum("ij,ij->j", r, r)
        p = r + np.divide(now, square, out=np.zeros_like(now), where=square > 0) * p
        square = now
    return x
