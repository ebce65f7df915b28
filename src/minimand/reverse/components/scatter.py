"""The matrix C = Σ sᵢ(xᵢ − x̄)(xᵢ − x̄)ᵀ, centred before it is multiplied."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ..._base.watch import look
from ...certificate.centred import scattered, too_much
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

    Its rounding is that of sums: some ulp of the trace, times the root of the number of terms.
    """
    if isinstance(design, DenseDesign) and design.x.dtype == np.float32:
        return _in_single(design, weights, centred)
    if centred:
        matrix, mean, removed = scattered(design, weights)
    else:
        matrix, mean, removed = design.gram(weights), np.zeros(design.shape[1]), 0.0
    depth = float(design.column_sizes.max(initial=1)) ** 0.5
    return Scatter(matrix, mean, 4.0 * EPS * depth * (max(float(np.trace(matrix)), 0.0) + removed))


def _in_single(
    design: DenseDesign, weights: Array, centred: bool, *, again: bool = True
) -> Scatter:
    """C of float32 data: products of blocks in single precision, their sum in double.

    That takes half the time of products in double precision. The rounding is that of sums of at
    most 1024 numbers, about √1024 units of 6e-8 of the trace, whatever the number of rows is.
    ``again``: rows whose mean is far from that of some of them are centred a second time.
    """
    x = design.x
    n, d = x.shape
    height = min(int(np.clip(_BYTES // max(4 * d, 1), _FEWEST, _MOST)), n)
    # Means of some rows: close enough to those of all that their difference can be put right below.
    rough = design.centre.astype(np.float32) if centred else np.zeros(d, np.float32)
    root = np.sqrt(weights / weights.max()).astype(np.float32)
    even = bool((root == 1).all())
    matrix, first = np.zeros((d, d)), np.zeros(d)
    buffer = np.empty((height, d), np.float32)
    for start in range(0, n, height):
        look()
        part, r = x[start : start + height], root[start : start + height]
        rows = buffer[: len(part)]
        np.subtract(part, rough, out=rows)
        if not even:
            rows *= r[:, None]
        first += r @ rows
        matrix += rows.T @ rows
    # The squares of rounded roots are the weights that were used: the mean is theirs, too.
    used = root.astype(float) ** 2
    total = float(used.sum())
    mean, removed = rough.astype(float), 0.0
    if centred:
        shift = first / total
        removed = float(first @ shift)
        matrix -= np.outer(first, shift)
        mean = mean + shift
        if again and too_much(removed, matrix):
            return _in_single(design.with_centre(mean), weights, centred, again=False)
    scale = float(weights.sum()) / total
    matrix *= scale
    depth = _EPS_SINGLE * height**0.5 + EPS * (n / height) ** 0.5
    whole = max(float(np.trace(matrix)), 0.0) + scale * removed
    return Scatter(matrix, mean, 4.0 * depth * whole)
