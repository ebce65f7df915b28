"""A kernel whose matrix is in memory, so that parts of it serve several problems."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._base.typing import Array, IntArray
from .kernel import KernelDesign, PairFunction

_FEW_RUNS = 4  # runs of adjacent rows that are copied one by one; safeguard


class GramDesign(KernelDesign):
    """A `KernelDesign` with the matrix of its rows.

    Parameters
    ----------
    kernel, inputs
        As in `KernelDesign`.
    matrix : ndarray of shape (n, n)
        The kernel of all pairs of the inputs, in float64 and C order; it is not copied.
    taken : ndarray, optional
        The numbers of the rows among the inputs, if these are more.
    """

    def __init__(
        self, kernel: PairFunction, inputs: Any, matrix: Array, taken: IntArray | None = None
    ) -> None:
        self.kernel, self.matrix = kernel, matrix
        self.shape = (matrix.shape[0], 0)
        self._given, self._taken = inputs, taken

    @cached_property
    def inputs(self) -> Any:  # cut only where rows are compared with others
        """The rows that the kernel compares."""
        return self._given if self._taken is None else self._given[self._taken]

    @classmethod
    def of(cls, design: KernelDesign) -> GramDesign:
        """The same design, with its matrix."""
        return cls(design.kernel, design.inputs, np.ascontiguousarray(design.row_gram()))

    def row_gram(self, weights: Array | None = None, centre: Array | None = None) -> Array:
        """K itself, not a copy."""
        assert weights is None
        assert centre is None
        return self.matrix

    def row_product(self, a: Array) -> Array:
        """K a."""
        return self.matrix @ a

    def row_scores(self, rows: IntArray, used: IntArray, a: Array) -> Array:
        """Σⱼ k(xᵢ, xⱼ)·aⱼ of some rows i, over some rows j."""
        return np.asarray(self.matrix[np.ix_(rows, used)] @ a)

    @cached_property
    def row_lengths(self) -> Array:
        """k(xᵢ, xᵢ)."""
        return np.diag(self.matrix).copy()

    def rows(self, rows: IntArray) -> GramDesign:
        """The given rows."""
        ends = np.flatnonzero(np.diff(rows) != 1) + 1
        taken = rows if self._taken is None else self._taken[rows]
        if ends.size >= _FEW_RUNS or not rows.size:
            matrix = self.matrix[np.ix_(rows, rows)]
            return GramDesign(self.kernel, self._given, matrix, taken)
        # Adjacent rows are copied much faster than rows one by one.
        places = [slice(a, b) for a, b in zip([0, *ends], [*ends, rows.size])]
        runs = [slice(int(rows[p.start]), int(rows[p.start]) + p.stop - p.start) for p in places]
        matrix = np.empty((rows.size, rows.size))
        for to, run in zip(places, runs):
            for across, other in zip(places, runs):
                matrix[to, across] = self.matrix[run, other]
        return GramDesign(self.kernel, self._given, matrix, taken)
