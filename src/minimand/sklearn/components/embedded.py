"""Eigenvectors of a graph or a kernel matrix by products with one triangle, without factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..._base.typing import Array
from ...reverse.cuts.pairs import DensePairs

_SMALL = 100  # rows, below which a factorisation takes less time than its search; safeguard
_FILLED = 0.02  # of all pairs, from which factors fill in; measured: 2000 rows
_ROUNDS = 25  # restarts of a search; safeguard: then a factorisation is as fast
_ROUGH = 1e-6  # accuracy in single precision; safeguard: its rounding, with some room
_MORE = 1  # eigenvectors beyond those wanted: what comes next makes a proof short; safeguard


def leading(affinity: Any, degrees: Array, count: int, rng: np.random.RandomState) -> Array | None:
    """The eigenvectors of the largest eigenvalues of Λ^-½KΛ^-½, and one more, the largest first.

    scikit-learn's search factorises the Laplacian, which fills in. Where eigenvalues are not very
    close to each other, products with the graph are enough: Lanczos' method, to all digits. None
    where it is not done soon, where the graph has several parts, or where factors are cheap.
    """
    n, wanted = affinity.shape[0], count + _MORE
    if n < _SMALL or 4 * wanted > n or not _is_filled(affinity):
        return None
    scale = 1.0 / np.sqrt(degrees)

    def product(v: Array) -> Array:
        v = scale * v.ravel()
        if sparse.issparse(affinity):
            return np.asarray(scale * (affinity @ v))
        return np.asarray(scale * blas.dsymv(1.0, affinity.T, v))  # which reads one triangle

    operator = LinearOperator((n, n), product, dtype=np.float64)
    try:
        values, vectors = eigsh(
            operator, wanted, which="LA", v0=rng.uniform(-1, 1, n), maxiter=_ROUNDS
        )
    except ArpackNoConvergence:
        return None
    return np.asarray(vectors[:, np.argsort(-values)])


def leading_of_kernel(
    matrix: Array, count: int, tol: float, rounds: int | None, v0: Array
) -> tuple[Array, Array, Array]:
    """The largest eigenvalues of a symmetric matrix, their eigenvectors, and about one more.

    scikit-learn's search, from vectors that one in single precision has found.
    """
    n = matrix.shape[0]
    times, _, kind = DensePairs(matrix).scaled(np.ones(n))
    rough = LinearOperator((n, n), times, dtype=kind)
    wanted = min(count + _MORE, n - 1)
    try:
        found = eigsh(rough, wanted, which="LA", tol=_ROUGH, maxiter=_ROUNDS, v0=v0.astype(kind))
        near = np.asarray(found[1][:, np.argsort(-found[0])], dtype=float)
        begin = near[:, :count].sum(axis=1)
    except ArpackNoConvergence:
        near, begin = np.empty((n, 0)), v0
    exact = LinearOperator((n, n), lambda v: blas.dsymv(1.0, matrix.T, v.ravel()), dtype=np.float64)
    values, vectors = eigsh(exact, count, which="LA", tol=tol, maxiter=rounds, v0=begin)
    return values, vectors, near[:, count:]


def _is_filled(affinity: Any) -> bool:
    """Whether the graph is one part whose factors fill in, as far as that is easily seen."""
    n = affinity.shape[0]
    if not sparse.issparse(affinity):
        return np.count_nonzero(affinity) == n * (n - 1)  # all but its loops
    if affinity.nnz < _FILLED * n**2:
        return False
    return int(connected_components(affinity, directed=False)[0]) == 1
