"""A sparse matrix in memory: CSR or CSC as given, the other order made once if it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .. import _core
from .._typing import AnyArray, Array, IntArray
from .base import (
    Ascent,
    AscentProblem,
    AscentState,
    Block,
    Descent,
    DescentProblem,
    Design,
    Moments,
    OnlineClock,
    OnlineReport,
    OnlineRule,
    RowSteps,
)

_BLOCK_ROWS = 1 << 14
_FEW = 8  # a product with fewer nonzeros than 1/8 goes by columns, if there are any


class SparseDesign(Design):
    """X as a CSR or CSC matrix or array of SciPy.

    float32 or float64 data and int32 or int64 indices are used as they are; indices may come in
    any order. Duplicate entries are summed in a copy.
    """

    def __init__(self, x: Any) -> None:
        if x.format not in ("csr", "csc"):
            x = x.tocsr()
        if x.dtype not in (np.float32, np.float64):
            x = x.astype(np.float64)
        if x.indptr.dtype != x.indices.dtype:
            x = type(x)((x.data, x.indices, x.indptr.astype(x.indices.dtype)), shape=x.shape)
        _check_structure(x)
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        self.x = x
        self.shape = (int(x.shape[0]), int(x.shape[1]))

    @property
    def nnz(self) -> int:
        """Stored numbers."""
        return int(self.x.nnz)

    @property
    def sparse(self) -> bool:
        """True."""
        return True

    @property
    def by_rows(self) -> bool:
        """Whether it came as CSR."""
        return bool(self.x.format == "csr")

    @cached_property
    def column_sizes(self) -> IntArray:
        """Stored numbers of every column."""
        if self.x.format == "csc":
            return np.diff(self.x.indptr)
        return np.bincount(self.x.indices, minlength=self.shape[1])

    @cached_property
    def by_row(self) -> Any:
        """CSR."""
        return self.x if self.x.format == "csr" else self.x.tocsr()

    @cached_property
    def by_column(self) -> Any:
        """CSC."""
        return self.x if self.x.format == "csc" else self.x.tocsc()

    def blocks(self) -> Iterator[Block]:
        """Row slices of the CSR form."""
        for start in range(0, self.shape[0], _BLOCK_ROWS):
            rows = slice(start, min(start + _BLOCK_ROWS, self.shape[0]))
            yield Block(rows, self.by_row[rows])

    def matvec(self, w: Array) -> Array:
        """X w: a gather over rows, or a scatter over columns, of which zeros skip theirs."""
        w = np.ascontiguousarray(w)
        by_columns = self.x.format == "csc"
        if not by_columns and self.picks_columns and w.ndim == 1:
            by_columns = _FEW * np.count_nonzero(w) < w.size
        if by_columns:
            return _core.scatter(*_parts(self.by_column), w, self.shape[0])
        return _core.gather(*_parts(self.x), w)

    def rmatvec(self, u: Array) -> Array:
        """Xᵀ u: a gather over columns if there are any, else a scatter over rows."""
        u = np.ascontiguousarray(u)
        if self.picks_columns:
            return _core.gather(*_parts(self.by_column), u)
        return _core.scatter(*_parts(self.x), u, self.shape[1])

    def rmatvec_on(self, columns: IntArray, u: Array) -> Array:
        """X_cᵀ u: a gather over these columns, or over all that there is."""
        if not self.picks_columns:
            return self.rmatvec(u)[columns]
        return _core.gather_picked(*_parts(self.by_column), u, columns)

    @property
    def picks_columns(self) -> bool:
        """As CSC, given or made."""
        return bool(self.x.format == "csc") or "by_column" in self.__dict__

    def ready_to_pick(self) -> None:
        """Make the CSC form, which takes as much memory as X."""
        _ = self.by_column

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """Two gathers, which threads share best, if both forms are there; else fused over rows."""
        if self.x.format == "csr" and not (self.picks_columns and _core.get_num_threads() > 1):
            return _core.curvature_product(*_parts(self.x), v, shift, h, self.shape[1])
        scores = self.matvec(v) + shift
        return self.rmatvec(h * scores), scores

    def moments(self, h: Array) -> Moments:
        """First and second moments of the columns."""
        if self.x.format == "csc":
            return Moments(*_core.moments_major(*_parts(self.x), h))
        return Moments(*_core.moments_minor(*_parts(self.x), h, self.shape[1]))

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """Outer products of rows for CSR, dot products of columns for CSC."""
        if columns is None:
            columns = np.arange(self.shape[1])
        if self.x.format == "csc":
            return _core.gram_major(*_parts(self.x), h, columns, self.shape[0])
        slot = np.full(self.shape[1], -1, dtype=np.int64)
        slot[columns] = np.arange(columns.size)
        return _core.gram_minor(*_parts(self.x), h, slot, columns.size)

    def columns(self, columns: IntArray) -> Design:
        """Those columns as CSC."""
        return SparseDesign(self.by_column[:, columns])

    def rows(self, rows: IntArray) -> Design:
        """Those rows as CSR."""
        return SparseDesign(self.by_row[rows])

    def row_gram(self, weights: Array, centre: Array | None = None) -> Array:
        """Through the sparse product; centring is subtracted from it."""
        scaled = self.by_row.multiply(np.sqrt(weights)).tocsr()
        gram = np.asarray((scaled @ scaled.T).toarray(), dtype=float)
        if centre is not None:
            along = self.matvec(weights * centre)
            gram += float((weights * centre) @ centre) - along[:, None] - along[None, :]
        return gram

    def descend(
        self, problem: DescentProblem, q: Array, w: Array, sweeps: int, tol: float
    ) -> Descent:
        """Descent on the CSC columns."""
        columns, h, l1, l2, centre, bounds = problem
        result = _core.cd_columns(
            *_parts(self.by_column), columns, h, q, w, l1, l2, centre, sweeps, tol, bounds
        )
        return Descent(*result)

    @property
    def rows_together(self) -> bool:
        """Whether it came as CSR."""
        return self.by_rows

    def row_squares(self, inverse: Array) -> Array:
        """Σⱼ inverseⱼ·xᵢⱼ² of every row."""
        return _core.row_squares(*_parts(self.by_row), inverse, self.shape[1])

    def ascend(
        self, problem: AscentProblem, state: AscentState, epochs: int, tol: float, seed: int
    ) -> Ascent:
        """Ascent on the CSR rows."""
        x = self.by_row
        found = _core.dual_rows(x.indptr, x.indices, x.data, *problem, *state, epochs, tol, seed)
        return Ascent(*found)

    def online_pass(
        self,
        rule: OnlineRule,
        rows: tuple[Array, Array, AnyArray],
        state: tuple[Array, Array, Array, Array],
        clock: OnlineClock,
    ) -> OnlineReport:
        """A pass over the CSR rows."""
        return OnlineReport(*_core.online_pass(*_parts(self.by_row), rule, rows, state, clock))

    def step_rows(self, steps: RowSteps, fields: Array, memory: Array) -> None:
        """Steps on the CSR rows."""
        x = self.by_row
        _core.stochastic_sparse(x.indptr, x.indices, x.data, self.shape[1], *steps, fields, memory)


def _check_structure(x: Any) -> None:
    """Refuse a matrix whose index arrays point outside it: compiled code would follow them."""
    minor = x.shape[1] if x.format == "csr" else x.shape[0]
    indptr, indices = x.indptr, x.indices
    sound = indptr[0] == 0 and indptr[-1] <= min(indices.size, x.data.size)
    sound = sound and bool((indptr[1:] >= indptr[:-1]).all())
    if sound and indices.size:
        sound = bool(indices.min() >= 0 and indices.max() < minor)
    if not sound:
        raise ValueError(
            f"X is a malformed {x.format.upper()} matrix: its indices point outside its shape "
            f"{tuple(x.shape)}; build it again from valid indices."
        )


def _parts(x: Any) -> tuple[Any, Any, Any]:
    return x.indptr, x.indices, x.data
