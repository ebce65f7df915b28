"""Kernel PCA of the linear kernel of a few columns, without the kernel matrix of all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import Array

_TALL = 2  # rows for a column; safeguard: then products of columns take a quarter of the time
_COLUMNS = 2000  # all of whose eigenvalues are computed; safeguard: a second or two
_CLEAR = 1e-8  # of the largest eigenvalue; safeguard: eigenvectors keep half of their digits


class LinearKernel(NamedTuple):
    """The kernel matrix XXᵀ of rows that are kept in its place."""

    rows: Array


class LinearFound(NamedTuple):
    """Eigenvectors of HXXᵀH, H = I − 11ᵀ/n."""

    values: Array  # (k,), the largest first
    vectors: Array  # (n, k)
    sums: Array  # (n,): the means of the rows of XXᵀ
    mean: float  # of all entries of XXᵀ
    total: float  # the trace of HXXᵀH
    kept: float  # tr UᵀHXXᵀHU of the vectors U
    rounding: float


def suits(kernel: Any, X: Any, n_components: Any) -> bool:
    """Whether eigenvectors of a kernel matrix follow from those of a smaller one, for certain."""
    if kernel != "linear" or n_components is None or not isinstance(X, np.ndarray):
        return False
    n, d = X.shape
    return X.dtype == np.float64 and n >= _TALL * d and n_components <= d <= _COLUMNS


def linear_components(X: Array, k: int) -> LinearFound | None:
    """By the eigenvectors V of XᵀHX: those of HXXᵀH are HXV, divided by their lengths.

    None if the least eigenvalue of them is nothing but rounding of the largest.
    """
    n, d = X.shape
    mean = X.mean(axis=0)
    x = X - mean
    x -= x.mean(axis=0)  # the rounding is then that of the spread, whatever the mean is
    products = x.T @ x
    values, turns = np.linalg.eigh(products)
    values, turns = values[::-1][:k].copy(), turns[:, ::-1][:, :k]
    if not values[-1] > _CLEAR * values[0]:
        return None
    vectors = x @ turns
    vectors /= np.linalg.norm(vectors, axis=0)
    kept = float(np.square(vectors.T @ x).sum())
    total = float(np.trace(products))
    rounding = EPS * (k * d * float(values[0]) + 2.0 * n**0.5 * total)
    sums = X @ mean
    return LinearFound(values, vectors, sums, float(sums.mean()), total, kept, rounding)
