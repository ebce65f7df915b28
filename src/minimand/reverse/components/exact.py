"""Exact methods of PCA: eigenvectors of the smaller side, or singular vectors of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from ..._base.eigenvalues import largest_eigenpairs
from ..._base.linear_system import EPS
from ..._base.threads import lapack_threads
from ..._base.typing import Array, IntArray
from ...certificate.eigenvalues.centred import mean_of, row_matrix
from ...design import Design
from ...design.base import dense_block
from ...design.near_zero import near_zero
from .scatter import scatter
from .spectrum import Found, chosen_count, completed, is_count

_ACCURATE = 1e-6  # relative accuracy of the least variance kept; convention: the default tol
_FEW = 4  # one in so many eigenvectors: then only these are computed; safeguard

_NEARLY = 0.1  # norm of what products of columns differ from I by; safeguard: a condition below 1.2


def by_covariance(design: Design, weights: Array, n_components: Any, centred: bool) -> Found:
    """The eigenvectors of C, (d, d): one pass, n·d² operations.

    Eigenvalues have an absolute error of some ulp of the largest, so that those below a millionth
    of a millionth of it are lost: `is_accurate` says so, and `by_svd` has them.
    """
    matrix, mean, rounding = scatter(design, weights, centred)
    with lapack_threads(len(matrix)):  # those that wait for work slow down the next pass
        return of_matrix(matrix, mean, rounding, n_components, design.shape[0])


def of_matrix(matrix: Array, mean: Array, rounding: float, n_components: Any, n: int) -> Found:
    """The components of a matrix C of n rows, with the rounding of its eigenvalues so far."""
    d = matrix.shape[0]
    total = float(np.trace(matrix))
    alive = np.flatnonzero(np.diag(matrix) > 0)
    values, vectors = _off_constant_columns(matrix, alive, n_components)
    k = chosen_count(n_components, values, total, n, d)
    vectors = vectors[:, :k]
    rounding += EPS * d * k * max(float(values[0]), 0.0)
    spectrum = None if values.size < d else np.maximum(values, 0.0)
    kept = np.maximum(np.einsum("ij,ij->j", vectors, matrix @ vectors), 0.0)
    bound = max(float(values[:k].sum()), float(kept.sum()))
    null = max(k - alive.size, 0) if alive.size else 0
    return Found(vectors, kept, max(total, 0.0), bound, rounding, mean, spectrum, null=null)


def _off_constant_columns(matrix: Array, alive: IntArray, n_components: Any) -> tuple[Array, Array]:
    """`top_eigen` of the columns that vary; the others are eigenvectors with the eigenvalue 0."""
    d = matrix.shape[0]
    if alive.size in (0, d):
        return top_eigen(matrix, n_components)
    most = min(int(n_components), alive.size) if is_count(n_components) else n_components
    values, inner = top_eigen(matrix[np.ix_(alive, alive)], most)
    still = np.setdiff1d(np.arange(d), alive) if values.size == alive.size else alive[:0]
    vectors = np.zeros((d, values.size + still.size))
    vectors[alive, : values.size] = inner
    vectors[still, values.size + np.arange(still.size)] = 1.0
    return np.append(values, np.zeros(still.size)), vectors


def by_gram(design: Design, weights: Array, n_components: Any, centred: bool) -> Found:
    """The eigenvectors of S^½(X − 1x̄ᵀ)(X − 1x̄ᵀ)ᵀS^½, (n, n), for data with more columns than rows.

    With u one of them, (X − 1x̄ᵀ)ᵀS^½u has the direction of a component. Rows about their mean are
    dependent: S^½1 is the eigenvector of an eigenvalue that is exactly 0.
    """
    n, d = design.shape
    root = np.sqrt(weights)
    design, shift = near_zero(design) if centred else (design, np.zeros(d))
    matrix, mean, removed = row_matrix(design, weights, centred)
    total = float(np.trace(matrix))
    values, turns = top_eigen(matrix, n_components)
    k = chosen_count(n_components, values, total, n, d)
    null = int(centred and k == n)
    rank = int((values[: k - null] > n * EPS * max(float(values[0]), 0.0)).sum())
    back = root[:, None] * turns[:, :rank]
    vectors = design.rmatvec(back) - np.multiply.outer(mean, back.sum(axis=0))
    vectors = completed(_orthonormal_in_order(vectors), k)
    kept = np.maximum(np.append(values[:rank], np.zeros(k - rank)), 0.0)
    rounding = EPS * (
        n * k * max(float(values[0]), 0.0) + 4.0 * d**0.5 * (max(total, 0.0) + removed)
    )
    spectrum = None if values.size < n else np.maximum(values, 0.0)
    bound = float(kept.sum())
    whole = max(total, 0.0)
    return Found(vectors, kept, whole, bound, rounding, mean + shift, spectrum, null=null)


def by_svd(design: Design, weights: Array, n_components: Any, centred: bool) -> Found:
    """Singular vectors of a centred copy of the data: small variances keep all their digits."""
    n, d = design.shape
    mean = mean_of(design, weights, centred)
    x = design.map_rows(lambda block: dense_block(block) - mean)
    if centred:  # the rounding of the mean is that of its size, not that of the spread
        shift = weights @ x / weights.sum()
        x -= shift
        mean = mean + shift
    x *= np.sqrt(weights)[:, None]
    with lapack_threads(min(n, d)):
        if n > d:
            x = linalg.qr(x, mode="r", overwrite_a=True, check_finite=False)[0][:d]
        _, sizes, turns = linalg.svd(x, full_matrices=False, check_finite=False)
    values = sizes**2
    total = float(values.sum())
    k = chosen_count(n_components, values, total, n, d, noise=EPS * EPS * max(n, d))
    rounding = EPS * max(n, d) ** 0.5 * 4.0 * total
    kept = values[:k]
    return Found(turns[:k].T.copy(), kept, total, float(kept.sum()), rounding, mean, values)


def is_accurate(found: Found) -> bool:
    """Whether the least variance that is kept has its digits, after eigenvalues of a product."""
    side = min(found.vectors.shape[0], 10 * max(found.values.size, 1))
    values = found.values[: found.values.size - found.null]
    top = float(values[0]) if values.size else 0.0
    return top == 0 or float(values[-1]) * _ACCURATE >= EPS * side * top


def top_eigen(matrix: Array, n_components: Any) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors, the largest first; only some if their number is given."""
    side = matrix.shape[0]
    few = is_count(n_components) and _FEW * n_components < side
    with lapack_threads(side):
        values, vectors = largest_eigenpairs(matrix, int(n_components) if few else side)
    return values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])


def _orthonormal_in_order(vectors: Array) -> Array:
    """The columns scaled to length one; made orthogonal again where rounding has lost it."""
    sizes = np.linalg.norm(vectors, axis=0)
    found = vectors[:, sizes > 0] / sizes[sizes > 0]
    if not found.size:
        return found
    products = found.T @ found
    if np.linalg.norm(products - np.eye(len(products))) <= _NEARLY:
        # Columns so well conditioned lose nothing by the triangle of their products.
        upper = linalg.cholesky(products, check_finite=False)
        return np.asarray(linalg.solve_triangular(upper, found.T, trans="T", check_finite=False)).T
    basis, triangle = linalg.qr(found, mode="economic", check_finite=False)
    return np.asarray(basis * np.where(np.diag(triangle) < 0, -1.0, 1.0))
