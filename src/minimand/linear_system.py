"""Symmetric positive definite systems, scaled to unit diagonal so that units do not matter."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from . import _core
from ._typing import Array, IntArray
from .threads import one_blas_thread

EPS = float(np.finfo(float).eps)
_SMALL, _LARGE = 64, 2000  # sides between which LAPACK's threads would wait more than work

Solve = Callable[[Array], Array]


def _scaled(matrix: Array) -> tuple[Array, Array]:
    """Unit diagonal; a zero one (a constant column) becomes an equation of its own, x = right."""
    diagonal = np.diag(matrix)
    size = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix / size
    scaled /= size[:, None]
    empty = np.flatnonzero(diagonal <= 0)
    scaled[empty, empty] = 1.0
    return scaled, size


def _cholesky(scaled: Array) -> tuple[Array, bool]:
    """The factor, and whether there is none.

    LAPACK itself: scipy.linalg's wrappers cost more than a small factorisation. The upper triangle
    of a C-ordered matrix is the lower one of its transpose, which is in LAPACK's order.
    """
    with one_blas_thread() if _SMALL < len(scaled) < _LARGE else nullcontext():
        factor, failed = lapack.dpotrf(scaled.T, lower=1, overwrite_a=1, clean=0)
    return factor, bool(failed)


def least_pivot(matrix: Array) -> float:
    """The least pivot of the matrix scaled to unit diagonal; 0 where it is singular."""
    scaled, size = _scaled(matrix)
    if not size.size:
        return 1.0
    factor, failed = _cholesky(scaled)
    return 0.0 if failed else float(np.diag(factor).min() ** 2)


def factorise(matrix: Array) -> Solve | None:
    """A Cholesky solver, or None where the matrix is singular to working precision."""
    return _factorised(*_scaled(matrix))


def factorise_block(matrix: Array, places: IntArray, diagonal: Array) -> Solve | None:
    """The same for some rows and columns of a symmetric matrix, with a positive diagonal given."""
    size = np.sqrt(diagonal)
    return _factorised(_core.scaled_block(matrix, places, 1.0 / size), size)


def _factorised(scaled: Array, size: Array) -> Solve | None:
    if not size.size:
        return lambda right: right
    factor, failed = _cholesky(scaled)
    if failed or np.diag(factor).min() ** 2 <= 1e4 * EPS * size.size:
        return None
    return lambda right: np.asarray(lapack.dpotrs(factor, right / size, lower=1)[0]) / size


def pseudo_inverse(matrix: Array) -> Solve:
    """A solver by eigenvalues that leaves out directions below rounding."""
    scaled, size = _scaled(matrix)
    with one_blas_thread() if _SMALL < size.size < _LARGE else nullcontext():
        values, vectors = linalg.eigh(scaled, check_finite=False)
    keep = values > values.max(initial=0.0) * size.size * EPS
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)
    return lambda right: (vectors @ (inverse * (vectors.T @ (right / size)))) / size


def solver_for(matrix: Array) -> Solve:
    """Cholesky, or the pseudo-inverse where that fails."""
    return factorise(matrix) or pseudo_inverse(matrix)
