"""The branches of a tree that is divided from the top down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.linear_system import EPS
from ..._base.typing import Array, IntArray
from ...kernels import Kernel
from ...kernels.rows import count, picked
from ..finite_squares import with_finite_values
from .tree import Tree


@dataclass(eq=False)
class Branch:
    """Some training rows, and how they were divided."""

    rows: IntArray
    weight: float
    height: float  # the sum of squares within
    parts: tuple[Branch, ...] = ()
    splitter: Any = None

    def leaves(self) -> Iterator[Branch]:
        """The branches without parts below this one, from left to right."""
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            if branch.parts:
                waiting.extend(reversed(branch.parts))
            else:
                yield branch


@dataclass(eq=False)
class Division:
    """A tree from the top down: its root, and the branches in the order in which they were divided.

    ``leaves`` are the clusters, in the order of their first training rows.
    """

    root: Branch
    divided: list[Branch] = field(default_factory=list)

    @property
    def leaves(self) -> list[Branch]:
        """The clusters."""
        return sorted(self.root.leaves(), key=lambda leaf: leaf.rows[0])

    def tree(self) -> Tree:
        """The same tree as merges of clusters: the last division is undone first."""
        leaves = self.leaves
        number = {id(leaf): place for place, leaf in enumerate(leaves)}
        children, heights = [], []
        for i, branch in enumerate(reversed(self.divided)):
            children.append([number[id(part)] for part in branch.parts])
            heights.append(branch.height)
            number[id(branch)] = len(leaves) + i
        return Tree(np.array(children, dtype=np.int64).reshape(-1, 2), np.array(heights))

    def labels(self, n_samples: int) -> IntArray:
        """The cluster of every training row; −1 for rows that were left out."""
        found = np.full(n_samples, -1)
        for place, leaf in enumerate(self.leaves):
            found[leaf.rows] = place
        return found

    def descend(self, X: Any) -> IntArray:
        """The cluster of new rows: down the tree, as the models of its divisions predict."""
        number = {id(leaf): place for place, leaf in enumerate(self.leaves)}
        found = np.empty(count(X), dtype=np.int64)
        waiting = [(self.root, np.arange(len(found)))]
        while waiting:
            branch, rows = waiting.pop()
            if not len(rows):
                continue
            if not branch.parts:
                found[rows] = number[id(branch)]
                continue
            side = np.asarray(branch.splitter.predict(picked(X, rows)))
            waiting += [(part, rows[side == i]) for i, part in enumerate(branch.parts)]
        return found


def scatter_of(X: Any, weights: Array, kernel: Kernel | None) -> Callable[[IntArray], float]:
    """A function of some rows: their weighted sum of squared distances to their mean.

    With a kernel, which is bound, it is that of the features,
    Σ sᵢk(xᵢ, xᵢ) − Σ sᵢsⱼk(xᵢ, xⱼ)/Σ s.

    It is zero if and only if the rows are equal; with a kernel, if rounding cannot tell them apart.
    """
    if kernel is not None:
        all_rows = kernel.rows(X, training=True)
        diagonal = with_finite_values(kernel.diagonal(all_rows), kernel)
        sizes = kernel.sizes(all_rows)

        def of_features(rows: IntArray) -> float:
            s = weights[rows]
            double = kernel.quadratic_form(all_rows[rows], s)
            found = float(s @ diagonal[rows]) - double / float(s.sum())
            return found if found > max(8, s.size) * EPS * float(s @ sizes[rows]) else 0.0

        return of_features

    def of_vectors(rows: IntArray) -> float:
        s, some = weights[rows], X[rows]
        if sparse.issparse(some):
            return _scatter_of_sparse(some, s)
        first = np.asarray(some[:1], dtype=float)
        left = np.asarray(some - first, dtype=float)  # exactly zero for equal rows
        left -= (s @ left) / float(s.sum())
        return float(s @ np.einsum("ij,ij->i", left, left))

    return of_vectors


def _scatter_of_sparse(X: Any, s: Array) -> float:
    """By columns: Σ s(x − m)² of stored numbers, and m² times the weight of those not stored.

    All terms are ≥ 0, so that nothing cancels; they are about the first row, so that the sum of
    equal rows is exactly zero.
    """
    x = X.tocsr().astype(float)  # a copy
    x.sum_duplicates()
    n, d = x.shape
    columns, mass = x.indices, np.repeat(s, np.diff(x.indptr))
    first = x[:1].toarray().ravel()
    missing = float(s.sum()) - np.bincount(columns, weights=mass, minlength=d)
    missing = np.maximum(missing, 0.0)  # rounding may make it negative
    missing[np.bincount(columns, minlength=d) == n] = 0.0
    left = x.data - first[columns]
    sums = np.bincount(columns, weights=mass * left, minlength=d)
    mean = (sums - missing * first) / float(s.sum())
    left -= mean[columns]
    return float(mass @ (left * left)) + float(missing @ np.square(first + mean))
