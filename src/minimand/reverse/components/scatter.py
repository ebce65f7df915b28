"""The matrix C = Σ sᵢ(xᵢ − x̄)(xᵢ − x̄)ᵀ, centred before it is multiplied."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import AnyArray, Array
from ..._base.watch import look
from ...design import Design
from ...design.dense import DenseDesign

_BYTES = 1 << 19  # of a block of rows; safeguard: it stays in a cache of the processor
_FEWEST, _MOST = 128, 1024  # rows of a block; safeguard: products of matrices, and their rounding
_EPS_SINGLE = float(np.finfo(np.float32).eps)


class Scatter(NamedTuple):
    """C, x̄, and what rounding may have added to a sum of eigenvalues of C."""

    matrix: Array
    mean: Array
    rounding: float


def scatter(design: Design, weights: Array, centred: bool = True) -> Scatter:
    """C by one pass over the data.

    Arrays are multiplied block by block. The products of a block are summed in the precision of
    the data, and blocks in double precision: for float32 the rounding is that of sums of at most
    1024 numbers, about √1024 units of 6e-8 of the trace.
    """
    if isinstance(design, DenseDesign):
        return _by_blocks(design, weights, centred)
    d = design.shape[1]
    if centred:
        matrix, mean = design.covariance(weights)
    else:
        matrix, mean = design.gram(weights), np.zeros(d)
    depth = float(design.column_sizes.max(initial=1)) ** 0.5
    return Scatter(matrix, mean, 4.0 * EPS * depth * float(np.trace(matrix)))


def _by_blocks(design: DenseDesign, weights: Array, centred: bool) -> Scatter:
    x = design.x
    n, d = x.shape
    kind = x.dtype
    height = int(np.clip(_BYTES // max(d * kind.itemsize, 1), _FEWEST, _MOST))
    # Means of some rows: close enough to those of all that their difference can be put right below.
    rough = design.centre.astype(kind) if centred else np.zeros(d, kind)
    even = bool((weights == weights[0]).all())
    root = None if even else np.sqrt(weights).astype(kind)
    matrix, first = np.zeros((d, d)), np.zeros(d)
    buffer = np.empty((min(height, n), d), kind)
    for start in range(0, n, height):
        if start % (64 * height) == 0:
            look()
        part = x[start : start + height]
        rows = buffer[: part.shape[0]]
        if centred:
            np.subtract(part, rough, out=rows)
        else:
            rows[...] = part
        if root is not None:
            r = root[start : start + height]
            rows *= r[:, None]
            first += r @ rows
        elif centred:
            first += np.ones(rows.shape[0], kind) @ rows
        matrix += rows.T @ rows
    if even:
        matrix *= weights[0]
        first *= weights[0]
    return _corrected(matrix, first, rough, float(weights.sum()), kind, n, height, centred)


def _corrected(
    matrix: Array,
    first: Array,
    rough: AnyArray,
    total: float,
    kind: np.dtype,
    n: int,
    height: int,
    centred: bool,
) -> Scatter:
    """C about the mean, from sums about a rough mean."""
    mean = rough.astype(float)
    if centred:
        shift = first / total
        matrix -= np.outer(first, shift)
        mean = mean + shift
    unit = _EPS_SINGLE if kind == np.float32 else EPS
    depth = unit * min(n, height) ** 0.5 + EPS * (n / height) ** 0.5
    return Scatter(matrix, mean, 4.0 * depth * max(float(np.trace(matrix)), 0.0))
