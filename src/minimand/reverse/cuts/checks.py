"""Checks of what the cuts are given: kernels, graphs, numbers of clusters."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..._base.typing import Array
from ..._base.wording import counted
from ...kernels import Kernel

FAINT = 1e-150  # of the largest; safeguard: products of affinities and inverse degrees are finite
_UNEVEN = 1e-8  # of the largest value; safeguard: rounding of the user's own computation
_BAND = 128  # rows, whose squares of numbers stay in a cache; safeguard
_INDEFINITE = 16 * float(np.finfo(float).eps)  # of n times the largest value; safeguard


def check_clusters(n_clusters: Any, n: int, weights: Array | None = None) -> int:
    """The number of clusters, an integer from 1 to the number of rows that weigh something."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, Integral) or n_clusters < 1:
        raise ValueError(f"n_clusters must be an integer ≥ 1, not {n_clusters!r}.")
    heavy = n if weights is None else int(np.count_nonzero(weights))
    if int(n_clusters) > heavy:
        what = "" if heavy == n else " of positive weight"
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {counted(heavy, 'row')} of X{what} "
            f"(n_samples={n}): ask for fewer clusters."
        )
    return int(n_clusters)


def checked_affinity(K: Any, name: str, *, even: bool = False) -> Any:
    """Affinities as a symmetric float64 matrix, dense or CSR, none negative, no row of zeros.

    ``even``: it is known to be symmetric.
    """
    if sparse.issparse(K):
        K = sparse.csr_array(K, dtype=np.float64)
        values = K.data
    else:
        K = np.asarray(K, dtype=np.float64)
        values = K
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise ValueError(f"{name} must be a square matrix of affinities, not of shape {K.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, but it holds NaN or infinity.")
    if values.size and values.min() < 0:
        raise ValueError(
            f"affinities must not be negative, but the smallest in {name} is {values.min():g}: "
            "take a kernel of positive values such as minimand.RBF, or NeighborGraph()."
        )
    uneven = 0.0 if even else _unevenness(K)
    if uneven > _UNEVEN * max(float(values.max(initial=0.0)), 0.0):
        raise ValueError(
            f"{name} is not symmetric (two entries differ by {uneven:g}): pass (K + K.T)/2."
        )
    _check_degrees(np.asarray(K.sum(axis=1)).ravel(), name)
    return K


def _unevenness(K: Any) -> float:
    """The largest difference of two entries across the diagonal."""
    if sparse.issparse(K):
        return float(abs(K - K.T).max())
    most = 0.0
    for start in range(0, len(K), _BAND):  # so that columns are read from a cache
        for first in range(0, start + 1, _BAND):
            rows, columns = slice(start, start + _BAND), slice(first, first + _BAND)
            most = max(most, float(np.abs(K[rows, columns] - K[columns, rows].T).max()))
    return most


def _check_degrees(degrees: Array, name: str) -> None:
    """Refuse rows without any affinity, which a normalised cut would divide by."""
    present = degrees > FAINT * float(degrees.max(initial=0.0))
    if not present.all():
        rows = np.flatnonzero(~present)
        raise ValueError(
            f"row {rows[0]} of {name} has no affinity to any row ({counted(rows.size, 'such row')})"
            ": leave such rows out, or take a wider kernel or more neighbours."
        )


def check_definite(K: Array, kernel: Kernel) -> None:
    """Refuse a symmetric matrix of a user's kernel that is no matrix of inner products."""
    if kernel.definite or not K.any():
        return
    noise = _INDEFINITE * K.shape[0] * float(np.abs(K).max(initial=0.0))
    try:
        linalg.cholesky(K + noise * np.eye(K.shape[0]), overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise ValueError(
            f"{kernel!r} is not positive semidefinite on these rows: minimand.check_psd(k(X)) "
            "gives a witness."
        ) from error
