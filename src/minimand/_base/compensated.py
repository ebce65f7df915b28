"""Residuals target − matrix·factor in about twice the working precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .typing import Array

_PARTS = 4  # slices of a factor; definition: at least 20 bits each, so 80 in total
_CHUNK = 1 << 20  # numbers of a dense matrix sliced at a time, 8 MB; safeguard


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum a + b, and its rounding error, exactly."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def remainder(
    matrix: Any, factor: tuple[Array, Array], target: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Target − matrix·factor as a sum of two arrays, accurate where the difference cancels.

    ``factor`` and ``target`` are unevaluated sums of two arrays each, (m, k) and (n, k); the matrix
    is dense or CSR or CSC. Both factors are cut into slices of so few bits that products of two
    slices are integers below 2⁵³ in some unit, which BLAS adds up without rounding. The sum over
    the slices is compensated: the error is about 2⁻⁸⁰ of the largest product.
    """
    n, m = matrix.shape
    high, low = target[0].copy(), target[1].copy()
    if m:
        bits = (53 - int(np.ceil(np.log2(m + 1)))) // 2
        parts = list(_slices(factor[0], factor[1], bits))
        for rows in _row_chunks(matrix, n, m):
            for i, piece in enumerate(_matrix_slices(matrix[rows], bits)):
                for part in parts[: _PARTS - i]:
                    high[rows], error = two_sum(high[rows], -np.asarray(piece @ part))
                    low[rows] += error
    return two_sum(high, low)


def _row_chunks(matrix: Any, n: int, m: int) -> Iterator[slice]:
    """All rows of a sparse matrix at once; of a dense one, about `_CHUNK` numbers at a time."""
    step = n if sparse.issparse(matrix) else max(1, _CHUNK // m)
    for start in range(0, n, max(step, 1)):
        yield slice(start, start + step)


def _matrix_slices(matrix: Any, bits: int) -> Iterator[Any]:
    if not sparse.issparse(matrix):
        yield from _slices(np.asarray(matrix, dtype=float), None, bits)
        return
    for values in _slices(np.asarray(matrix.data, dtype=float), None, bits):
        piece = matrix.astype(float)
        piece.data = values
        yield piece


def _slices(high: Array, low: Array | None, bits: int) -> Iterator[Array]:
    """High + low as a sum of multiples of 2⁻ᵇ, 2⁻²ᵇ, … of its largest number."""
    largest = float(np.abs(high).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return
    unit = 2.0 ** np.ceil(np.log2(largest))
    for _ in range(_PARTS):
        unit *= 2.0**-bits
        part = np.rint(high / unit) * unit
        yield part
        high = high - part
        if low is not None:
            high, low = two_sum(high, low)
        if not high.any():
            return
