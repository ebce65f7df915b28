"""Products with a sparse design of which few pairs of a column and a label have a weight.

Columns that occur once or twice, as most features of text, have one or two weights of k possible
ones. These are stored as single numbers, with the places of the scores that they add to; only
columns with many weights have a row of all labels. The products then do not touch the empty rest.
"""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array, IntArray
from ...design import SparseDesign

_SHARE = 4  # columns with fewer than k/4 weights may be stored by weights; safeguard
_RARE = 8  # entries of a column up to which it is; safeguard: a common row stays in the cache


class PairProducts:
    """Scores from the weights that exist, and back; ``coef`` holds their places in a (d, k) table.

    Scores have ``width`` columns, of which the first k are used.
    """

    def __init__(self, design: SparseDesign, coef: IntArray, k: int, width: int) -> None:
        column, label = np.divmod(coef, k)
        x = design.by_column
        few = np.bincount(column, minlength=x.shape[1]) < max(k // _SHARE, 1)
        few &= np.diff(x.indptr) <= _RARE
        thin = few[column]
        self._size = coef.size
        self._by_row, self._by_weight = np.flatnonzero(~thin), np.flatnonzero(thin)
        wide = np.flatnonzero(~few)
        place = np.cumsum(~few) - 1
        self._places = place[column[self._by_row]] * width + label[self._by_row]
        self._table = np.zeros((wide.size, width))
        rows = design.by_row[:, wide]
        self._design, self._across = SparseDesign(rows), SparseDesign(rows.tocsc())
        own = column[self._by_weight]
        sizes = np.diff(x.indptr)[own]
        first = np.cumsum(sizes) - sizes
        entry = np.arange(int(sizes.sum())) + np.repeat(x.indptr[own] - first, sizes)
        self._weight = np.repeat(np.arange(own.size), sizes)
        self._score = x.indices[entry].astype(np.int64) * width
        self._score += np.repeat(label[self._by_weight], sizes)
        self._values = np.asarray(x.data[entry], dtype=float)

    def scores(self, coef: Array) -> Array:
        """X·W, (n_tokens, width)."""
        self._table.flat[self._places] = coef[self._by_row]
        found = self._design.matvec(self._table)
        np.add.at(
            found.reshape(-1), self._score, self._values * coef[self._by_weight][self._weight]
        )
        return found

    def slope(self, of_scores: Array) -> Array:
        """Xᵀ·U at the weights that exist."""
        found = np.empty(self._size)
        found[self._by_row] = self._across.rmatvec(of_scores).reshape(-1)[self._places]
        parts = self._values * of_scores.reshape(-1)[self._score]
        found[self._by_weight] = np.bincount(self._weight, parts, self._by_weight.size)
        return found
