"""The largest eigenvalues of large sparse matrices, proved by the pivots of a factorisation.

Eigenvalues close to the largest possible one, as those of a graph whose parts hardly touch, take
very many products to tell apart. A sparse factorisation of σI − A finds them in a few solutions of
linear systems, and another one counts them: with cI − A = LDLᵀ, L unit triangular, as many numbers
of D are negative as A has eigenvalues above c (Sylvester's law of inertia).

In floating point cI − A = LU + E with |E| ≤ γ|L||U|, and U is DLᵀ but for rounding. So eigenvalues
of LDLᵀ are those of cI − A up to ‖E + L(U − DLᵀ)‖, a symmetric matrix, whose norm is at most its
largest sum of a row. Nothing is assumed about how large the pivots' multipliers become.

Ritz values θ of j orthonormal columns with the residual R have j eigenvalues of A within ‖R‖. If
θⱼ − ‖R‖ > c, and no more than j eigenvalues are above c, these are the largest: λᵢ ≤ θᵢ + ‖R‖.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ..._base.watch import reason
from .krylov import Krylov
from .ritz import Operator, Ritz, rayleigh_ritz

_MOST_WORK = 2e10  # Σ width² of the rows of an envelope; measured: half a second (50000, a plane)
_BEYOND = 1e-6  # how far the shift σ lies above all eigenvalues; safeguard: systems can be solved
_STEPS = 12  # blocks of solutions; measured: 9 tell 10 eigenvalues of 20000 points apart
_TRIED, _EASY = 3, 0.02  # blocks, after which the k-th eigenvalue is looked at; and how far below 1
# it may be, since products alone tell others apart; safeguards
_CLEAR = 4.0  # residuals between two Ritz values that are to be told apart; safeguard
_ULPS = 4.0  # of a sum, times its length; safeguard
_ALL_ULPS = 16.0  # of a matrix whose entries were rounded; safeguard


class Proved(NamedTuple):
    """The k largest Ritz values, their vectors, and a bound of the sum of the k eigenvalues."""

    values: Array
    vectors: Array
    bound: float
    rounding: float  # that is part of the bound


def proved_by_pivots(matrix: Any, k: int, slack: float) -> Proved | None:
    """The sum of the k largest eigenvalues of a symmetric sparse matrix, none of them above 1.

    None if nothing is proved. The factors of a matrix that is not `is_narrow` fill the memory.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
        Exactly symmetric, with entries ≥ 0.
    slack : float
        How far the bound may be above the Ritz values.
    """
    n = matrix.shape[0]
    matrix = sparse.csc_array(matrix)
    if k >= n:
        return None
    factor = _factor(matrix, 1.0 + _BEYOND)
    if factor is None:
        return None
    inverse = Operator(lambda v: np.asarray(factor.solve(v)), n, np.nan)
    rounding = float(EPS * 16 * k * np.sqrt(n))  # as for all Ritz values of eigenvalues up to 1
    for step, found in enumerate(Krylov(inverse, k, np.random.RandomState(0)), 1):
        ritz = rayleigh_ritz(found.vectors, matrix @ found.vectors, found.values.size)
        j, residual = _split(ritz, k)
        if j and k * (residual + rounding) <= slack:
            size = residual + rounding
            if _are_largest(matrix, ritz, j, size):
                values, vectors = ritz.values[:k], ritz.vectors[:, :k]
                return Proved(values, vectors, float(values.sum()) + k * size, k * rounding)
        easy = step == _TRIED and 1.0 - float(ritz.values[k - 1]) > _EASY
        if easy or step == _STEPS or reason():
            break
    return None


def _split(ritz: Ritz, k: int) -> tuple[int, float]:
    """How many Ritz pairs, k at least, are clearest apart from the next, and their residual."""
    residual = ritz.residual(ritz.values.size)
    sizes = np.sqrt(np.cumsum(np.square(residual).sum(axis=0)))
    gaps = ritz.values[:-1] - ritz.values[1:] - _CLEAR * sizes[:-1]
    if gaps.size < k:
        return 0, np.inf
    j = k + int(np.argmax(gaps[k - 1 :]))
    return (j, float(sizes[j - 1])) if gaps[j - 1] > 0 else (0, np.inf)


def _are_largest(matrix: Any, ritz: Ritz, j: int, size: float) -> bool:
    """Whether no more than j eigenvalues are proved to be above a number below the j Ritz values.

    ``size`` is that of the residual of these j.
    """
    least = float(ritz.values[j - 1]) - size
    level = 0.5 * (least + float(ritz.values[j]))
    factor = _factor(matrix, level)
    if factor is None:
        return False
    lower, upper = abs(factor.L), factor.U
    pivots = upper.diagonal()
    ones = np.ones(len(pivots))
    rest = abs(upper - sparse.diags_array(pivots) @ factor.L.T)
    terms = int(np.bincount(factor.L.indices).max()) + 4
    error = _ULPS * EPS * terms * float((lower @ (abs(upper) @ ones)).max())
    error += float((lower @ (rest @ ones)).max()) + _ALL_ULPS * EPS
    return bool((pivots < 0).sum() <= j and least > level + error)


def _factor(matrix: Any, level: float) -> Any:
    """A factorisation of level·I − matrix with pivots on the diagonal; None if there is none."""
    shifted = sparse.csc_array(sparse.diags_array(np.full(matrix.shape[0], level)) - matrix)
    try:
        factor = splu(
            shifted,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # a pivot is zero
        return None
    pivots = factor.U.diagonal()
    on_diagonal = (factor.perm_r == factor.perm_c).all()
    return factor if on_diagonal and (np.isfinite(pivots) & (pivots != 0)).all() else None


def is_narrow(matrix: Any) -> bool:
    """Whether the rows reach so little to the left, in a good order, that factors are small."""
    order = reverse_cuthill_mckee(sparse.csr_matrix(matrix), symmetric_mode=True)
    places = np.arange(len(order))
    place = np.empty_like(places)
    place[order] = places
    first = places.copy()
    np.minimum.at(first, np.repeat(place, np.diff(matrix.indptr)), place[matrix.indices])
    widths = (places - first).astype(float)
    return bool(widths @ widths <= _MOST_WORK)
