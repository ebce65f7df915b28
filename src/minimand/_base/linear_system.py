"""Symmetric positive definite systems, scaled to unit diagonal: units of columns do not matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from .threads import lapack_threads
from .typing import Array

EPS = float(np.finfo(float).eps)
_LARGE = 2000  # side, from which two more matrices of it are too many; safeguard: 64 MB

Solve = Callable[[Array], Array]  # of one right side, or of several as columns


def row_times(factors: Array, x: Array) -> Array:
    """diag(factors) x, for a vector or for columns x."""
    return (x.T * factors).T


def _scaled(matrix: Array) -> tuple[Array, Array]:
    """The matrix scaled to unit diagonal; a zero (constant column) gives the equation x = right."""
    diagonal = np.diag(matrix)
    size = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix / size
    scaled /= size[:, None]
    empty = np.flatnonzero(diagonal <= 0)
    scaled[empty, empty] = 1.0
    return scaled, size


def _cholesky(scaled: Array) -> tuple[Array, bool]:
    """The Cholesky factor, and whether the factorisation failed.

    LAPACK is called directly, since scipy.linalg's wrappers cost more than a small factorisation.
    The upper triangle of a C-ordered matrix is the lower one of its transpose, which is in LAPACK's
    (Fortran) order.
    """
    with lapack_threads(len(scaled)):
        factor, failed = lapack.dpotrf(scaled.T, lower=1, overwrite_a=1, clean=0)
    return factor, bool(failed)


def least_pivot(matrix: Array) -> float:
    """The least pivot of the matrix scaled to unit diagonal; 0 where it is singular."""
    scaled, size = _scaled(matrix)
    if not size.size:
        return 1.0
    factor, failed = _cholesky(scaled)
    return 0.0 if failed else float(np.diag(factor).min() ** 2)


def factorise(matrix: Array, least: float | None = None) -> Solve | None:
    """A Cholesky solver, or None where the matrix is singular to working precision.

    ``least`` is the pivot, of the matrix scaled to unit diagonal, that is too small; a caller that
    corrects the solutions may pass a smaller one.
    """
    scaled, size = _scaled(matrix)
    if not size.size:
        return lambda right: right
    factor, failed = _cholesky(scaled)
    # 1e4: factor over the rounding of a pivot; safeguard against systems that are nearly singular.
    least = 1e4 * EPS * size.size if least is None else least
    if failed or np.diag(factor).min() ** 2 <= least:
        return None

    def solve(right: Array) -> Array:
        found = lapack.dpotrs(factor, (right.T / size).T, lower=1)[0]
        return np.ascontiguousarray((found.T / size).T)

    return solve


def inverse_of(matrix: Array) -> Array | None:
    """The inverse, or None where the matrix is singular to working precision."""
    scaled, size = _scaled(matrix)
    factor, failed = _cholesky(scaled)
    # The same safeguard as in `factorise`.
    if failed or np.diag(factor).min() ** 2 <= 1e4 * EPS * size.size:
        return None
    lower = np.tril(lapack.dpotri(factor, lower=1)[0] / size / size[:, None])
    return np.ascontiguousarray(lower + np.tril(lower, -1).T)


def pseudo_inverse(matrix: Array, rank: float | None = None) -> Solve:
    """A solver by eigenvalues that leaves out those within rounding of zero.

    ``rank`` is the share of the largest eigenvalue, below which one counts as zero.
    """
    scaled, size = _scaled(matrix)
    with lapack_threads(size.size):
        values, vectors = linalg.eigh(scaled, check_finite=False)
    rank = size.size * EPS if rank is None else rank
    keep = values > values.max(initial=0.0) * rank
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)

    def solve(right: Array) -> Array:
        inside = (inverse * (vectors.T @ (right.T / size).T).T).T
        return np.asarray(((vectors @ inside).T / size).T)

    return solve


def eigenvectors(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a symmetric matrix, which is overwritten.

    Divide and conquer takes three quarters of the time of the other method. It needs memory for two
    more matrices, so a large matrix goes to the other one.
    """
    driver = "evd" if len(matrix) < _LARGE else "evr"
    values, vectors = linalg.eigh(matrix, overwrite_a=True, check_finite=False, driver=driver)
    return values, vectors


def shifted_solutions(matrix: Array, right: Array, shifts: Array) -> Array:
    """(matrix + s·1)⁻¹ right for every s, a row each; matrix ⪰ 0 symmetric, s > 0.

    In the tridiagonal form Q T Qᵀ a shift costs n operations, and computing the form costs a sixth
    of an eigendecomposition. That is used only if rounding leaves T + s·1 indefinite.
    """
    n = right.size
    with lapack_threads(n):
        if n > 2:
            found = _by_tridiagonal(matrix, right, shifts)
            if found is not None:
                return found
        values, vectors = linalg.eigh(matrix, check_finite=False)
        image = (vectors.T @ right) / (np.maximum(values, 0.0) + shifts[:, None])
        return image @ vectors.T


def _by_tridiagonal(matrix: Array, right: Array, shifts: Array) -> Array | None:
    n = right.size
    reduced, diagonal, beside, tau, failed = lapack.dsytrd(matrix.T, lower=1, lwork=64 * n)
    if failed:
        return None
    # Q = diag(1, Q'), the reflectors of Q' being those of a QR factorisation of side n − 1.
    reflectors = np.asfortranarray(reduced[1:, :-1])
    image = np.array(right, dtype=float)
    image[1:] = _reflected(reflectors, tau, image[1:, None], "T")[:, 0]
    found = np.empty((n, shifts.size), order="F")
    for k, shift in enumerate(shifts):
        _, _, found[:, k], failed = lapack.dptsv(diagonal + shift, beside, image)
        if failed:
            return None
    found[1:] = _reflected(reflectors, tau, found[1:], "N")
    return np.ascontiguousarray(found.T)


def _reflected(reflectors: Array, tau: Array, columns: Array, trans: str) -> Array:
    """Q' times the columns, or its transpose times them."""
    work = 64 * max(columns.shape[1], 1)
    product, _, _ = lapack.dormqr("L", trans, reflectors, tau, columns, lwork=work)
    return np.asarray(product)


def solver_for(matrix: Array) -> Solve:
    """Cholesky, or the pseudo-inverse where that fails."""
    return factorise(matrix) or pseudo_inverse(matrix)
