"""The largest eigenvalues of a matrix in memory whose eigenvectors are about known, proved.

With V the vectors and any Ω ⪰ 0, a Cholesky factorisation of cI − A + VΩVᵀ proves that no
eigenvalue of A exceeds c on the complement of V. (Ω are the Ritz values Θ where all are positive,
so that c is what stands in their place.) That is what the bound of `certificate.ritz` asks for, and
it takes a quarter of the operations of all eigenvalues, or less time still in single precision: c
need not be sharp, only below the least Ritz value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg

from ..._base.linear_system import EPS
from ..._base.typing import AnyArray, Array
from .ritz import (
    Operator,
    Ritz,
    is_usual,
    largest_on_complement,
    orthonormal,
    rayleigh_ritz,
    sum_above,
)

_BELOW = 0.02  # of the least Ritz value: how far below it the rest is tried first; safeguard
_LOOSE = 4.0  # times what single precision loses of the least value; safeguard
_SINGLE = 1e-20, 1e20  # sizes of matrices that single precision holds: beyond, their entries, or
# the products of a factorisation, underflow or overflow; safeguard
_FACTOR = 4.0  # ulp for each row that a Cholesky factorisation may lose; safeguard


def proved_top(matrix: Array, near: Array, k: int, slack: float) -> tuple[Array, float] | None:
    """The k largest Ritz values in the span of ``near``, and a bound of the k largest eigenvalues.

    The bound is that of their sum, and no further above the Ritz values than ``slack``; None if
    that cannot be proved, as where the span misses one of the largest eigenvectors. The matrix is
    symmetric; the rounding of its own entries is not included.
    """
    basis = orthonormal(near)
    if basis.shape[1] < k:
        return None
    ritz = rayleigh_ritz(basis, (basis.T @ matrix).T, basis.shape[1])
    values, residual = ritz.values[:k], ritz.residual(k)
    # The basis is orthonormal but for rounding, by which Ritz values may be too low.
    rounding = EPS * 16 * k * math.sqrt(matrix.shape[0]) * float(np.abs(values).max())
    most = float(values.sum()) + slack - rounding
    size = float(linalg.norm(matrix, check_finite=False))
    if not is_usual(size):
        return None
    operator = Operator(lambda x: matrix @ x, matrix.shape[0], 0.0, size**2, least=-math.inf)
    bound = sum_above(values, residual, largest_on_complement(operator, ritz, k))
    if bound <= most:
        return values, bound + rounding
    for level, kind in _levels(ritz, k, slack, size):
        bound = sum_above(values, residual, level)
        if bound <= most and _is_above(matrix, ritz, k, level, size, kind):
            return values, bound + rounding
    return None


def _levels(ritz: Ritz, k: int, slack: float, size: float) -> list[tuple[float, Any]]:
    """Numbers c to be tried, each with the precision of the test."""
    least = float(ritz.values[k - 1])
    lower = least - _BELOW * (least if least > 0 else float(np.abs(ritz.values).max()))
    if ritz.values.size > k:
        lower = max(lower, 0.5 * (least + float(ritz.values[k])))
    # The other test allows for eigenvalues that are equal to the least one.
    above = least + 0.25 * slack / k
    levels: list[tuple[float, Any]] = [(lower, np.float64), (above, np.float64)]
    if not _SINGLE[0] <= size <= _SINGLE[1]:
        return levels
    levels = [(lower, np.float32), *levels]
    # Where the slack is far above the rounding of single precision, that proves it soonest.
    lost = _FACTOR * float(np.finfo(np.float32).eps) * len(ritz.vectors) * abs(least)
    loose = above - least > _LOOSE * lost
    return [(above, np.float32), *levels] if loose else levels


def _is_above(matrix: Array, ritz: Ritz, k: int, level: float, size: float, kind: Any) -> bool:
    """Whether ``level`` is proved to exceed all eigenvalues off the first k Ritz vectors.

    An error of the size that rounding may have in this precision is subtracted from the level.
    """
    n, unit = matrix.shape[0], float(np.finfo(kind).eps)
    values, vectors = ritz.values[:k], ritz.vectors[:, :k]
    if not (level > 0 and values[-1] > 0):
        values = np.maximum(values - level, 0.0) + float(np.abs(values).max())
    own = np.einsum("ij,j,ij->i", vectors, values, vectors) - matrix.diagonal()
    largest = max(level + float(own.max()), 0.0)  # on the diagonal of what is factorised
    copied = size + 2.0 * float(np.linalg.norm(values))
    error = unit * (copied + _FACTOR * n * largest)
    if ritz.values.size > k and level - error <= ritz.values[k]:
        return False
    rest: AnyArray = np.array(matrix, dtype=kind, order="C").T  # in the order of LAPACK
    syrk, potrf = linalg.get_blas_funcs("syrk", [rest]), linalg.get_lapack_funcs("potrf", [rest])
    columns = np.asfortranarray(vectors * np.sqrt(values), dtype=kind)
    rest = syrk(1.0, columns, -1.0, rest, lower=True, overwrite_c=True)
    rest[np.diag_indices(n)] += kind(level - error)
    return int(potrf(rest, lower=True, overwrite_a=True, clean=False)[1]) == 0
