"""Upper bounds of sums of the largest eigenvalues that cost about as much as a pass over the rows.

Of dense rows that are fewer than their columns, it is their products in single precision. Of
sparse rows, with M = XᵀSX, whose eigenvalues are not below those of the centred M − Wx̄x̄ᵀ (W = Σs),
and m eigenvalues at most that are not 0:

- all eigenvalues of M are at most max (|X|ᵀS|X|v)ⱼ/vⱼ for every v > 0 (Collatz and Wielandt);
- a few steps of a Krylov space and a short random test (`certificate.ritz`) bound the sum too;
- j of m numbers with the sum t₁ and the sum of squares t₂ add up to at most
  jt₁/m + (j(m − j)/m·(t₂ − t₁²/m))^½.

In single precision a product of l numbers is off by γ = (l + 8)·2⁻²⁴ of the product of absolute
values at most, so that the products are off by a matrix whose Frobenius norm is below γ times the
trace, and the sum of k of its eigenvalues by √k of that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ...design import as_design
from .centred import mean_of, misplaced_by, pairs_operator, rows_operator
from .krylov import NARROW, Krylov
from .relaxation import SIDE, Effort, TopSum, top_of_matrix, top_of_operator, top_of_rows
from .ritz import Operator

# Costs are counted in multiply-adds of sparse products.
_FREE = 2e6  # multiply-adds that any bound may take; measured: 5 ms (2000 × 5000, one core)
_DENSE = 0.03  # cost of LAPACK by side³; measured: 0.31 s at 2000, and 1.4 ns for a multiply-add
_BLOCKS = 100  # products with a block of vectors until a bound is proved; measured: 20000 × 50000
_PAIRS = 16.0  # cost of a term of a product of sparse matrices; measured: 20 ns (20000 × 50000)
_SHARE = 0.1  # of the multiply-adds of clusters that a bound may take, which come dear; safeguard
_CHUNK = 1024  # terms of a sum in single precision; safeguard: its rounding, and a cache
_SINGLE = 2.0**-24  # definition: half an ulp of single precision
_SMALLEST = 1e-20  # trace, and its inverse; safeguard: single precision has 38 digits
_SIDE = 128  # of a scatter all of whose eigenvalues are computed soon; safeguard
_PROOF_STEPS = 3  # of a Krylov space of a larger one; safeguard: then follows a proof
_EXTRA = 8  # vectors of a block besides those that are sought; definition: `Krylov`
_POWERS = 1  # more products with |X|ᵀS|X|; measured: four give 5 % less (20000 × 50000)
# Steps and the degree of a test; measured: two and 16 give text of 11000 rows in 20 clusters the
# bound of its eigenvalues.
_MOST_STEPS, _TEST = 4, 24
_CLOSE = 0.02  # of the trace, up to which a bound is not improved by steps; safeguard
_TINY = 1e-100  # traces, and shares of the largest number; safeguard: far from underflow
_ULPS = 16.0  # of sums of numbers, times their length; safeguard
_NONE = np.empty(0)


def top_within(X: Any, k: int, *, weights: Array | None = None, budget: float = math.inf) -> TopSum:
    """`top_of_rows` if it costs at most so many multiply-adds, else a bound that costs little.

    Parameters
    ----------
    X : array, sparse matrix or Design of shape (n, d)
    k : int
    weights : ndarray of shape (n,), optional
        Ones by default.
    budget : float
        Multiply-adds, such as those of the clustering that the bound is for. 0 asks for the cheap
        bound at any rate, which is far below the price of the pairs of sparse rows.
    """
    if not k:
        return top_of_rows(X, k, weights=weights)
    if not sparse.issparse(X):
        n, d = X.shape
        dear = n < d and n <= SIDE and _SHARE * budget < 1.0 * n * n * d
        found = _in_single(X, k, weights) if dear else None
        return top_of_rows(X, k, weights=weights) if found is None else found
    budget *= _SHARE
    allowed = max(budget, _FREE) if budget > 0 else 0.0
    if _price(X, k) <= allowed:
        return top_of_rows(X, k, weights=weights)
    s = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    return _rough(X.tocsr(), k, s, allowed)


def _in_single(X: Array, k: int, weights: Array | None) -> TopSum | None:
    """Of the products of dense rows, in single precision; None where that is not for certain."""
    n, d = X.shape
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    design, k = as_design(X), min(k, n)
    mean = mean_of(design, s)
    total, matrix = 0.0, np.zeros((n, n), dtype=np.float32)
    room = np.empty(n * min(d, _CHUNK))
    single = np.empty(room.size, dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, d, _CHUNK):
            part = slice(start, min(start + _CHUNK, d))
            size = n * (part.stop - start)
            x, short = room[:size].reshape(n, -1), single[:size].reshape(n, -1)
            np.subtract(X[:, part], mean[part], out=x)
            if weights is not None:
                x *= np.sqrt(s)[:, None]
            total += float(np.vdot(x, x))
            short[:] = x
            matrix += short @ short.T
    if not _SMALLEST < total < 1.0 / _SMALLEST:  # single precision might not hold its numbers
        return None
    gamma = (min(d, _CHUNK) + math.ceil(d / _CHUNK) + 8) * _SINGLE
    rounding = _ULPS * EPS * (math.sqrt(d) * total + misplaced_by(design, s, mean))
    double, near = matrix.astype(float), None
    if n > _SIDE:
        space = Krylov(Operator(lambda v: double @ v, n, total), k, np.random.RandomState(0))
        near = space.grown(_PROOF_STEPS)[0].vectors
    found = top_of_matrix(double, k, near=near, slack=_CLOSE * total)
    rounding += found.rounding
    bound = found.bound + gamma * math.sqrt(k) * total + rounding
    rest = max(total - bound, 0.0)
    return TopSum(found.values, bound, total, rest, rounding, exact=False)


def _price(X: Any, k: int) -> float:
    """What `top_of_rows` costs, about."""
    side = min(X.shape)
    if side <= SIDE:
        return X.nnz + _DENSE * float(side) ** 3
    return float(X.nnz) * _BLOCKS * (k + _EXTRA)


def _rough(X: Any, k: int, s: Array, allowed: float) -> TopSum:
    design = as_design(X)
    mean = mean_of(design, s)
    # The trace, with what rounding may have done to it.
    operator = rows_operator(design, s, mean)
    total, rank = operator.trace, min(X.shape)
    if not _TINY < total < 1.0 / _TINY:  # its square might underflow, or overflow
        return top_of_rows(X, k, weights=s)
    rounding = _ULPS * EPS * math.sqrt(rank) * total + operator.rounding
    k = min(k, rank)
    x = sparse.csr_array(X, dtype=float)
    sizes = abs(x) if x.data.min(initial=0.0) < 0 else x
    sums = [total, k * _largest(sizes, s)]
    # No sum of squared counts is below that of equal ones.
    pairs = _PAIRS * float(x.nnz) ** 2 / max(x.shape) <= allowed
    by_row = np.diff(x.indptr).astype(float) if pairs else _NONE
    by_column = np.bincount(x.indices, minlength=x.shape[1]).astype(float) if pairs else _NONE
    if pairs and _PAIRS * min(float(by_row @ by_row), float(by_column @ by_column)) <= allowed:
        columns = float(by_row @ by_row) < float(by_column @ by_column)
        squares = _squares(x, s, mean, columns=columns)
        # t₁ may be too large or too small by rounding: the smallest t₁² and the largest t₁ count.
        least = max(total - rounding, 0.0)
        spread = max(squares - least * least / rank, 0.0)
        mean_value = (total + rounding) / rank
        sums.append(k * mean_value + math.sqrt(k * (rank - k) / rank * spread))
    bound = min(sums) + rounding
    rest = max(total - bound, 0.0)
    found = TopSum(np.empty(0), bound, total, rest, rounding, exact=False)
    steps = _steps_within(x, k, allowed)
    if not steps or bound <= _CLOSE * total:
        return found
    if x.shape[0] < x.shape[1]:
        operator = pairs_operator(design, s, mean)
    effort = Effort(steps, _TEST, NARROW)
    closer = top_of_operator(operator, k, _CLOSE, 0, threads=False, effort=effort)
    return closer if closer.bound < bound else found


def _steps_within(X: Any, k: int, allowed: float) -> int:
    """Steps of a Krylov space that cost at most so much together with a test.

    A column is multiplied by X twice, four at a time, and made orthogonal to the others: about as
    much time as this counts (11000 × 42000, 5 and 20 clusters).
    """
    columns = k + _EXTRA
    each = float(X.nnz + min(X.shape) * columns)
    return max(min(int((allowed - 2.0 * _TEST * each) / (columns * each)), _MOST_STEPS), 0)


def _largest(sizes: Any, s: Array) -> float:
    """An upper bound of the largest eigenvalue of |X|ᵀS|X|, by v = its powers times ones."""
    depth = float(sum(sizes.shape))  # terms of the longest sums at most, all of them ≥ 0
    v = sizes.T @ (s * (sizes @ np.ones(sizes.shape[1])))
    used = v > 0
    if not used.any():
        return 0.0
    bound = float(v.max())
    for _ in range(_POWERS):
        v /= v.max()
        if not (v[used] > _TINY).all():  # quotients of numbers that may underflow are not exact
            break
        found = sizes.T @ (s * (sizes @ v))
        with np.errstate(over="ignore"):
            bound = min(bound, float((found[used] / v[used]).max()))
        v = found
    return bound * (1.0 + _ULPS * EPS * depth)


def _squares(x: Any, s: Array, mean: Array, *, columns: bool) -> float:
    """An upper bound of ‖M − Wx̄x̄ᵀ‖²_F = ‖M‖²_F − 2WΣs(x·x̄)² + W²‖x̄‖⁴."""
    scaled = sparse.diags_array(np.sqrt(s)).tocsr() @ x
    pairs = scaled.T @ scaled if columns else scaled @ scaled.T
    squares = float(pairs.data @ pairs.data)
    total, along = float(s.sum()), x @ mean
    lean = total * float(mean @ mean)
    trace = float(scaled.data @ scaled.data)
    rounding = _ULPS * EPS * float(sum(x.shape)) * trace * trace
    return squares - 2.0 * total * float(s @ (along * along)) + lean * lean + rounding
