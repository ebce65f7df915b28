"""The matrix C = Σ sᵢ(xᵢ − x̄)(xᵢ − x̄)ᵀ, centred before it is multiplied."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import AnyArray, Array
from ..._base.watch import look
from ...certificate.centred import scattered, too_much
from ...design import Design
from ...design.dense import DenseDesign
from ...kernels.tiles import runs, spread

_BYTES = 1 << 19  # of a block of rows; safeguard: it stays in a cache of the processor
_FEWEST, _MOST = 128, 1024  # rows of a block; safeguard: products of matrices, and their rounding
_PARTS, _PARTS_BYTES = 16, 1 << 28  # parts of the rows that have sums of their own; safeguards
_SOME = 1000  # rows that tell the spread; safeguard
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
    rough = np.zeros(d, np.float32)
    if centred:
        rough = _rough_mean(design) if again else design.centre.astype(np.float32)
    moved = bool(rough.any())
    root = np.sqrt(weights / weights.max()).astype(np.float32)
    even = bool((root == 1).all())
    sums: dict[int, tuple[Array, Array]] = {}  # of parts of the rows, by their first rows

    def part_of(part: slice) -> None:
        matrix, first = np.zeros((d, d)), np.zeros(d)
        buffer = np.empty((height, d), np.float32)
        for start in range(part.start, part.stop, height):
            look()
            rows, r = x[start : min(start + height, part.stop)], root[start : start + height]
            if moved or not even:
                rows = np.subtract(rows, rough, out=buffer[: len(rows)])
            if not even:
                rows *= r[: len(rows), None]
            first += r[: len(rows)] @ rows
            matrix += rows.T @ rows
        sums[part.start] = matrix, first

    # Every thread has parts of its own: products of such blocks are too small for those of BLAS.
    parts = int(np.clip(_PARTS_BYTES // (8 * d * d), 1, _PARTS))
    if parts == 1:
        part_of(slice(0, n))
    else:
        spread(part_of, runs(n, height * -(-n // (height * parts))), x.size)
    ordered = [sums[start] for start in sorted(sums)]
    matrix, first = ordered[0]
    for other, more in ordered[1:]:
        matrix += other
        first += more
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


def _rough_mean(design: DenseDesign) -> AnyArray:
    """Means of some rows; zeros if they are no larger than the spread, so that little cancels."""
    centre = design.centre
    some = design.x[:: max(1, design.shape[0] // _SOME)]
    if float(centre @ centre) <= float(some.var(axis=0, dtype=float).sum()):
        return np.zeros(centre.size, np.float32)
    return centre.astype(np.float32)
