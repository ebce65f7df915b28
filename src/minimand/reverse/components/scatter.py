"""The matrix C = Σ sᵢ(xᵢ − x̄)(xᵢ − x̄)ᵀ, centred before it is multiplied."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._base.in_order import in_order
from ..._base.linear_system import EPS
from ..._base.threads import get_num_threads
from ..._base.typing import AnyArray, Array
from ..._base.watch import look
from ...certificate.eigenvalues.centred import column_matrix, too_much
from ...design import Design
from ...design.dense import DenseDesign
from ...kernels.tiles import runs

_BYTES = 1 << 19  # of a block of rows; safeguard: it stays in a cache of the processor
_FEWEST, _MOST = 128, 1024  # rows of a block; safeguard: products of matrices, and their rounding
_PARTS = 8  # sums of parts of the rows, for threads; safeguard: their order is fixed
_NARROW = 512  # columns, beyond which threads of BLAS share a block, not the rows; safeguard
_LARGE = 1 << 22  # numbers that are worth threads, some milliseconds; safeguard
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
    matrix, mean, removed = column_matrix(design, weights, centred)
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

    def sums(rows: slice) -> tuple[Array, Array]:
        """Σ rᵢ²(xᵢ − rough)(xᵢ − rough)ᵀ and Σ rᵢ²(xᵢ − rough) of some rows."""
        matrix, first = np.zeros((d, d)), np.zeros(d)
        buffer = np.empty((height, d), np.float32)
        for start in range(rows.start, rows.stop, height):
            look()
            part = slice(start, min(start + height, rows.stop))
            near = x[part]
            if moved or not even:
                near = np.subtract(near, rough, out=buffer[: part.stop - start])
            if not even:
                near *= root[part, None]
            first += root[part] @ near
            matrix += near.T @ near
        return matrix, first

    matrix, first = _summed(sums, n, d, height)
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


def _summed(
    sums: Callable[[slice], tuple[Array, Array]], n: int, d: int, height: int
) -> tuple[Array, Array]:
    """The sums over all rows; those of parts on threads of their own if columns are few.

    Threads of BLAS would wait for each other at every block of few columns.
    """
    if d > _NARROW:
        return sums(slice(0, n))
    parts = runs(n, max(height, -(-n // _PARTS)))
    jobs = min(get_num_threads(), len(parts)) if n * d >= _LARGE else 1
    matrices, firsts = zip(*in_order(sums, parts, jobs))
    return np.sum(matrices, axis=0), np.sum(firsts, axis=0)
