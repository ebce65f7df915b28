"""Products with a sparse design of which few pairs of a column and a label have a weight.

Columns that occur once or twice, as most features of text, have one or two weights of k possible
ones. These are stored as single numbers, with the places of the scores that they add to; only
columns with many weights have a row of all labels. The products then do not touch the empty rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...._base.typing import AnyArray, Array, IntArray
from ....design import SparseDesign

_SHARE = 4  # columns with fewer than k/4 weights may be stored by weights; safeguard
_RARE = 32  # entries of such columns at most: rows of common ones stay cached; measured, CoNLL


class TokenEntries(NamedTuple):
    """The features of every token: rows of the table of weights, and single weights of a label."""

    starts: IntArray
    columns: AnyArray
    values: Array
    single_starts: IntArray
    singles: AnyArray
    labels: AnyArray
    single_values: Array

    @staticmethod
    def of(x: Any) -> TokenEntries:
        """The features of a CSR matrix of which every column has a row in the table."""
        none, zeros = np.empty(0, np.int32), np.zeros(x.shape[0] + 1, np.int64)
        own = x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data.astype(np.float64)
        return TokenEntries(*own, zeros, none, none, np.empty(0))


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
        self._size, self._width = coef.size, width
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

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of the table, and single weights."""
        return self._table.shape[0], self._by_weight.size

    @property
    def of_table(self) -> tuple[IntArray, IntArray]:
        """The weights that have a row of the table, rising, and their places in it."""
        return self._by_row, self._places

    @property
    def entries(self) -> TokenEntries:
        """The same features token by token."""
        known = TokenEntries.of(self._design.by_row)
        token, label = np.divmod(self._score, self._width)
        order = np.argsort(token, kind="stable")
        counts = np.bincount(token, minlength=known.starts.size - 1)
        return known._replace(
            single_starts=np.append(0, np.cumsum(counts)).astype(np.int64),
            singles=self._weight[order].astype(np.int32),
            labels=label[order].astype(np.int32),
            single_values=self._values[order],
        )

    def fill(self, coef: Array, table: Array) -> Array:
        """Fill in the rows of the table; the single weights."""
        table.flat[self._places] = coef[self._by_row]
        return coef[self._by_weight]

    def gathered(self, table: Array, singles: Array) -> Array:
        """The weights that exist, from the table and single ones."""
        found = np.empty(self._size)
        found[self._by_row] = table.reshape(-1)[self._places]
        found[self._by_weight] = singles
        return found

    def scores(self, coef: Array) -> Array:
        """X·W, (n_tokens, width)."""
        singles = self.fill(coef, self._table)
        found = self._design.matvec(self._table)
        np.add.at(found.reshape(-1), self._score, self._values * singles[self._weight])
        return found

    def slope(self, of_scores: Array) -> Array:
        """Xᵀ·U at the weights that exist."""
        parts = self._values * of_scores.reshape(-1)[self._score]
        singles: Array = np.bincount(self._weight, parts, self._by_weight.size).astype(float)
        return self.gathered(self._across.rmatvec(of_scores), singles)
