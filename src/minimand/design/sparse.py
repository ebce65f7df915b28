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
        """X w: a gather over rows, or a scatter over columns."""
        return self._along(w, gather=self.x.format == "csr", size=self.shape[0])

    def rmatvec(self, u: Array) -> Array:
        """Xᵀ u: a gather over columns, or a scatter over rows."""
        return self._along(u, gather=self.x.format == "csc", size=self.shape[1])

    def _along(self, x: Array, *, gather: bool, size: int) -> Array:
        parts = _parts(self.x)
        x = np.ascontiguousarray(x)
        return _core.gather(*parts, x) if gather else _core.scatter(*parts, x, size)

    @property
    def picks_columns(self) -> bool:
        """As CSC."""
        return bool(self.x.format == "csc")

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """Fused over rows for CSR; two products for CSC."""
        if self.x.format == "csr":
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
