"""Blocks of rows, so that temporaries need not be as long as the data."""

from __future__ import annotations

from typing import Any

from .. import _core
from .typing import Array

ROWS = 1 << 17  # rows of a block, 1 MB per vector; safeguard: temporaries stay in a cache


def in_parts(*rowwise: Array) -> list[tuple[Array, ...]]:
    """Views of arrays of one length, `ROWS` rows at a time; all rows at once if they are few."""
    n_rows = len(rowwise[0])
    if 0 < n_rows <= ROWS:
        return [rowwise]
    starts = range(0, n_rows, ROWS)
    return [tuple(array[start : start + ROWS] for array in rowwise) for start in starts]


def weighted_sum(mass: Array, values: Array) -> Any:
    """Σ massᵢ·valuesᵢ; of several numbers a row, one sum for each."""
    return _core.dot(mass, values) if values.ndim == 1 else mass @ values
