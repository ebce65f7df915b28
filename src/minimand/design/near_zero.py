"""Sparse matrices with columns that are far from zero, such as years: shifted where they are full.

Sums of squares about means do not change with such a shift, but without it they are differences of
large numbers. A column whose mean is far larger than its spread has almost no zeros, so that it
takes no more memory when its mean is subtracted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._base.typing import Array
from .base import Design
from .sparse import SparseDesign

_SPREAD = 1e-2  # variance as a share of mean², below which a column is shifted; safeguard: 2 digits
_STORED = 0.9  # share of its numbers that such a column stores at least; safeguard: memory


class NearZero(NamedTuple):
    """The rows x − shift; the design itself, and zeros, where no column was shifted."""

    design: Design
    shift: Array


def near_zero(design: Design) -> NearZero:
    """Full columns of a sparse matrix that are far from zero, shifted by about their means."""
    n, d = design.shape
    shift = np.zeros(d)
    if not isinstance(design, SparseDesign):
        return NearZero(design, shift)
    stored = design.column_sizes >= _STORED * n
    if not stored.any():
        return NearZero(design, shift)
    first, second = design.moments(np.full(n, 1.0 / n))
    far = np.flatnonzero(stored & (second - first * first < _SPREAD * first * first))
    if not far.size:
        return NearZero(design, shift)
    x = design.by_row
    # In the precision of x, where the difference of numbers close to each other is exact.
    middle = first[far].astype(x.dtype)
    parts = np.tile(middle, n), np.tile(far, n), far.size * np.arange(n + 1)
    shift[far] = middle
    return NearZero(SparseDesign(x - sparse.csr_array(parts, shape=(n, d))), shift)
