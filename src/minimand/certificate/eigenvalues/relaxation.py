"""Upper bounds of sums of the largest eigenvalues: what relaxed clusterings and components attain.

With outputs Y that are free, min ½‖X − YU‖² keeps the k largest eigenvalues of XᵀX and loses the
others. Clusters are such outputs too, so that no clustering loses less: an upper bound of the sum
of the largest eigenvalues is a lower bound of the objective of k-means, of kernel k-means (with K)
and of the normalised cut (with Λ^-½KΛ^-½, Λ = Δ(K1)). All functions here give a `TopSum`, whose
``bound`` is never too low: all eigenvalues of the smaller side are computed where it is short,
else Ritz values are completed by a bound of what they leave out (`certificate.ritz`).
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.eigenvalues import largest_eigenvalues
from ..._base.linear_system import EPS
from ..._base.threads import lapack_threads, one_blas_thread
from ..._base.typing import Array
from ..._base.watch import reason
from ...design import as_design
from .centred import column_matrix, mean_of, row_matrix, rows_operator, scaled_squares
from .deflated import proved_top
from .krylov import Krylov
from .pivots import is_narrow, proved_by_pivots
from .ritz import Above, Operator, bounded_above, of_usual_size

SIDE = 2000  # side of matrices all of whose eigenvalues are computed; safeguard: a second or two
_FEW = 4  # one in so many vectors at most: more are not proved but computed; safeguard
_CLOSE = 1e-10  # share of the trace that a proof may leave open instead of eigenvalues; safeguard
_FEW_STEPS = 8  # of a Krylov space, before pivots are looked at; safeguard
_STEPS = 30  # block products of a Krylov space; safeguard
_ROWS = 128  # rows whose products are summed first; definition: kBlockRows of core/dense/gram.cpp
# Largest degree of a random test: products with sparse matrices take little time. Safeguards.
_DEGREE, _SPARSE_DEGREE = 96, 384


class Effort(NamedTuple):
    """Steps of a Krylov space, the degree of a random test, and the columns of a block; at most."""

    steps: int = _STEPS
    degree: int = _DEGREE
    width: int | None = None  # `Krylov`


@dataclass(frozen=True, eq=False)
class TopSum:
    """The largest eigenvalues of a positive semidefinite matrix, and a bound of their sum.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Eigenvalues, or Ritz values that are not above them, the largest first; k may be less than
        was asked for if the matrix is smaller.
    bound : float
        An upper bound of the sum of the k largest eigenvalues, `rounding` included.
    total : float
        The sum of all eigenvalues, the trace.
    discarded : float
        A lower bound of the sum of all other eigenvalues, ≥ 0: total − bound.
    rounding : float
        What rounding may add to the sum, an estimate from above.
    exact : bool
        Whether all eigenvalues were computed, so that nothing but rounding is uncertain.
    certain : bool
        False if the bound rests on a random vector, which is wrong in one case of 10¹⁶.
    vectors : ndarray of shape (size, k) or None
        Eigenvectors or Ritz vectors, if they were asked for.
    """

    values: Array
    bound: float
    total: float
    discarded: float
    rounding: float
    exact: bool = True
    certain: bool = True
    vectors: Array | None = field(default=None, repr=False)

    @property
    def attained(self) -> float:
        """The sum of `values`: the largest sum is between this and `bound`."""
        return float(self.values.sum())

    def times(self, unit: float) -> TopSum:
        """That of a multiple of the matrix."""
        numbers = ("values", "bound", "total", "discarded", "rounding")
        return replace(self, **{name: unit * getattr(self, name) for name in numbers})


def top_of_rows(
    X: Any,
    k: int,
    *,
    weights: Array | None = None,
    centred: bool = True,
    remainder: Array | None = None,
    tol: float = 1e-6,
    random_state: Any = 0,
) -> TopSum:
    r"""The k largest eigenvalues of Σ sᵢ(xᵢ − x̄)(xᵢ − x̄)ᵀ, x̄ the weighted mean.

    Parameters
    ----------
    X : array, sparse matrix or Design of shape (n, d)
    k : int
        0 gives an empty sum: all eigenvalues are discarded.
    weights : ndarray of shape (n,), optional
        s; ones by default.
    centred : bool, default=True
        False: x̄ = 0.
    remainder : ndarray of shape (n,), optional
        X is the factor of a kernel matrix K = XXᵀ + R with R ⪰ 0, and this the diagonal of R: the
        bound is that for K then. (S_k(XXᵀ + R) ≤ S_k(XXᵀ) + tr R, and tr R also belongs to the
        total, so that ``discarded`` is that of X.)
    tol : float
        Share of the total; a bound that is closer than that is not improved further.
    """
    design = as_design(X)
    n, d = design.shape
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    charge = 0.0 if remainder is None else float(s @ remainder)
    if min(n, d) > SIDE:
        operator = rows_operator(design, s, mean_of(design, s, centred))
        found = top_of_operator(operator, k, tol, random_state, threads=not design.sparse)
    else:
        matrix, _, removed = (column_matrix if d <= n else row_matrix)(design, s, centred)
        depth = min(n, _ROWS + n / _ROWS) if d <= n else d
        found = top_of_matrix(matrix, k, depth=depth, removed=removed)
    if not charge:
        return found
    # With k = 0 no direction keeps a part of R. Centring may: R can lie along the features' mean.
    kept = charge if k or centred else 0.0
    return TopSum(
        found.values,
        found.bound + kept,
        found.total + charge,
        found.discarded + charge - kept,
        found.rounding,
        found.exact,
        found.certain,
    )


def top_of_kernel(
    K: Any,
    k: int,
    *,
    weights: Array | None = None,
    centred: bool = False,
    tol: float = 1e-6,
    random_state: Any = 0,
    start: Array | None = None,
) -> TopSum:
    """The k largest eigenvalues of S^½KS^½, or of S^½HKHᵀS^½ with H = I − 1sᵀ/Σs if ``centred``.

    Parameters
    ----------
    K : array or sparse matrix of shape (n, n)
        Symmetric and positive semidefinite.
    k : int
    weights : ndarray of shape (n,), optional
        s, the diagonal of S; ones by default.
    start : ndarray of shape (n, at least k), optional
        Columns close to the eigenvectors, if any are known.
    """
    n = K.shape[0]
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    root = np.sqrt(s)
    if n <= SIDE:
        square = _dense(K)
        if centred:
            means = square @ (s / s.sum())
            square = square - means - means[:, None] + float(means @ s) / float(s.sum())
        if weights is not None:
            square = square * np.outer(root, root)
        slack = _CLOSE * abs(float(np.trace(square)))
        return top_of_matrix(square, k, near=start, slack=slack)
    share = s / s.sum()

    def product(v: Array) -> Array:
        u = root[:, None] * v
        if centred:
            u = u - share[:, None] * u.sum(axis=0)
        found = np.asarray(K @ u, dtype=float)
        if centred:
            found = found - share @ found
        return root[:, None] * found

    diagonal = np.asarray(K.diagonal(), dtype=float)
    means = np.asarray(K @ share, dtype=float) if centred else np.zeros(n)
    inner = diagonal - 2.0 * means + (float(share @ means) if centred else 0.0)
    # Centring is a projection in the metric of S, so that it does not raise the norm.
    squares = scaled_squares(K, root)
    operator = Operator(product, n, float(s @ inner), squares)
    return top_of_operator(operator, k, tol, random_state, sparse.issparse(K), start)


def top_of_normalised(
    K: Any,
    k: int,
    *,
    weights: Array | None = None,
    tol: float = 1e-6,
    random_state: Any = 0,
    start: Array | None = None,
) -> TopSum:
    """The k largest eigenvalues of Λ^-½KΛ^-½ with Λ = Δ(K1); the largest of all is 1.

    K must be symmetric with entries ≥ 0 and without a row of zeros; it need not be positive
    semidefinite, since all eigenvalues lie between −1 and 1. With ``weights`` s every row counts
    as s copies of it: Λ = Δ(Ks), and S^½ stands on both sides. ``discarded`` is k less the bound:
    no cut into k clusters has a smaller normalised cut.

    ``start`` are columns close to the eigenvectors, some more than k of them, if any are known.
    """
    n = K.shape[0]
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    degrees = np.asarray(K @ s, dtype=float)
    scale = np.sqrt(s / degrees)
    trace = float(scale**2 @ np.asarray(K.diagonal(), dtype=float))
    if n <= SIDE:
        if sparse.issparse(K):
            square = _dense(sparse.diags_array(scale) @ K @ sparse.diags_array(scale))
        else:
            square = np.asarray(K, dtype=float) * scale
            square *= scale[:, None]
        found = top_of_matrix(square, k, near=start, slack=tol * k)
    else:

        def product(v: Array) -> Array:
            return scale[:, None] * np.asarray(K @ (scale[:, None] * v), dtype=float)

        operator = Operator(product, n, trace, scaled_squares(K, scale), least=-1.0, most=1.0)
        # The eigenvector for the eigenvalue 1 is known, Λ^½1, and the search begins with it.
        if start is None:
            start = np.random.RandomState(0).standard_normal((n, min(n, k + 8)))
            start[:, 0] = np.sqrt(s * degrees)
        found = _of_graph(operator, K, scale, k, tol, random_state, start)
    least = min(found.bound, float(min(k, n)))  # none is above 1
    values = np.minimum(found.values, 1.0)
    return TopSum(
        values,
        least,
        trace,
        max(min(k, n) - least, 0.0),
        found.rounding,
        found.exact,
        found.certain,
        found.vectors,
    )


def _of_graph(
    operator: Operator, K: Any, scale: Array, k: int, tol: float, random_state: Any, start: Array
) -> TopSum:
    """The k largest eigenvalues of Δ(scale)KΔ(scale), the operator, none of them above 1.

    Where products do not tell them apart, and the factors of K are sparse, by pivots.
    """
    cheap = sparse.issparse(K)
    narrow = cheap and is_narrow(K)
    few = Effort(_FEW_STEPS, _DEGREE) if narrow else None
    found = top_of_operator(operator, k, tol, random_state, cheap, start, effort=few)
    if not narrow or found.bound - found.attained <= tol * k or reason():
        return found
    scaled = sparse.csc_array(sparse.diags_array(scale) @ K @ sparse.diags_array(scale))
    proved = proved_by_pivots(0.5 * (scaled + scaled.T), k, tol * k)
    if proved is None:
        return top_of_operator(operator, k, tol, random_state, cheap, start)
    rest = max(operator.trace - proved.bound, 0.0)
    return TopSum(
        proved.values,
        proved.bound,
        operator.trace,
        rest,
        proved.rounding,
        exact=False,
        vectors=proved.vectors,
    )


def top_of_matrix(
    matrix: Array,
    k: int,
    *,
    depth: float = 1.0,
    removed: float = 0.0,
    near: Array | None = None,
    slack: float = 0.0,
) -> TopSum:
    """The k largest eigenvalues of a symmetric matrix in memory.

    ``depth`` is the number of products that were added up in an entry, which sets its rounding, and
    ``removed`` what was subtracted from the trace.
    ``near`` are columns close to the eigenvectors, if any are known: a bound that is at most
    ``slack`` above what they attain is enough then.
    """
    side, total = matrix.shape[0], float(np.trace(matrix))
    k = min(int(k), side)
    if k == 0:
        return _top_of_none(total, 2.0 * depth * EPS * (abs(total) + removed))
    with lapack_threads(side):
        proved = None
        if near is not None and _FEW * near.shape[1] <= side:
            proved = proved_top(matrix, near, k, slack)
        values = largest_eigenvalues(matrix, k)[::-1].copy() if proved is None else proved[0]
    top = max(abs(float(values[0])), abs(total) / side)
    # An error E of the matrix moves the sum by at most k·‖E‖; side·EPS·‖A‖ is LAPACK's.
    rounding = EPS * (k * side * top + 2.0 * depth * (abs(total) + removed))
    bound = (float(values.sum()) if proved is None else proved[1]) + rounding
    rest = max(total - bound, 0.0)
    return TopSum(values, bound, total, rest, rounding, exact=proved is None)


def top_of_operator(
    operator: Operator,
    k: int,
    tol: float,
    random_state: Any,
    cheap: bool = False,
    start: Array | None = None,
    *,
    threads: bool | None = None,
    effort: Effort | None = None,
) -> TopSum:
    """Ritz values until the bound by norms is close, or until they are accurate.

    ``cheap``: products are, as those of a sparse matrix. ``threads``: whether BLAS computes them;
    else its threads would be in the way of those that do. ``effort``: what it may take at most.
    """
    k = min(int(k), operator.size)
    if k == 0:
        rounding = EPS * 16 * math.sqrt(operator.size) * abs(operator.trace) + operator.rounding
        return _top_of_none(operator.trace, rounding)
    operator, unit = of_usual_size(operator)
    with nullcontext() if (not cheap if threads is None else threads) else one_blas_thread():
        rng = np.random.RandomState(random_state)
        most = effort or Effort(degree=_SPARSE_DEGREE if cheap else _DEGREE)
        found = _top_of_ritz(operator, k, tol, rng, most, start)
    return found if unit == 1 else found.times(unit)


def _top_of_ritz(
    operator: Operator,
    k: int,
    tol: float,
    rng: np.random.RandomState,
    effort: Effort,
    start: Array | None,
) -> TopSum:
    # No k eigenvalues sum to more than k times the largest that is possible.
    target = tol * min(abs(operator.trace), k * operator.most)
    space = Krylov(operator, k, rng, start, width=effort.width)
    for step, found in enumerate(space, 1):
        small = EPS * operator.size + 1e-2 * math.sqrt(tol)  # of residuals; their square counts
        accurate = np.linalg.norm(found.residual(k)) <= small * abs(found.values[0])
        if accurate or step == effort.steps or reason():
            break
    ritz = space.for_a_proof()
    aim = float(ritz.values[:k].sum()) + target
    above: Above = bounded_above(operator, ritz, k, aim, rng, effort.degree)
    values = ritz.values[:k]
    rounding = EPS * 16 * k * math.sqrt(operator.size) * abs(float(values[0])) + operator.rounding
    bound = min(above.bound, k * operator.most) + rounding
    rest = max(operator.trace - bound, 0.0)
    return TopSum(
        values, bound, operator.trace, rest, rounding, False, above.certain, ritz.vectors[:, :k]
    )


def _top_of_none(total: float, rounding: float) -> TopSum:
    """The sum of no eigenvalue at all: everything is discarded, as by a single cluster."""
    return TopSum(np.empty(0), rounding, total, max(total - rounding, 0.0), rounding)


def _dense(K: Any) -> Array:
    return np.asarray(K.toarray() if sparse.issparse(K) else K, dtype=float)
