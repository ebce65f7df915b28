"""The kernel S = X diag(a) Xᵀ of the rows: its products, and systems with it on some rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..._base.linear_system import Solve, solver_for
from ..._base.typing import Array, BoolArray
from ...problem.objective import Objective
from ..steps.krylov import conjugate_gradients

_DIGITS = 1e-20  # share of the first energy that may be left; safeguard: ten digits of x
_DENSE = 0.1  # multiply-adds of sparse rows in the time of one of LAPACK's; measured at 2000×5000


class RowKernel:
    """S for positive factors a of the columns.

    Of dense rows it is computed once. Sparse rows are multiplied instead, as long as products solve
    a system in less time than a factorisation would take.
    """

    def __init__(self, objective: Objective, factors: Array) -> None:
        self._objective, self._factors = objective, factors
        self._by_products = objective.design.sparse

    @cached_property
    def matrix(self) -> Array:
        """S."""
        self._objective.meter.passes += 1
        return self._objective.design.row_gram(self._factors)

    def times(self, p: Array) -> Array:
        """S p."""
        if not self._by_products:
            return np.asarray(self.matrix @ p)
        return self._objective.forward(self._factors * self._objective.backward(p))

    def solutions(self, some: BoolArray, diagonal: Array, right: Array) -> Array:
        """x with (S + diag(diagonal)) x = right on some rows; a column for each of ``right``."""
        most = self._most_products(int(np.count_nonzero(some)), right.shape[1])
        if most:
            found = [self._approached(some, diagonal, side, most) for side in right.T]
            solved = [x for x in found if x is not None]
            if len(solved) == len(found):
                return np.column_stack(solved)
            self._by_products = False  # another system would take as many products
        return self._solver(some, diagonal)(right)

    def _most_products(self, rows: int, sides: int) -> int:
        """How many products for each right side take as long as a factorisation."""
        if not self._by_products:
            return 0
        product = 4.0 * max(self._objective.design.nnz, 1) * sides
        return int(_DENSE / 3.0 * float(rows) ** 3 / product)

    def _solver(self, some: BoolArray, diagonal: Array) -> Solve:
        rows = np.flatnonzero(some)
        matrix = self.matrix[np.ix_(rows, rows)]
        matrix.flat[:: rows.size + 1] += diagonal
        return solver_for(matrix)

    def _approached(
        self, some: BoolArray, diagonal: Array, right: Array, most: int
    ) -> Array | None:
        """One solution by products, each of them preconditioned by the diagonal."""
        if not right.any():
            return right
        scale = self._squares[some] + diagonal
        whole, left = np.zeros(some.size), [1.0]

        def product(x: Array) -> tuple[Array, Array]:
            whole[some] = x
            return self.times(whole)[some] + diagonal * x, x

        def close(residual: Array, energy: float, first: float) -> bool:
            left[0] = energy / first
            return left[0] <= _DIGITS

        x, _ = conjugate_gradients(product, right, lambda r: r / scale, close, most)
        return x if left[0] <= _DIGITS else None

    @cached_property
    def _squares(self) -> Array:
        """The diagonal of S."""
        return self._objective.design.row_squares(self._factors)
