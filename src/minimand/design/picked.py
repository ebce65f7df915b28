"""Products with some rows of a design, which are copied only where that is faster."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._base.typing import Array, IntArray
from .base import Design
from .sparse import SparseDesign

_FEW = 8  # inverse share of rows, below which a copy of them is read faster; safeguard


class PickedRows:
    """X_r w and X_rᵀ u for some rows r.

    Parameters
    ----------
    whole : Compressed
        All rows.
    rows : ndarray of int64
    """

    def __init__(self, whole: _core.Compressed, rows: IntArray) -> None:
        self.whole, self.picked = whole, rows

    def matvec(self, w: Array) -> Array:
        """X_r w."""
        return _core.gather_picked(self.whole, np.ascontiguousarray(w), self.picked)

    def rmatvec(self, u: Array) -> Array:
        """X_rᵀ u."""
        return _core.scatter_picked(self.whole, np.ascontiguousarray(u), self.picked)


def row_products(design: Design, rows: IntArray) -> Design | PickedRows:
    """What multiplies these rows: the design itself for all, a CSR where it is, else a copy."""
    n = design.shape[0]
    if rows.size == n:
        return design
    if isinstance(design, SparseDesign) and design.x.format == "csr" and _FEW * rows.size >= n:
        lines = design.row_lines
        assert isinstance(lines, _core.Compressed)
        return PickedRows(lines, rows)
    return design.rows(rows)
