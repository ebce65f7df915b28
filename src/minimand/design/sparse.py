"""A sparse matrix in memory: CSR or CSC as given; the other form is made when it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

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

_BLOCK_ROWS = 1 << 14  # rows of a block; safeguard
_COUNTED = 1 << 17  # indices that are counted at once, at least; safeguard: their copy fits a cache
_FULL = 1e-4  # variance as a share of mean², below which a column is centred first; safeguard
_FEW = 8  # inverse share of nonzeros in w, below which X w reads columns of a CSC form; safeguard


class SparseDesign(Design):
    """X as a CSR or CSC matrix or array of SciPy.

    float32 or float64 data and int32 or int64 indices are used as they are; indices may come in
    any order. Duplicate entries are summed in a copy. Compiled kernels get a `_core.Compressed`,
    whose indices were checked when it was made.
    """

    sparse = True

    def __init__(self, x: Any) -> None:
        if x.format not in ("csr", "csc"):
            x = x.tocsr()
        if x.dtype not in (np.float32, np.float64):
            x = x.astype(np.float64)
        x, self._own = _checked(x)
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
            x, self._own = _checked(x)
        self.x = x
        self.shape = (int(x.shape[0]), int(x.shape[1]))

    @property
    def nnz(self) -> int:
        """Stored numbers."""
        return int(self.x.nnz)

    @property
    def access(self) -> Access:
        """Rows of a CSR, columns of a CSC; both once the other form has been made."""
        rows = Reach.CHEAP if self.x.format == "csr" else Reach.COPY
        return Access(Reach.CHEAP if self._picks_columns else Reach.COPY, rows, rows)

    @property
    def row_copy_bytes(self) -> float:
        """The size of the CSR form where X came as CSC."""
        if self.x.format == "csr":
            return 0.0
        per_number = self.x.data.itemsize + self.x.indices.itemsize
        return float(per_number) * self.nnz + self.x.indices.itemsize * (self.shape[0] + 1.0)

    @property
    def _picks_columns(self) -> bool:
        return bool(self.x.format == "csc") or "by_column" in self.__dict__

    @cached_property
    def column_sizes(self) -> IntArray:
        """Stored numbers of every column."""
        if self.x.format == "csc":
            return np.diff(self.x.indptr)
        counts, size = np.zeros(self.shape[1], np.int64), max(_COUNTED, 4 * self.shape[1])
        for start in range(0, self.nnz, size):  # NumPy makes a copy of 8 bytes per index
            some = self.x.indices[start : min(start + size, self.nnz)]
            counts += np.bincount(some, minlength=self.shape[1])
        return counts

    @cached_property
    def by_row(self) -> Any:
        """CSR."""
        return self.x if self.x.format == "csr" else _turned(self.x, self._own)

    @cached_property
    def by_column(self) -> Any:
        """CSC."""
        return self.x if self.x.format == "csc" else _turned(self.x, self._own)

    @cached_property
    def _rows(self) -> _core.Compressed:
        return self._own if self.x.format == "csr" else _checked(self.by_row)[1]

    @cached_property
    def _columns(self) -> _core.Compressed:
        return self._own if self.x.format == "csc" else _checked(self.by_column)[1]

    def blocks(self) -> Iterator[Block]:
        """Row slices of the CSR form."""
        for start in range(0, self.shape[0], _BLOCK_ROWS):
            rows = slice(start, min(start + _BLOCK_ROWS, self.shape[0]))
            yield Block(rows, self.by_row[rows])

    def matvec(self, w: Array) -> Array:
        """X w: a gather over rows, or a scatter over the columns where w is not zero."""
        w = np.ascontiguousarray(w)
        by_columns = self.x.format == "csc"
        if not by_columns and self._picks_columns:
            few = w.ndim == 1 and _FEW * np.count_nonzero(w) < w.size
            by_columns = few or (w.ndim == 2 and self._wide)
        if by_columns:
            return _core.scatter(self._columns, w)
        return _core.gather(self._own, w)

    def matvec_on(self, columns: IntArray, w: Array) -> Array:
        """X_c w: a scatter over these columns if there is a CSC form, else a gather over all."""
        if not self._picks_columns:
            whole = np.zeros(self.shape[1])
            whole[columns] = w
            return self.matvec(whole)
        return _core.scatter_picked(self._columns, np.ascontiguousarray(w), columns)

    def rmatvec(self, u: Array) -> Array:
        """Xᵀ u: a gather over columns if there is a CSC form, else a scatter over rows."""
        u = np.ascontiguousarray(u)
        if self._picks_columns:
            return _core.gather(self._columns, u)
        return _core.scatter(self._own, u)

    def rmatvec_on(self, columns: IntArray, u: Array) -> Array:
        """X_cᵀ u: a gather over these columns if there is a CSC form, else over all."""
        if not self._picks_columns:
            return self.rmatvec(u)[columns]
        return _core.gather_picked(self._columns, u, columns)

    def ready_to_pick(self) -> None:
        """Make the CSC form, which takes as much memory as X."""
        _ = self.by_column

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """Two gathers if both forms exist and threads can share them; else fused over rows."""
        if self.x.format == "csr" and not (self._picks_columns and _core.get_num_threads() > 1):
            return _core.curvature_product(self._own, v, shift, h)
        scores = self.matvec(v) + shift
        return self.rmatvec(h * scores), scores

    @property
    def _wide(self) -> bool:
        """Whether a table with a row per sample is smaller than one with a row per column."""
        return self.shape[0] < self.shape[1]

    def ready_for_scores(self, memory: float) -> None:
        """The CSC form if there are more columns than rows: see `simplex_product`."""
        per_number = self.x.data.itemsize + self.x.indices.itemsize
        if self._wide and 2 * per_number * (self.nnz + self.shape[0]) <= memory:
            _ = self._columns_and_ones

    def rough_products(self, memory: float) -> RoughProducts | None:
        """Products of a copy of the numbers as floats, for a CSR only: it is read by rows."""
        if self.x.format != "csr" or "_columns_and_ones" in self.__dict__ or 4 * self.nnz > memory:
            return None
        matrix = _core.Compressed(self.x.indptr, self.x.indices, floats(self.x.data), self.shape[1])
        return RoughProducts(_core.simplex_product, matrix)

    @cached_property
    def _columns_and_ones(self) -> _core.Compressed:
        """[X 1] as CSC; the CSC form of X itself becomes a view of it."""
        x, n = self.by_column, self.shape[0]
        data = np.concatenate([x.data, np.ones(n, x.dtype)])
        indices = np.concatenate([x.indices, np.arange(n, dtype=x.indices.dtype)])
        indptr = np.append(x.indptr, x.indptr[-1:] + x.indptr.dtype.type(n))
        if self.x.format == "csr":
            stored = x.nnz
            self.by_column = type(x)(
                (data[:stored], indices[:stored], indptr[:-1]), shape=x.shape, copy=False
            )
        return _core.Compressed(indptr, indices, data, n)

    def simplex_product(self, table: Array, p: Array, scale: Array) -> Array:
        """Fused over the rows, unless columns abound.

        Rows of the tables of coefficients are read in any order, so that they should fit a cache;
        if rows are fewer than columns, the tables of two products by columns are smaller.
        """
        if self.x.format == "csr" and "_columns_and_ones" not in self.__dict__:
            return _core.simplex_product(self._own, table, p, scale)
        t = _core.scatter(self._columns_and_ones, table)
        return _core.gather(self._columns_and_ones, _core.simplex_times(p, scale, t))

    def moments(self, h: Array) -> Moments:
        """First and second moments of the columns."""
        if self.x.format == "csc":
            return Moments(*_core.moments_major(self._own, h))
        return Moments(*_core.moments_minor(self._own, h))

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """Outer products of rows for CSR, dot products of columns for CSC or few columns."""
        if columns is None:
            columns = np.arange(self.shape[1])
        if self.x.format == "csc" or (self._picks_columns and self._few(columns)):
            return _core.gram_major(self._columns, h, columns)
        slot = np.full(self.shape[1], -1, dtype=np.int64)
        slot[columns] = np.arange(columns.size)
        return _core.gram_minor(self._own, h, slot, columns.size)

    def _few(self, columns: IntArray) -> bool:
        """Whether dot products of columns read fewer numbers than outer products of all rows."""
        stored = float(self.column_sizes[columns].sum())
        return stored * columns.size <= 2.0 * self.nnz + stored * stored / self.shape[0]

    constant_below = 2e-13  # since columns of little variance are centred first

    def covariance(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """The means are subtracted after multiplying, except for columns of little variance.

        Such a column has almost no zeros, so centring it before it is multiplied costs no more;
        otherwise its variance would be lost in rounding.
        """
        matrix, mean = super().covariance(h, columns)
        total = float(h.sum())
        full = np.flatnonzero(np.diag(matrix) < _FULL * mean * mean * total)
        if not full.size:
            return Covariance(matrix, mean)
        every = np.arange(self.shape[1]) if columns is None else columns
        x = self.x[:, every[full]].toarray().astype(float, copy=False)
        centre = x.mean(axis=0)
        x -= centre
        shift = h @ x / total
        x -= shift
        weighted = h[:, None] * x
        mean[full] = centre + shift
        cross = self.rmatvec(weighted)[every] - np.outer(mean, weighted.sum(axis=0))
        cross[full] = x.T @ weighted
        matrix[:, full], matrix[full] = cross, cross.T
        noise = 1e-26  # share of mean²; safeguard: the square of the rounding of centred numbers
        return Covariance(without_constants(matrix, mean * mean * total, noise), mean)

    def columns(self, columns: IntArray) -> Design:
        """A design of some columns, as CSC."""
        return SparseDesign(self.by_column[:, columns])

    def columns_by_row(self, columns: IntArray) -> SparseDesign:
        """A design of some columns, as CSR: parts of the rows, where X is CSR and they ascend."""
        if self.x.format == "csc" or not (np.diff(columns) > 0).all():
            return SparseDesign(SparseDesign(self.by_column[:, columns]).by_row)
        slot = np.full(self.shape[1], -1, dtype=self.x.indices.dtype)
        slot[columns] = np.arange(columns.size)
        shape = self.shape[0], columns.size
        parts = _empty_parts(self.x, shape[0], int(self.column_sizes[columns].sum()))
        _core.pick_minors(self._own, slot, *parts)
        return SparseDesign(_canonical(self.x, "csr", parts, shape))

    def and_constant(self, value: float) -> Any:
        """[X value·1] as CSR of float64; SciPy does the same in several copies."""
        x, (n, d) = self.by_row, self.shape
        if max(self.nnz + n, d) > np.iinfo(x.indptr.dtype).max:
            return sparse.hstack([x, sparse.csr_array(np.full((n, 1), value))], format="csr")
        own = self._rows
        if x.dtype != np.float64:
            x, own = _checked(x.astype(np.float64))
        parts = _empty_parts(x, n, self.nnz + n)
        _core.append_minor(own, value, *parts)
        return _canonical(x, "csr", parts, (n, d + 1))

    def rows(self, rows: IntArray) -> Design:
        """A design of some rows, as CSR."""
        return SparseDesign(self.by_row[rows])

    def row_gram(self, weights: Array | None = None, centre: Array | None = None) -> Array:
        """Through the sparse product; centring is subtracted afterwards."""
        x = self.by_row
        data = x.data.astype(float, copy=False)
        if weights is not None:
            data = data * np.sqrt(weights)[x.indices]
        scaled = type(x)((data, x.indices, x.indptr), shape=x.shape)
        gram = np.asarray((scaled @ scaled.T).toarray(), dtype=float)
        if centre is not None:
            weights = np.ones(self.shape[1]) if weights is None else weights
            along = self.matvec(weights * centre)
            gram += float((weights * centre) @ centre) - along[:, None] - along[None, :]
        return gram

    def row_squares(self, inverse: Array) -> Array:
        """Σⱼ inverseⱼ·xᵢⱼ² of every row."""
        return _core.row_squares(self._rows, inverse)

    @cached_property
    def row_lines(self) -> Lines:
        """The CSR form."""
        return self._rows

    def column_lines(self, columns: IntArray) -> tuple[Lines, IntArray]:
        """The CSC form."""
        return self._columns, columns


def _checked(x: Any) -> tuple[Any, _core.Compressed]:
    """A CSR or CSC matrix in the layout that compiled code needs, and its checked `Compressed`.

    ``x`` itself if it has that layout. A matrix whose indices point outside it is refused.
    """
    try:
        parts = _plain_parts(x)
        if parts is not None:
            x = type(x)(parts, shape=x.shape)
            x.data, x.indices, x.indptr = parts  # SciPy may have chosen other dtypes
        stored = int(x.indptr[-1])
        minor = x.shape[1] if x.format == "csr" else x.shape[0]
        return x, _core.Compressed(x.indptr, x.indices[:stored], x.data[:stored], minor)
    except (ValueError, IndexError) as error:
        raise _malformed(x) from error


def _plain_parts(x: Any) -> tuple[AnyArray, AnyArray, AnyArray] | None:
    """Data, indices and indptr, contiguous and with one index dtype; None if x has them so."""
    index = np.int64 if 8 in (x.indices.itemsize, x.indptr.itemsize) else np.int32
    parts = plain(x.data), plain(x.indices, index), plain(x.indptr, index)
    same = parts[0] is x.data and parts[1] is x.indices and parts[2] is x.indptr
    return None if same else parts


def _malformed(x: Any) -> ValueError:
    return ValueError(
        f"X is a malformed {x.format.upper()} matrix: its indices point outside its shape "
        f"{tuple(x.shape)}; build it again from valid indices."
    )


def _turned(x: Any, own: _core.Compressed) -> Any:
    """CSC for CSR, and the other way round; SciPy does the same on one thread."""
    minor = x.shape[1] if x.format == "csr" else x.shape[0]
    parts = _empty_parts(x, minor, int(x.indptr[-1]))
    _core.transpose(own, *parts)
    return _canonical(x, "csc" if x.format == "csr" else "csr", parts, x.shape)


def _empty_parts(x: Any, majors: int, stored: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Indptr, indices and data of the types of x, to be filled."""
    index = x.indptr.dtype
    return np.empty(majors + 1, index), np.empty(stored, index), np.empty(stored, x.dtype)


def _canonical(
    like: Any, form: str, parts: tuple[AnyArray, AnyArray, AnyArray], shape: tuple[int, int]
) -> Any:
    """A matrix, or an array if ``like`` is one, of sorted indices without duplicates."""
    kind = "array" if isinstance(like, sparse.sparray) else "matrix"
    indptr, indices, data = parts
    found = getattr(sparse, f"{form}_{kind}")((data, indices, indptr), shape=shape)
    found.has_sorted_indices = found.has_canonical_format = True
    return found
