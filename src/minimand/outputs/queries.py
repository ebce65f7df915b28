"""Relevances of items that belong to queries: only the order within a query counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from .._base.typing import AnyArray, Array, IntArray
from ..losses import Loss
from ..losses.joint.pair_sums import levels, pair_counts
from .base import Output


class Runs(NamedTuple):
    """Items sorted by query; queries without weight or without pairs are left out."""

    order: IntArray  # rows, query by query
    units: IntArray  # where queries begin among them, and where the last ends
    y: Array  # relevances, as ranks within the query
    weights: Array  # of the queries
    pairs: Array  # of the queries

    @classmethod
    def of(cls, y: Array, weights: Array | None) -> Self:
        """From y with two columns, the relevance and the number of the query of every item."""
        order = np.argsort(y[:, 1], kind="stable")
        relevance = y[order, 0]
        starts = np.flatnonzero(np.diff(y[order, 1], prepend=np.nan) != 0)
        sizes = np.diff(np.append(starts, order.size))
        by_query = _of_queries(weights, order, starts)
        differ = np.maximum.reduceat(relevance, starts) > np.minimum.reduceat(relevance, starts)
        kept = differ & (by_query > 0)
        if not kept.any():
            raise ValueError(
                "no query has items of different relevance, so that there is nothing to rank: y "
                "must differ within a group."
            )
        rows = np.repeat(kept, sizes)
        units = np.append(0, np.cumsum(sizes[kept])).astype(np.int64)
        level = levels(relevance[rows], units)
        pairs = pair_counts(level, units)
        return cls(order[rows], units, level.astype(float), by_query[kept], pairs)


def _of_queries(weights: Array | None, order: IntArray, starts: IntArray) -> Array:
    """One weight per query."""
    if weights is None:
        return np.ones(starts.size)
    sorted_weights = weights[order]
    least = np.minimum.reduceat(sorted_weights, starts)
    if (np.maximum.reduceat(sorted_weights, starts) > least).any():
        raise ValueError(
            "sample_weight of Ranker weighs queries: all items of a query must have the same."
        )
    return np.asarray(least)


@dataclass(frozen=True, eq=False)
class QueriesOutput(Output):
    """y has two columns, the relevance of an item and the number of its query."""

    n_pairs: int
    weight: float  # of all queries with pairs

    @classmethod
    def of(cls, y: AnyArray, weights: Array | None, loss: Loss) -> QueriesOutput:
        """The output space of y."""
        runs = Runs.of(y, weights)
        return cls(loss, int(runs.pairs.sum()), float(runs.weights.sum()))

    @property
    def scores(self) -> int:
        """One."""
        return 1

    def encode(self, y: AnyArray) -> Array:
        """Both columns; `Runs` sorts them by query."""
        return np.ascontiguousarray(y, dtype=float)

    def decode(self, z: Array) -> Array:
        """The score itself: the larger, the earlier."""
        return z
