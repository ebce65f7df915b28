"""Sums over pairs of items of a query, in O(n log n): scores are sorted, and partners are counted.

Q(z; c) = Σ ½max(0, c − m)²,   m = zᵢ − zⱼ over the pairs of a query with yᵢ > yⱼ
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.threads import one_blas_thread
from ..._base.typing import Array, IntArray
from ..curvature import Columns, Curvature, beside

_MOST_LEVELS = 4096  # integers of y that are used as they are; safeguard: others are renumbered


class Items(NamedTuple):
    """The rows of a loss over queries, sorted for sums over pairs."""

    z: Array  # minus a constant of the query
    level: Any  # of y, 0, 1, 2, …, as int32
    units: IntArray
    order: Any  # rows of every query by decreasing score
    pairs: Array  # of every query: how many there are, at least 1

    def sums(self, margin: float, values: Array) -> tuple[Array, Array, Array]:
        """Active pairs above and below every row, and sums of its values minus its partners'."""
        values = np.ascontiguousarray(values)
        return _core.pair_sums(self.z, self.level, self.units, self.order, values, margin)

    @property
    def share(self) -> Array:
        """For every row 1 divided by the pairs of its query."""
        return np.repeat(1.0 / self.pairs, np.diff(self.units))


class Hinges(NamedTuple):
    """Q(z; c) = Σ ½max(0, c − m)² over the pairs of every query, its slope, and Σ max(0, c − m)."""

    value: Array  # by query
    slope: Array  # by row
    linear: Array  # by query
    balance: Array  # by row: active pairs below minus above, the slope of `linear`
    laplacian: Laplacian


class OfPairs(Curvature):
    """A curvature over pairs of rows, whose products take several columns at once."""

    def gram(self, design: Columns, columns: IntArray | None = None) -> Array:
        """Xᵀ(H X), all columns in one sweep over the pairs."""
        part = design if columns is None else design.columns(columns)
        dense = np.ascontiguousarray(part.map_rows(_dense), dtype=float)
        image = self.times(dense)
        with one_blas_thread():  # a second thread costs more than it saves on so few columns
            return np.asarray(dense.T @ image)


@dataclass(frozen=True, eq=False)
class Laplacian(OfPairs):
    """Σ factor·(curvature of Q(z; c)): differences of scores over the active pairs."""

    items: Items
    margins: tuple[float, ...]
    factors: tuple[float, ...]
    scale: Array  # of every row
    degrees: Array  # active pairs of every row at the largest margin

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape of z."""
        return self.items.z.shape

    def times(self, t: Array) -> Array:
        """Σ factor·(sums of tᵢ − tⱼ over the partners j of i)."""
        (first, *margins), (factor, *factors) = self.margins, self.factors
        found = self.items.sums(first, t)[2]
        for margin, other in zip(margins, factors):
            more = self.items.sums(margin, t)[2]
            more *= other / factor
            found += more
        found *= beside(factor * self.scale, found)
        return found

    def weighted(self, weights: Array) -> Laplacian:
        """Weights times the scale."""
        return replace(self, scale=self.scale * weights)

    @property
    def bound(self) -> Array:
        """Twice the degrees: a Laplacian is at most twice its diagonal."""
        return 2.0 * self.factors[0] * self.scale * self.degrees


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def hinges(items: Items, margin: float) -> Hinges:
    """Q(z; margin) and Σ max(0, margin − m), with their slopes: all divided by a query's pairs."""
    found = _core.pair_hinges(margin, items.z, items.level, items.units, items.order)
    square, slope, linear, balance, degrees = found
    laplacian = Laplacian(items, (margin,), (1.0,), items.share, degrees)
    return Hinges(square, slope, linear, balance, laplacian)


def levels(y: Array, units: IntArray) -> Any:
    """The ranks of y within every query, from 0; small integers are used as they are."""
    whole = bool(((y >= 0) & (y < _MOST_LEVELS) & (y == np.rint(y))).all())
    if whole:
        return y.astype(np.int32)
    query = np.repeat(np.arange(units.size - 1), np.diff(units))
    order = np.lexsort((y, query))
    new_query = np.diff(query[order], prepend=-1) > 0
    rises = (np.diff(y[order], prepend=y[order[0]]) > 0) | new_query
    rank = np.cumsum(rises.astype(np.int32))
    found = np.empty(y.size, dtype=np.int32)
    found[order] = rank - rank[new_query][query[order]]
    return found


def pair_counts(level: Any, units: IntArray) -> Array:
    """For every query the pairs of items with different levels."""
    sizes, n_levels = np.diff(units), int(level.max(initial=0)) + 1
    key = np.repeat(np.arange(sizes.size), sizes) * n_levels + level
    if sizes.size * n_levels <= 4 * level.size + 10_000:  # a table that is not much larger than y
        counts = np.bincount(key, minlength=sizes.size * n_levels).reshape(-1, n_levels)
        same = np.sum(counts.astype(float) ** 2, axis=1)
    else:
        where, found = np.unique(key, return_counts=True)
        same = np.bincount(where // n_levels, found.astype(float) ** 2, minlength=sizes.size)
    return np.asarray(0.5 * (sizes.astype(float) ** 2 - same), dtype=float)
