"""Products of rows about weighted means, what was subtracted to get them, and squared norms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ...design import Design
from ...design.dense import DenseDesign
from ...design.near_zero import near_zero
from .ritz import Operator

_FAR = 1e4  # squared mean, in units of the variance, from which rows are centred first; safeguard
_ULPS = 4.0  # of what was subtracted, times the root of the number of terms; safeguard
_MOST = 9.0  # traces that may be subtracted before rows are centred again; safeguard: one digit


class Scattered(NamedTuple):
    """Products of centred rows, their mean x̄, and the trace subtracted, whose rounding stays.

    The products are Σ s(x − x̄)(x − x̄)ᵀ, or S^½(X − 1x̄ᵀ)(X − 1x̄ᵀ)ᵀS^½.
    """

    matrix: Array
    mean: Array
    removed: float


def mean_of(design: Design, weights: Array, centred: bool = True) -> Array:
    """The weighted mean of the rows; zeros if they are not centred."""
    if not centred:
        return np.zeros(design.shape[1])
    return np.asarray(design.moments(weights).first / float(weights.sum()))


def scattered(design: Design, weights: Array) -> Scattered:
    """The scatter of the rows about their weighted mean.

    Dense rows are centred about the mean of some of them while they are multiplied. Where a few
    rows have most of the weight, that can be far from the weighted mean: then they are centred
    about this one, in a second pass.
    """
    design, shift = near_zero(design)
    matrix, mean = design.covariance(weights)
    centre = design.centre if isinstance(design, DenseDesign) else 0.0
    removed = float(weights.sum()) * float(np.square(mean - centre).sum())
    if isinstance(design, DenseDesign) and too_much(removed, matrix):
        matrix, mean = design.with_centre(mean).covariance(weights)
        removed = 0.0
    # Columns that seem to be constant were set to zero; they may have varied by that much.
    dropped = mean[np.diag(matrix) == 0]
    removed += design.constant_below**2 / EPS * float(weights.sum()) * float(dropped @ dropped)
    return Scattered(matrix, mean + shift, removed)


def column_matrix(design: Design, weights: Array, centred: bool = True) -> Scattered:
    """`scattered`; about zero if the rows are not centred."""
    if centred:
        return scattered(design, weights)
    return Scattered(design.gram(weights), mean_of(design, weights, False), 0.0)


def row_matrix(design: Design, weights: Array, centred: bool = True) -> Scattered:
    """The inner products of the rows, times the roots of their weights."""
    root = np.sqrt(weights)
    if not centred:
        mean = mean_of(design, weights, False)
        return Scattered(design.row_gram() * np.outer(root, root), mean, 0.0)
    near, shift = near_zero(design)
    mean = mean_of(near, weights)
    matrix = near.row_gram(centre=mean) * np.outer(root, root)
    removed = misplaced_by(near, weights, mean)
    if near.sparse:  # dense rows are centred before they are multiplied
        removed += float(weights.sum()) * float(mean @ mean)
    return Scattered(matrix, mean + shift, removed)


def rows_operator(design: Design, weights: Array, mean: Array) -> Operator:
    """Σ sᵢ(xᵢ − mean)(xᵢ − mean)ᵀ as an operator: a product is one pass over the rows.

    The mean is subtracted from the products, if it is not so large that digits would be lost; else
    from blocks of rows, before they are multiplied.
    """
    n, d = design.shape
    total = float(weights.sum())
    design, shift = near_zero(design) if mean.any() else (design, 0.0)
    rounding = _ULPS * EPS * misplaced_by(design, weights, mean)
    mean = mean - shift
    with np.errstate(over="ignore", invalid="ignore"):
        first, second = design.moments(weights)
        trace = float(second.sum()) + float(mean @ (total * mean - 2.0 * first))
        removed = total * float(mean @ mean)
        near = removed <= _FAR * trace
    if near or design.sparse:
        side, each = weights[:, None], np.ones(n)

        def product(v: Array) -> Array:
            t = design.matvec(np.ascontiguousarray(v))
            t -= mean @ v
            t *= side
            found = design.rmatvec(t)
            found -= np.multiply.outer(mean, each @ t)
            return found

        rounding += _ULPS * EPS * math.sqrt(n) * removed
        return Operator(product, d, max(trace, 0.0), rounding=rounding)

    def of_block(x: Any, s: Array, v: Array) -> Array:
        x = x - mean
        return np.asarray(x.T @ (s[:, None] * (x @ v)))

    trace = design.reduce(lambda x, s: float(s @ ((x - mean) ** 2).sum(axis=1)), weights)
    return Operator(
        lambda v: design.reduce(lambda x, s: of_block(x, s, v), weights),
        d,
        trace,
        rounding=rounding,
    )


def pairs_operator(design: Design, weights: Array, mean: Array) -> Operator:
    """S^½(X − 1·meanᵀ)(X − 1·meanᵀ)ᵀS^½ as an operator, for sparse rows.

    But for zeros it has the eigenvalues of `rows_operator`.
    """
    same = rows_operator(design, weights, mean)
    near, shift = near_zero(design) if mean.any() else (design, 0.0)
    mean = mean - shift
    root = np.sqrt(weights)[:, None]
    each = np.ones(design.shape[0])

    def product(v: Array) -> Array:
        u = root * v
        t = near.rmatvec(u)
        t -= np.multiply.outer(mean, each @ u)
        found = near.matvec(np.ascontiguousarray(t))
        found -= mean @ t
        found *= root
        return found

    return Operator(product, design.shape[0], same.trace, rounding=same.rounding)


def misplaced_by(design: Design, weights: Array, mean: Array) -> float:
    """The trace that counts for what centring about a rounded mean adds, in the unit of `removed`.

    A sum of n numbers is off by about √n ulp, so that the mean is off by δ = √n·EPS·|mean|, and
    rows centred about it have the scatter Σs·δδᵀ besides.
    """
    return design.shape[0] * EPS * float(weights.sum()) * float(mean @ mean)


def too_much(removed: float, matrix: Array) -> bool:
    """Whether digits have cancelled when this was subtracted from the trace of a scatter."""
    return removed > _MOST * float(np.trace(matrix))


def scaled_squares(K: Any, scale: Array) -> float:
    """‖Δ(scale) K Δ(scale)‖²_F."""
    squared = scale**2
    if sparse.issparse(K):
        return float(squared @ (K.multiply(K) @ squared))
    total = 0.0
    for start in range(0, K.shape[0], 512):  # rows; safeguard: temporaries stay small
        part = np.asarray(K[start : start + 512], dtype=float)
        total += float(squared[start : start + 512] @ ((part * part) @ squared))
    return total
