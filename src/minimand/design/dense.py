"""A dense matrix in memory, float32 or float64, in C or Fortran order, used without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import sparse

from .. import _core
from .._base.typing import AnyArray, Array, IntArray
from .base import (
    Access,
    Block,
    Covariance,
    Design,
    Lines,
    Moments,
    Reach,
    plain,
    without_constants,
)
from .rough import RoughProducts, floats
from .sparse import SparseDesign

_BLOCK_BYTES = 1 << 22  # bytes of a row block as float64; safeguard: fits a cache
_WIDE = 8, 20  # vectors, from which BLAS beats sums of lines, and dots with long lines; measured
_LONG = 64  # numbers in a long line; measured with 10 vectors: BLAS wins on 50, the core on 64
_SAMPLE = 1000  # rows for a rough mean, or a rough share of zeros; safeguard
_FEW = 0.3  # share of numbers that are not zero, below which products leave zeros out; measured


def in_lines(x: AnyArray) -> AnyArray:
    """The matrix itself if compiled code can read it, else a copy in C order.

    Its rows or its columns must be contiguous, must not overlap (windows of
    `numpy.lib.stride_tricks.sliding_window_view` do), and must be aligned (a field of a packed
    record is not). The stride of an axis of length one is ignored.
    """
    (n, d), (down, along), size = x.shape, x.strides, x.itemsize
    rows = (d <= 1 or along == size) and (n <= 1 or (down >= d * size and down % size == 0))
    columns = (n <= 1 or down == size) and (d <= 1 or (along >= n * size and along % size == 0))
    return x if x.flags.aligned and (rows or columns) else plain(x)


def without_zeros(x: AnyArray, memory: float) -> SparseDesign | None:
    """The numbers that are not zero as CSR, or as CSC in Fortran order; None if most are not.

    The copy takes at most ``memory`` bytes. Products with it differ from those with x in their
    rounding only.
    """
    by_rows = x.strides[1] == x.itemsize or x.shape[1] <= 1
    lines, length = x.shape if by_rows else x.shape[::-1]
    every = max(1, lines // _SAMPLE)
    sample = _nonzeros_by_line(x[::every] if by_rows else x[:, ::every])
    if sample.sum() > _FEW * sample.size * length:
        return None
    counts = _nonzeros_by_line(x)
    total = int(counts.sum())
    most = min(_FEW * x.size, np.iinfo(np.int32).max, memory / (x.itemsize + 4))
    if total > most:
        return None
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    positions, values = np.empty(total, np.int32), np.empty(total, x.dtype)
    _core.copy_nonzeros(x, starts, positions, values)
    kind = sparse.csr_array if by_rows else sparse.csc_array
    return SparseDesign(kind((values, positions, starts), shape=x.shape))


def _nonzeros_by_line(x: AnyArray) -> IntArray:
    """Numbers of every row that are not zero; of every column, in Fortran order."""
    by_rows = x.strides[1] == x.itemsize or x.shape[1] <= 1
    counts = np.empty(x.shape[0 if by_rows else 1], np.int64)
    _core.count_nonzeros(x, counts)
    return counts


def centred_covariance(matrix: Array, first: Array, centre: Array, total: float) -> Covariance:
    """The covariance about weighted means, from sums about a rough centre: Σhvvᵀ and Σhv."""
    shift = first / total
    matrix -= first[:, None] * shift
    mean = centre + shift
    noise = 1e-26  # share of mean²; safeguard: the square of the rounding of centred numbers
    return Covariance(without_constants(matrix, mean * mean * total, noise), mean)


class DenseDesign(Design):
    """X as a NumPy array; copied once if neither its rows nor its columns are contiguous."""

    def __init__(self, x: AnyArray) -> None:
        if x.dtype not in (np.float32, np.float64):
            x = x.astype(np.float64)
        self.x = x = in_lines(x)
        self.shape = (x.shape[0], x.shape[1])
        self._rows_together = bool(x.strides[1] == x.itemsize or x.shape[1] <= 1)
        self._nonzeros: SparseDesign | None = None  # the same numbers, without zeros

    @property
    def nnz_for_scores(self) -> int:
        """Without zeros, once there is a copy without them."""
        return self.nnz if self._nonzeros is None else self._nonzeros.nnz

    def ready_for_scores(self, memory: float) -> None:
        """A sparse copy, if most numbers are zero: products with k vectors are then faster."""
        if self._nonzeros is None and self.x.size:
            self._nonzeros = without_zeros(self.x, memory)

    def rough_products(self, memory: float) -> RoughProducts | None:
        """Products of a copy as floats, without zeros if there is a copy without them already."""
        if self._nonzeros is not None:
            return self._nonzeros.rough_products(memory)
        if not self._rows_together or 4 * self.x.size > memory:
            return None
        return RoughProducts(_core.dense_simplex_product, floats(self.x))

    def blocks(self) -> Iterator[Block]:
        """Row blocks of about 4 MB."""
        n, d = self.shape
        size = max(1, _BLOCK_BYTES // (8 * max(d, 1)))
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            yield Block(rows, self.x[rows])

    def matvec(self, w: Array) -> Array:
        """X w."""
        if w.ndim == 2 and self._nonzeros is not None:
            return self._nonzeros.matvec(w)
        if w.ndim == 2 and self._wide(w, self._rows_together):
            return np.ascontiguousarray(self.x @ w)
        return _core.dense_matvec(self.x, np.ascontiguousarray(w))

    def rmatvec(self, u: Array) -> Array:
        """Xᵀ u."""
        if u.ndim == 2 and self._nonzeros is not None:
            return self._nonzeros.rmatvec(u)
        if u.ndim == 2 and self._wide(u, not self._rows_together):
            return np.ascontiguousarray(self.x.T @ u)
        return _core.dense_rmatvec(self.x, np.ascontiguousarray(u))

    def scores_of(self, coefs: Array) -> Array:
        """Coefs Xᵀ."""
        wide = self._wide(coefs.T, self._rows_together)
        return coefs @ self.x.T if wide else super().scores_of(coefs)

    def slopes_of(self, u: Array) -> Array:
        """U X."""
        wide = self._wide(u.T, not self._rows_together)
        return u @ self.x if wide else super().slopes_of(u)

    def _wide(self, operand: Array, dots: bool) -> bool:
        """Whether there are so many vectors that BLAS is faster than the core's product."""
        long = self.shape[self._rows_together] >= _LONG
        return operand.shape[1] >= _WIDE[dots and long] and self.x.dtype == np.float64

    @cached_property
    def access(self) -> Access:
        """Rows are cheap in C order, columns in Fortran order; both if there is a single line."""
        return Access(
            columns=Reach.CHEAP if self.x.strides[0] == self.x.itemsize else Reach.COPY,
            rows=Reach.CHEAP if self._rows_together else Reach.COPY,
        )

    @property
    def row_copy_bytes(self) -> float:
        """The size of X where it is in Fortran order."""
        return 0.0 if self._rows_together else float(self.x.nbytes)

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """A fused product that reads each row once."""
        return _core.dense_curvature_product(self.x, v, shift, h)

    def simplex_product(self, table: Array, p: Array, scale: Array) -> Array:
        """A fused product that reads each row once; of columns, in blocks of rows."""
        if self._nonzeros is not None:
            return self._nonzeros.simplex_product(table, p, scale)
        if not self._rows_together:
            return super().simplex_product(table, p, scale)
        return _core.dense_simplex_product(self.x, table, p, scale)

    def moments(self, h: Array) -> Moments:
        """First and second moments of the columns."""
        return Moments(*_core.dense_moments(self.x, h))

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """A blocked product in the core."""
        x = self.x if columns is None else np.asfortranarray(self.x[:, columns])
        return _core.dense_gram(x, h)

    @cached_property
    def centre(self) -> Array:
        """Means of some rows, close enough to any weighted mean to make centring accurate.

        The mean of one row in k is at most √k standard deviations from that of all of them.
        """
        sample = self.x[:: max(1, self.shape[0] // _SAMPLE)]
        return sample.mean(axis=0, dtype=np.float64)

    def with_centre(self, centre: Array) -> DenseDesign:
        """The same rows, whose sums are taken about another point than the mean of some."""
        found = DenseDesign(self.x)
        found.centre = centre
        return found

    @property
    def from_first_row(self) -> DenseDesign:
        """The same, but with columns that are far from zero minus their number in the first row.

        These are the columns whose numbers differ by less than the smallest of them: they are at
        most twice as large as each other, so that their differences are exact.
        """
        if not self.x.size:
            return self
        low, high = self.x.min(axis=0), self.x.max(axis=0)
        with np.errstate(over="ignore"):
            far = high - low < np.minimum(np.abs(low), np.abs(high))
        return DenseDesign(self.x - np.where(far, self.x[0], 0.0)) if far.any() else self

    constant_below = 2e-13

    @property
    def about(self) -> Array:
        """The rough means."""
        return self.centre

    def covariance(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """Centred about rough means while packing, then corrected to the weighted means."""
        x = self.x if columns is None else np.asfortranarray(self.x[:, columns])
        centre = self.centre if columns is None else self.centre[columns]
        return centred_covariance(*_core.dense_covariance(x, h, centre), centre, float(h.sum()))

    def rmatvec_on(self, columns: IntArray, u: Array) -> Array:
        """X_cᵀ u, from a copy of these columns."""
        return self.columns(columns).rmatvec(u)

    def columns(self, columns: IntArray) -> Design:
        """A Fortran-ordered copy of some columns."""
        return DenseDesign(np.asfortranarray(self.x[:, columns]))

    def rows(self, rows: IntArray) -> Design:
        """A view if the rows are consecutive, else a copy."""
        if rows.size and rows[-1] - rows[0] == rows.size - 1 and (np.diff(rows) == 1).all():
            return DenseDesign(self.x[rows[0] : rows[-1] + 1])
        return DenseDesign(self.x[rows])

    def thinned(self, every: int) -> Design:
        """A view if rows are contiguous in memory, else a copy."""
        return DenseDesign(self.x[::every])

    def row_gram(self, weights: Array | None = None, centre: Array | None = None) -> Array:
        """The Gram of the columns of Xᵀ in the core, of a centred copy if there is a centre."""
        x = self.x if centre is None else self.x - centre
        h = np.ones(self.shape[1]) if weights is None else np.ascontiguousarray(weights, float)
        return _core.dense_gram(x.T, h)

    def row_squares(self, inverse: Array) -> Array:
        """Σⱼ inverseⱼ·xᵢⱼ² of every row."""
        if not self._rows_together:
            return super().row_squares(inverse)
        return _core.row_squares_dense(self.x, inverse)

    @cached_property
    def row_lines(self) -> Lines:
        """X itself in C order, else a copy."""
        return self.x if self._rows_together else np.ascontiguousarray(self.x)

    def column_lines(self, columns: IntArray) -> tuple[Lines, IntArray]:
        """X itself in Fortran order, else a copy of these columns."""
        if self.access.columns is Reach.CHEAP:
            return self.x, columns
        return super().column_lines(columns)
