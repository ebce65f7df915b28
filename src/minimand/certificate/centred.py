"""Scatter matrices about weighted means, what was subtracted to get them, and squared norms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._base.typing import Array
from ..design import Design
from ..design.dense import DenseDesign

_MOST = 9.0  # traces that may be subtracted before rows are centred again; safeguard: one digit


class Scattered(NamedTuple):
    """Σ s(x − x̄)(x − x̄)ᵀ, x̄, and the trace that was subtracted: its rounding stays."""

    matrix: Array
    mean: Array
    removed: float


def scattered(design: Design, weights: Array) -> Scattered:
    """The scatter of the rows about their weighted mean.

    Dense rows are centred about the mean of some of them while they are multiplied. Where a few
    rows have most of the weight, that can be far from the weighted mean: then they are centred
    about this one, in a second pass.
    """
    matrix, mean = design.covariance(weights)
    centre = design.centre if isinstance(design, DenseDesign) else 0.0
    removed = float(weights.sum()) * float(np.square(mean - centre).sum())
    if isinstance(design, DenseDesign) and too_much(removed, matrix):
        matrix, mean = design.with_centre(mean).covariance(weights)
        removed = 0.0
    return Scattered(matrix, mean, removed)


def too_much(removed: float, matrix: Array) -> bool:
    """Whether digits have cancelled when this was subtracted from the trace of a scatter."""
    return removed > _MOST * float(np.trace(matrix))


def scaled_squares(K: Any, scale: Array) -> float:
    """‖Δ(scale) K Δ(scale)‖²_F."""
    squared = scale**2
    if sparse.issparse(K):
        return float(squared @ (K.multiply(K) @ squared))
    total = 0.0
    for start in range(0, K.shape[0], 512):  # rows; safeguard: temporaries stay small
        part = np.asarray(K[start : start + 512], dtype=float)
        total += float(squared[start : start + 512] @ ((part * part) @ squared))
    return total
