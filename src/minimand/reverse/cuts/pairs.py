"""The matrix K of all pairs of rows as the cuts use it: in memory, sparse, or as a factor LLᵀ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from ..._base.eigenvalues import largest_eigenpairs
from ..._base.typing import Array, IntArray
from ..._base.watch import look

_SMALL = 200  # side of a matrix all of whose eigenvectors are computed; safeguard: 2 ms
_DIGITS = 1e-3  # accuracy of a start's eigenvectors; measured: more digits do not change the cut
_ROUNDS = 20  # restarts of Lanczos' method; safeguard: the alternation repairs what is missing


class Pairs(ABC):
    """A symmetric matrix K of n rows."""

    n: int
    diagonal: Array

    @abstractmethod
    def times(self, a: Array) -> Array:
        """K a, for a vector or columns a."""

    @abstractmethod
    def from_rows(self, rows: IntArray, a: Array) -> Array:
        """K[:, rows] a, for a few rows."""

    def column(self, i: int) -> Array:
        """K[:, i]."""
        return self.from_rows(np.array([i]), np.ones((1, 1)))[:, 0]

    def components(self) -> IntArray:
        """The connected part of the graph in which each row lies; one part if K is not sparse."""
        return np.zeros(self.n, dtype=np.int64)

    def top(self, scale: Array, count: int, known: Array, rng: Any) -> tuple[Array, Array]:
        """About the largest eigenvalues of diag(scale) K diag(scale), and orthonormal eigenvectors.

        ``known`` (n, c) are eigenvectors whose eigenvalue is not below any other; they are left
        out, and ``count`` others are found, the largest first. None of these is exact: what they
        are used for must hold for any vectors.
        """

        def product(x: Array) -> Array:
            look()
            x = x.reshape(self.n, -1)
            found = scale[:, None] * self.times(scale[:, None] * x)
            if known.shape[1]:
                found -= 2.0 * (known @ (known.T @ x)) * size
            return found

        size = 1.0
        if known.shape[1]:
            first = known[:, 0]
            size = float(abs(first @ (scale * self.times(scale * first))))
        count = min(count, self.n - known.shape[1])
        if count < 1:
            return np.empty(0), np.empty((self.n, 0))
        if self.n <= max(_SMALL, 4 * count):
            whole = product(np.eye(self.n))
            values, vectors = largest_eigenpairs(0.5 * (whole + whole.T), count)
        else:
            values, vectors = _lanczos(LinearOperator((self.n, self.n), product), count, rng)
        order = np.argsort(-values)
        return values[order], np.ascontiguousarray(vectors[:, order])


def _lanczos(operator: Any, count: int, rng: Any) -> tuple[Array, Array]:
    """The eigenvectors that Lanczos' method has found by then, whether or not it is done."""
    from scipy.sparse.linalg import ArpackNoConvergence

    n = operator.shape[0]
    width = min(n - 1, max(2 * count + 10, 30))
    try:
        found = eigsh(
            operator,
            k=count,
            which="LA",
            tol=_DIGITS,
            ncv=width,
            maxiter=_ROUNDS,
            v0=rng.standard_normal(n),
        )
    except ArpackNoConvergence as partial:
        found = partial.eigenvalues, partial.eigenvectors
    values, vectors = np.asarray(found[0]), np.asarray(found[1])
    missing = count - values.size
    if missing:  # arbitrary directions take the place of those that are missing
        more = rng.standard_normal((n, missing))
        more -= vectors @ (vectors.T @ more)
        vectors = np.column_stack([vectors, np.linalg.qr(more)[0]])
        values = np.append(values, np.full(missing, values.min(initial=0.0)))
    return values, vectors


class DensePairs(Pairs):
    """All values in memory."""

    def __init__(self, values: Array) -> None:
        self.values = values
        self.n = int(values.shape[0])
        self.diagonal = np.diag(values).copy()

    def times(self, a: Array) -> Array:
        """K a."""
        return np.asarray(self.values @ a)

    def from_rows(self, rows: IntArray, a: Array) -> Array:
        """K[rows]ᵀ a."""
        return np.asarray(self.values[rows].T @ a)


class SparsePairs(Pairs):
    """The values that are not zero, of a graph."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.n = int(values.shape[0])
        self.diagonal = np.asarray(values.diagonal(), dtype=float)

    def times(self, a: Array) -> Array:
        """K a."""
        return np.asarray(self.values @ a)

    def from_rows(self, rows: IntArray, a: Array) -> Array:
        """K[rows]ᵀ a."""
        return np.asarray(self.values[rows].T @ a)

    def components(self) -> IntArray:
        """The connected parts."""
        return np.asarray(connected_components(self.values, directed=False)[1], dtype=np.int64)


class FactorPairs(Pairs):
    """LLᵀ, with fewer columns than rows."""

    def __init__(self, columns: Array) -> None:
        self.columns = columns
        self.n = int(columns.shape[0])
        self.diagonal = np.einsum("ij,ij->i", columns, columns)

    def times(self, a: Array) -> Array:
        """L (Lᵀ a)."""
        return np.asarray(self.columns @ (self.columns.T @ a))

    def from_rows(self, rows: IntArray, a: Array) -> Array:
        """L (L[rows]ᵀ a)."""
        return np.asarray(self.columns @ (self.columns[rows].T @ a))
