"""Graphs of nearest neighbours: sparse affinities for many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._base.parameters import NamesParameters, Parameterized, check_count, check_number
from ..._base.typing import Array, IntArray
from ..._base.wording import counted
from ...kernels.rows import squares
from ..nearest_rows import NearestRows

_APART = 1e-6  # of the length of a row, beyond which neighbours differ for sure; safeguard


class NeighborGraph(NamesParameters, Parameterized):
    r"""Affinities of rows to their nearest neighbours, zero for all other pairs.

    .. math:: K = \tfrac12 (E + E^\top), \qquad E_{ij} = 1
        \text{ or } \exp(-\|x_i - x_j\|^2 / (2\tau^2)) \text{ if } x_j \text{ is near } x_i

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours of a row; the row itself counts as one of them.
    tau : float, optional
        The width of the weights. By default all edges weigh 1, so that units do not matter but for
        the comparison of columns.
    metric : str, default="euclidean"
        As in `sklearn.neighbors.NearestNeighbors`.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.NeighborGraph(2).matrix([[0.0], [1.0], [3.0]]).toarray()
    array([[1. , 1. , 0. ],
           [1. , 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    def __init__(
        self, n_neighbors: int = 10, tau: float | None = None, metric: str = "euclidean"
    ) -> None:
        self.n_neighbors = n_neighbors
        self.tau = tau
        self.metric = metric

    def check_parameters(self) -> None:
        """A number of neighbours, and a width or None."""
        check_count(self, "n_neighbors")
        if self.tau is not None:
            check_number(self, "tau", "a finite number > 0, or None", lambda tau: tau > 0)

    def matrix(self, X: Any) -> Any:
        """K of all rows, as a CSR matrix."""
        self.check_parameters()
        return self.fitted(X)[1]

    def fitted(self, X: Any) -> tuple[NearestRows, Any]:
        """The search structure of the rows of X, and K."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if self.n_neighbors > n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} of NeighborGraph is more than the "
                f"{counted(n, 'row')} of X (n_samples={n}): pass a smaller one."
            )
        search = NearestRows(X, n_neighbors=int(self.n_neighbors), metric=self.metric)
        near, rows = search.find(X)
        directed = self._edges(near, rows, n)
        return search, sparse.csr_array(0.5 * (directed + directed.T))

    def to_training(self, search: NearestRows, X: Any) -> tuple[Any, IntArray]:
        """Affinities of new rows to those of the fit; and which of these each equals, else −1."""
        near, rows = search.find(X)
        equal = _equal(search.moved(X), search.rows, near, rows)
        return self._edges(near, rows, search.rows.shape[0]), equal

    def _edges(self, near: Array, rows: IntArray, n: int) -> Any:
        """E, a row for each row of neighbours."""
        weights = np.ones(near.size)
        if self.tau is not None:
            # The least positive number: rows that are far from all others stay in the graph.
            tiny = float(np.finfo(float).tiny)
            weights = np.maximum(np.exp(-0.5 * (near.ravel() / float(self.tau)) ** 2), tiny)
        ends = np.arange(0, near.size + 1, near.shape[1])
        return sparse.csr_array((weights, rows.ravel(), ends), shape=(near.shape[0], n))


def _equal(X: Any, training: Any, near: Array, rows: IntArray) -> IntArray:
    """The training row that each row of X is equal to, among its neighbours; else −1.

    A search of many columns computes distances from products, so that equal rows seem to be apart
    by some 1e-8 of their length.
    """
    found = np.full(len(near), -1)
    slack = _APART * np.sqrt(squares(X))
    for column in range(near.shape[1]):
        open_ = np.flatnonzero((found < 0) & (near[:, column] <= slack))
        if not open_.size:
            break
        left = abs(X[open_] - training[rows[open_, column]])
        same = np.asarray(left.sum(axis=1), dtype=float).ravel() == 0
        found[open_[same]] = rows[open_[same], column]
    return found
