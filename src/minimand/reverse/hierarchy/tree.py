"""Trees of clusters, and the clusterings that cuts of a tree give."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._base.typing import AnyArray, Array, BoolArray, IntArray
from ..._base.wording import brief
from ...estimators.settings import check_real, check_whole


class Tree(NamedTuple):
    """Merges in their order: merge i joins two earlier nodes to node n + i.

    Nodes 0 … n − 1 are the leaves.
    """

    children: IntArray  # (n − 1, 2)
    heights: Array  # (n − 1,)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.heights) + 1

    @property
    def linkage(self) -> Array:
        """The merges in scipy's format: two nodes, the height, the number of leaves."""
        sizes = np.ones(2 * self.n_leaves - 1)
        for i, (left, right) in enumerate(self.children):
            sizes[self.n_leaves + i] = sizes[left] + sizes[right]
        return np.column_stack([self.children, self.heights, sizes[self.n_leaves :]])

    @property
    def cut_heights(self) -> Array:
        """The largest height at or below every merge: heights without inversions.

        A merge of centroids can be lower than one of its parts.
        """
        highest = np.concatenate([np.zeros(self.n_leaves), self.heights])
        for i, pair in enumerate(self.children):
            node = self.n_leaves + i
            highest[node] = max(highest[node], *highest[pair])
        return highest[self.n_leaves :]

    def at_number(self, n_clusters: int) -> IntArray:
        """The cluster of every leaf when so many clusters are left."""
        return self._labels(np.arange(len(self.heights)) < self.n_leaves - n_clusters)

    def at_height(self, height: float) -> IntArray:
        """The cluster of every leaf: the largest branches without a merge above the height."""
        return self._labels(self.cut_heights <= height)

    def _labels(self, kept: BoolArray) -> IntArray:
        """Clusters if only these merges are done; every merge below one of them is among them."""
        owner = np.arange(2 * self.n_leaves - 1)
        for i in np.flatnonzero(kept)[::-1]:
            owner[self.children[i]] = owner[self.n_leaves + i]
        return numbered(owner[: self.n_leaves])


def numbered(labels: AnyArray) -> IntArray:
    """The same clusters with numbers 0, 1, …, in the order of their first samples."""
    _, first, member = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[member]


def check_cut(n_clusters: Any, height: Any, most: int, of: str = "n_samples={} rows of X") -> None:
    """Refuse a cut unless it has either a number of clusters that exists, or a height.

    There are at most as many clusters as ``most``, which ``of`` puts in words.
    """
    if (n_clusters is None) == (height is None):
        raise ValueError(
            "a cut needs either n_clusters or height, and the other one must be None, but they are "
            f"{brief(n_clusters)} and {brief(height)}."
        )
    if height is not None:
        check_real("height", height, low=0.0)
        return
    if check_whole("n_clusters", n_clusters) > most:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {of.format(most)}: pass a smaller "
            "n_clusters."
        )
