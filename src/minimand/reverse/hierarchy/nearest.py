r"""The nearest cluster of a new row, under the linkage that made the clusters.

It is the cluster that the row, a cluster of its own, would be merged with. With members xᵢ and
centre c of a cluster C,

.. math:: \min_i d(x, x_i), \quad \max_i d(x, x_i), \quad \text{mean}_i \, d(x, x_i), \quad
    \sqrt{2|C|/(|C|+1)} \, \|x - c\|, \quad \|x - c\|

for single, complete, average, Ward's and centroid linkage. Centres of features are nowhere written
down; their distances follow from those of the members, as
:math:`\|x - c\|^2 = \text{mean}_i \, d(x, x_i)^2 - \tfrac12 \, \text{mean}_{ij} \, d(x_i, x_j)^2`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import Array, IntArray
from ...kernels.dissimilarity import Dissimilarity
from .merges import OF_CENTRES

_REDUCTIONS = {"single": np.minimum, "complete": np.maximum}


class Members:
    """Distances of rows to clusters, from those to all members of each."""

    def __init__(self, pairs: Dissimilarity, labels: IntArray, linkage: str) -> None:
        self._pairs, self._linkage = pairs, linkage
        self._order = np.argsort(labels, kind="stable")
        self._sizes = np.bincount(labels)
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])
        if linkage in OF_CENTRES:
            self._spread = self._scatter(labels) / self._sizes

    def to_clusters(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Some rows of X at a time, and their distances to all clusters."""
        for some, found in self._pairs.blocks(X):
            yield some, self._reduced(found)

    def _reduced(self, distances: Array) -> Array:
        if self._linkage in OF_CENTRES:
            squared = self._summed(distances**2) / self._sizes - self._spread
            return to_centres(np.sqrt(np.maximum(squared, 0.0)), self._sizes, self._linkage)
        if self._linkage == "average":
            return self._summed(distances) / self._sizes
        function = _REDUCTIONS[self._linkage]
        return function.reduceat(distances[:, self._order], self._starts, axis=1)

    def _summed(self, values: Array) -> Array:
        return np.add.reduceat(values[:, self._order], self._starts, axis=1)

    def _scatter(self, labels: IntArray) -> Array:
        """Σᵢ ‖xᵢ − c‖² of every cluster, which is Σᵢⱼ d(xᵢ, xⱼ)²/2|C|."""
        total = np.zeros(len(self._sizes))
        for some, found in self._pairs.own_blocks():
            sums = self._summed(found**2)
            own = labels[some]
            total += np.bincount(own, sums[np.arange(len(own)), own], minlength=len(total))
        return total / (2.0 * self._sizes)


class Centres:
    """Distances of rows to clusters of vectors with centres."""

    def __init__(
        self, pairs: Dissimilarity, centers: Array, labels: IntArray, linkage: str
    ) -> None:
        self._pairs, self._centers, self._linkage = pairs, centers, linkage
        self._sizes = np.bincount(labels)

    def to_clusters(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """All rows of X at once, and their distances to all clusters."""
        found = self._pairs.between(self._pairs.rows(X), self._centers)
        yield slice(0, len(found)), to_centres(found, self._sizes, self._linkage)


def nearest_of(pairs: Dissimilarity, labels: IntArray, linkage: str) -> Members | Centres:
    """The rule for clusters of the training rows."""
    if linkage in OF_CENTRES and pairs.vectors:
        return Centres(pairs, means(pairs.z, labels), labels, linkage)
    return Members(pairs, labels, linkage)


def nearest_clusters(clusters: Members | Centres, X: Any) -> IntArray:
    """The nearest cluster of every row of X; of equally near ones the first."""
    found = [part.argmin(axis=1) for _, part in clusters.to_clusters(X)]
    return np.concatenate(found).astype(np.int64)


def to_centres(distances: Array, sizes: IntArray, linkage: str) -> Array:
    """Distances to centres as the linkage counts them: the height of a merge with a single row."""
    return distances * np.sqrt(2.0 * sizes / (sizes + 1.0)) if linkage == "ward" else distances


def means(X: Any, labels: IntArray, weights: Array | None = None) -> Array:
    """The mean of every cluster of vectors, a row each; weighted, if there are weights."""
    s = np.ones(len(labels)) if weights is None else weights
    indicator = sparse.csr_matrix((s, (labels, np.arange(len(labels)))))
    sums = indicator @ X
    dense = np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=float)
    return dense / np.asarray(indicator.sum(axis=1))
