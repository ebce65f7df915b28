"""Products with some rows of a CSR, which are not copied."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._base.typing import Array, IntArray


class PickedRows:
    """X_r w and X_rᵀ u for some rows r.

    Parameters
    ----------
    whole : Compressed
        All rows, of which there are ``n``.
    n : int
    rows : ndarray of int64
    """

    def __init__(self, whole: _core.Compressed, n: int, rows: IntArray) -> None:
        self.whole, self.n, self.picked = whole, n, rows

    def matvec(self, w: Array) -> Array:
        """X_r w."""
        return _core.gather_picked(self.whole, np.ascontiguousarray(w), self.picked)

    def rmatvec(self, u: Array) -> Array:
        """X_rᵀ u: a scatter that passes over rows without a share."""
        shares = np.zeros(self.n)
        shares[self.picked] = u
        return _core.scatter(self.whole, shares)
