"""Searches for the nearest rows: scikit-learn's, and one through all distances of a kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from .._base.typing import Array, IntArray
from ..kernels.dissimilarity import Dissimilarity

_FAR = 1e4  # squared mean, in units of the variance, from which rows are moved; safeguard: in
# ‖x‖² + ‖z‖² − 2x·z, from which distances in many columns are computed, four digits cancel
_ENOUGH = 16  # rows that tell whether all are far from zero; safeguard: costs little beside the fit
_BY_PRODUCTS = ("euclidean", "sqeuclidean")


class NearestRows:
    """scikit-learn's search, without the digits that a large mean would cost.

    Trees subtract rows from each other. Where all pairs are compared, distances come from products
    of rows, and rows far from zero are moved first. Parameters are those of `NearestNeighbors`.
    """

    def __init__(self, X: Any, **how: Any) -> None:
        self._middle: Array | None = None
        self.structure = NearestNeighbors(**how).fit(X)
        middle = far_middle(self.structure)
        if middle is not None:
            self._middle = middle
            self.structure = NearestNeighbors(**how).fit(self.moved(X))

    def moved(self, X: Any) -> Any:
        """X as the search sees it."""
        if self._middle is None:
            return X
        return (X.toarray() if sparse.issparse(X) else np.asarray(X)) - self._middle

    def find(self, X: Any, n_neighbors: int | None = None) -> tuple[Array, IntArray]:
        """The distances and the numbers of the nearest rows of the search, for all rows of X.

        X = None stands for the rows of the search, each without itself.
        """
        X = None if X is None else self.moved(X)
        found: tuple[Array, IntArray] = self.structure.kneighbors(X, n_neighbors)
        return found

    @property
    def rows(self) -> Any:
        """The rows among which it looks, moved."""
        return self.structure._fit_X


class NearestByKernel:
    """The same among rows of any kind, by distances of all pairs, block by block."""

    def __init__(self, pairs: Dissimilarity) -> None:
        self._pairs = pairs

    def find(self, X: Any, n_neighbors: int) -> tuple[Array, IntArray]:
        """As `NearestRows.find`."""
        if X is None:
            parts = [_least(_without_own(*part), n_neighbors) for part in self._pairs.own_blocks()]
        else:
            parts = [_least(block, n_neighbors) for _, block in self._pairs.blocks(X)]
        distances, places = (np.concatenate(part) for part in zip(*parts))
        return distances, places


def far_middle(search: Any) -> Array | None:
    """What to subtract from the rows of a fitted search of scikit-learn; None for nothing.

    The middle is rounded to a power of two about as large as distances are, so that subtracting it
    rounds nothing, and distances that are equal stay so.
    """
    by_products = search._fit_method == "brute" and search.effective_metric_ in _BY_PRODUCTS
    if not by_products or sparse.issparse(search._fit_X):
        return None
    rows = np.asarray(search._fit_X)
    some = rows[:: -(-len(rows) // _ENOUGH)].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = some.mean(axis=0)
        spread = float(np.vdot(some, some)) / len(some) - float(middle @ middle)
        if not float(middle @ middle) > _FAR * spread:
            return None
    mean = np.asarray(rows.mean(axis=0, dtype=float))
    spread = math.sqrt(float(rows.var(axis=0, dtype=float).sum()))
    if not 0 < spread < math.inf:
        return mean
    unit = 2.0 ** math.floor(math.log2(spread))
    return np.asarray(np.rint(mean / unit) * unit)


def inverse_distances(distances: Array) -> Array:
    """1/d by row; rows at distance 0 count alone. In another unit where 1/d would overflow.

    A distance that is NaN, of rows with missing values, has the weight NaN.
    """
    nearest = distances[:, :1]
    unit = np.where(nearest < np.finfo(float).tiny, nearest, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = unit / distances
    return np.where(nearest == 0, distances == 0, found)


def _without_own(rows: slice, block: Array) -> Array:
    """Distances of some of the rows to all of them, each infinitely far from itself."""
    places = np.arange(rows.start, rows.stop)
    block[places - rows.start, places] = np.inf
    return block


def _least(block: Array, k: int) -> tuple[Array, IntArray]:
    """The k least numbers of every row, sorted, and their columns."""
    if k < block.shape[1]:
        places = np.sort(np.argpartition(block, k - 1, axis=1)[:, :k], axis=1)
    else:
        places = np.broadcast_to(np.arange(k), block.shape).copy()
    distances = np.take_along_axis(block, places, axis=1)
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(places, order, axis=1)
