"""Features by nearest neighbours of the training rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import KDTree

from .._base.parameters import check_count
from .._base.typing import Array
from .base import Features

_ROUNDING = 1 + 1e-12  # factor of a radius; safeguard: d(x, y) and d(y, x) differ by rounding


class Neighbors(Features):
    r"""Whether a row is among the k nearest neighbours of each training row.

    .. math:: \varphi_j(x) = 1 \text{ if } x \in N_k(x_j), \text{ else } 0

    The neighbourhood N_k(x_j) holds x_j itself and the k − 1 training rows nearest to it, and every
    row that is as near as they are. So each column of the training matrix has k ones (more with
    ties). The similarity is not symmetric, since x may be near x_j while x_j has nearer neighbours.
    So it is not a kernel and can be used as features only.

    Parameters
    ----------
    k : int, default=5
        The number of rows in a neighbourhood, at most the number of training rows.

    Attributes
    ----------
    rows_ : ndarray of shape (n_rows, n_features)
        The training rows.
    radii_ : ndarray of shape (n_rows,)
        The radius of every neighbourhood (Euclidean).

    Notes
    -----
    The output is sparse. A row far from all training rows is in no neighbourhood: its prediction is
    the intercept.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Neighbors(2).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 0., 1.]])
    """

    rows_: Array
    radii_: Array

    def __init__(self, k: int = 5) -> None:
        self.k = k

    def check_parameters(self) -> None:
        """K ≥ 1."""
        check_count(self, "k")

    def learn(self, X: Any) -> None:
        """Set the training rows and the radii of their neighbourhoods."""
        if self.k > X.shape[0]:
            raise ValueError(
                f"k={self.k} of Neighbors is more than the n_samples={X.shape[0]} rows of X: "
                "pass a smaller k."
            )
        self.rows_ = np.array(X, dtype=np.float64)
        distances, _ = KDTree(self.rows_).query(self.rows_, k=int(self.k))
        self.radii_ = distances[:, -1] * _ROUNDING

    def columns(self, X: Any) -> Any:
        """Zeros and ones, as a CSR matrix."""
        # Trees need writable memory, so read-only arrays (e.g. joblib's shared memory) are copied.
        queries, rows, radii = (
            np.require(part, np.float64, ["C", "W"]) for part in (X, self.rows_, self.radii_)
        )
        inside = KDTree(queries).query_radius(rows, r=radii)
        ends = np.concatenate([[0], np.cumsum([len(rows) for rows in inside])])
        indices = np.concatenate(inside).astype(np.int64)
        shape = (X.shape[0], self.rows_.shape[0])
        return sparse.csc_matrix((np.ones(indices.size), indices, ends), shape=shape).tocsr()

    def names(self, inputs: list[str]) -> Iterator[str]:
        """near0, near1, …: near which training row."""
        return (f"near{j}" for j in range(self.rows_.shape[0]))
