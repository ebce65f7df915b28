"""What a row costs in a cluster: squared Euclidean, cosine or Manhattan distance from its centre.

Every distance has its own best centre, without which the objective would rise: the mean, the
direction of the mean of rows of length one, and the median of every column.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise

from ..._base.registry import Registry
from ..._base.typing import AnyArray, Array

_SMALLEST = 1e-150  # length of a row; safeguard: below, squares underflow
_FAR = 1e4  # squared mean of centres, in units of their spread, from which digits would cancel
# in ‖x‖² + ‖c‖² − 2x·c; safeguard: four digits


class RowDistance:
    """One distance: its compiled measure, its centres, and its words."""

    name: ClassVar[str] = ""
    words: ClassVar[str] = ""  # the objective as a formula
    measure: ClassVar[int] = 0  # of `_core.CenterSearch`: 0 squares, 1 gaps
    centred: ClassVar[bool] = False  # whether a shift of all rows changes nothing
    by_sums: ClassVar[bool] = True  # whether centres are functions of sums of rows

    def factors(self, X: Any) -> Array:
        """What rows are multiplied by before they are compared; empty: nothing."""
        return np.zeros(0)

    def costs(self, measured: Array, factors: Array) -> Array:
        """The costs of rows from what the compiled search measures."""
        return measured

    def admitted(self, centers: Array) -> Array:
        """Given centres as this distance takes them."""
        return centers

    def centers(self, sums: Array, masses: Array, before: Array) -> Array:
        """The best centres of clusters, from their sums; an empty one stays where it was."""
        raise NotImplementedError

    def between(self, X: Any, centers: Array) -> Array:
        """The distances of all rows from all centres, for `transform`."""
        raise NotImplementedError


class Euclidean(RowDistance):
    """‖x − c‖², whose best centre is the mean."""

    name, words, centred = "euclidean", "Σ s·‖x − c‖²", True

    def centers(self, sums: Array, masses: Array, before: Array) -> Array:
        """The means."""
        filled = masses > 0
        means = before.copy()
        means[filled] = sums[filled] / masses[filled, None]
        return means

    def between(self, X: Any, centers: Array) -> Array:
        """‖x − c‖, not squared, as in scikit-learn."""
        middle = centers.mean(axis=0)
        left = centers - middle
        if not sparse.issparse(X) and float(middle @ middle) > _FAR * float(np.mean(left * left)):
            X, centers = X - middle, left
        return np.asarray(pairwise.euclidean_distances(X, centers))


class Cosine(RowDistance):
    """1 − cos(x, c) = ½‖x/‖x‖ − c‖² for centres of length one; 1 for a row of zeros."""

    name, words = "cosine", "Σ s·(1 − cos(x, c))"

    def factors(self, X: Any) -> Array:
        """1/‖x‖; 0 for a row of zeros."""
        lengths = _lengths(X)
        small = np.flatnonzero(lengths < _SMALLEST)
        if small.size and abs(X[small]).max() > 0:
            raise ValueError(
                f"a row of X has no number above {float(abs(X[small]).max()):.1e}, so that its "
                "length underflows: multiply X by a large number."
            )
        return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)

    def costs(self, measured: Array, factors: Array) -> Array:
        """½‖x/‖x‖ − c‖², and 1 for a row of zeros, which would have ½."""
        return 0.5 * measured + 0.5 * (factors == 0)

    def admitted(self, centers: Array) -> Array:
        """Of length one; zeros, which have no direction, get that of the first column.

        A centre of zeros would cost every row ½ instead of at most 1.
        """
        lengths = np.linalg.norm(centers, axis=1, keepdims=True)
        found = np.divide(centers, lengths, out=np.zeros_like(centers), where=lengths > 0)
        found[lengths[:, 0] == 0, :1] = 1.0
        return found

    def centers(self, sums: Array, masses: Array, before: Array) -> Array:
        """The directions of the sums; rows that cancel each other leave the centre as it was."""
        lengths = np.linalg.norm(sums, axis=1)
        # 1e-12 of the mass: safeguard, since the direction of a sum that cancels is rounding.
        clear = lengths > 1e-12 * masses
        found = before.copy()
        found[clear] = sums[clear] / lengths[clear, None]
        return found

    def between(self, X: Any, centers: Array) -> Array:
        """1 − cos(x, c)."""
        return np.asarray(pairwise.cosine_distances(X, centers))


class Manhattan(RowDistance):
    """‖x − c‖₁, whose best centre is the median of every column."""

    name, words, measure, by_sums = "manhattan", "Σ s·‖x − c‖₁", 1, False

    def between(self, X: Any, centers: Array) -> Array:
        """‖x − c‖₁."""
        if sparse.issparse(X):  # scikit-learn takes indices of 32 bits alone
            X, centers = _narrow(X), _narrow(sparse.csr_matrix(centers))
        return np.asarray(pairwise.manhattan_distances(X, centers))


REGISTRY: Registry[RowDistance] = Registry(
    "distance",
    RowDistance,
    ("Euclidean", "Cosine", "Manhattan"),
    lambda name: globals()[name],
    elsewhere={
        **dict.fromkeys(("l2", "sqeuclidean", "squared_euclidean"), "distance='euclidean'"),
        **dict.fromkeys(("l1", "cityblock"), "distance='manhattan'"),
        **dict.fromkeys(("spherical", "cos"), "distance='cosine'"),
    },
)


def _narrow(X: Any) -> Any:
    """CSR with indices of 32 bits."""
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_matrix(parts, shape=X.shape)


def _lengths(X: Any) -> Array:
    """‖x‖ of every row, in double precision."""
    if sparse.issparse(X):
        squares = X.astype(np.float64).multiply(X).sum(axis=1)
        return np.sqrt(np.asarray(squares, dtype=float).ravel())
    return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def medians(
    X: Any, labels: AnyArray, weights: Array | None, before: Array, clusters: AnyArray
) -> Array:
    """Weighted medians by column of some clusters; the others, and empty ones, as they were."""
    found = before.copy()
    for c in clusters:
        rows = np.flatnonzero(labels == c if weights is None else (labels == c) & (weights > 0))
        if not rows.size:
            continue
        part = X[rows]
        part = part.toarray() if sparse.issparse(part) else part
        if weights is None:
            found[c] = np.median(part, axis=0)
        else:
            found[c] = _weighted_median(np.asarray(part, dtype=float), weights[rows])
    return found


def _weighted_median(values: Array, weights: Array) -> Array:
    """Of every column; the mean of two values if the weights below and above are equal."""
    order = np.argsort(values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, order, axis=0)
    below = np.cumsum(weights[order], axis=0)
    half = 0.5 * below[-1]
    columns = np.arange(values.shape[1])
    low = np.argmax(below >= half, axis=0)
    high = np.argmax(below > half, axis=0)
    return 0.5 * (ranked[low, columns] + ranked[high, columns])
