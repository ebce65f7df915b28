"""The eigenvectors of a spectral embedding by products with the graph, without its factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..._base.typing import Array

_SMALL = 100  # rows, below which a factorisation takes less time than its search; safeguard
_FILLED = 0.02  # of all pairs, from which factors fill in; measured: 2000 rows
_ROUNDS = 25  # restarts of a search; safeguard: then a factorisation is as fast
_MORE = 1  # eigenvectors beyond those wanted: what comes next makes a proof short; safeguard


def leading(affinity: Any, degrees: Array, count: int, rng: np.random.RandomState) -> Array | None:
    """The eigenvectors of the largest eigenvalues of Λ^-½KΛ^-½, and one more, the largest first.

    scikit-learn's search factorises the Laplacian, which fills in. Where eigenvalues are not very
    close to each other, products with the graph are enough: Lanczos' method, to all digits. None
    where it is not done soon, where the graph has several parts, or where factors are cheap.
    """
    n, wanted = affinity.shape[0], count + _MORE
    if n < _SMALL or 4 * wanted > n or not sparse.issparse(affinity):
        return None
    if affinity.nnz < _FILLED * n**2 or connected_components(affinity, directed=False)[0] > 1:
        return None
    scale = 1.0 / np.sqrt(degrees)
    operator = LinearOperator((n, n), lambda v: scale * (affinity @ (scale * v.ravel())))
    try:
        values, vectors = eigsh(
            operator, wanted, which="LA", v0=rng.uniform(-1, 1, n), maxiter=_ROUNDS
        )
    except ArpackNoConvergence:
        return None
    return np.asarray(vectors[:, np.argsort(-values)])
