"""The matrix K of all pairs of rows as the cuts use it: in memory, sparse, or as a factor LLᵀ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from ..._base.eigenvalues import largest_eigenpairs
from ..._base.typing import AnyArray, Array, IntArray
from ..._base.watch import look

_SMALL = 200  # side of a matrix all of whose eigenvectors are computed; safeguard: 2 ms
_DIGITS = 1e-3  # accuracy of a start's eigenvectors; measured: more digits do not change the cut
_ROUNDS = 20  # restarts of Lanczos' method; safeguard: the alternation repairs what is missing
_FIRST = 4  # restarts before an inverse is tried; measured: kernels whose eigenvalues are apart
_FACTORED = 2000  # rows of a matrix that is factorised; safeguard: some hundredths of a second
_ALIKE = 10 * _DIGITS  # of the largest, to which others are too close for products; safeguard
_NEAR = 1e-8  # of the largest eigenvalue, above which the inverse stands; safeguard: half of digits
_BLOCK = 1 << 16  # numbers of a temporary, half a megabyte; safeguard: it stays in a cache
_USUAL = 1e10  # and its inverse: range of the largest entry in single precision; safeguard
_FLUSH = 1e-8  # numbers 2⁻⁵³ below are zero, for those below 1e-38 are slow; safeguard


Products = tuple[Callable[[AnyArray], AnyArray], float, Any]


class Inverse(NamedTuple):
    """(aI − A)⁻¹."""

    times: Callable[[Array], Array]
    shift: float  # a


class Pairs(ABC):
    """A symmetric matrix K of n rows."""

    n: int
    diagonal: Array
    factored = 0  # rows, up to which there is an inverse

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
        size = 1.0
        if known.shape[1]:
            first = known[:, 0]
            size = float(abs(first @ (scale * self.times(scale * first))))
        count = min(count, self.n - known.shape[1])
        if count < 1:
            return np.empty(0), np.empty((self.n, 0))
        few = self.n <= max(_SMALL, 4 * count)
        times, unit, kind = self._exact(scale) if few else self.scaled(scale)
        known = known.astype(kind)

        def product(x: AnyArray) -> AnyArray:
            look()
            found = times(x)
            if known.shape[1]:
                found -= (2.0 * size / unit) * (known @ (known.T @ x))
            return found

        if few:
            whole = product(np.eye(self.n))
            values, vectors = largest_eigenpairs(0.5 * (whole + whole.T), count)
        else:
            inner = self.n <= self.factored and known.shape[1] > 0
            operator = LinearOperator((self.n, self.n), product, dtype=kind)
            values, vectors = _lanczos(operator, count, rng, _FIRST if inner else _ROUNDS)
            values = unit * values
            found = values.size == count and values.min() < (1.0 - _ALIKE) * size
            if inner and not found:
                inverse = self.inverse(scale, size)
                if inverse is not None:
                    values, vectors = _by_inverse(inverse, known, count, rng)
                elif values.size < count:
                    values, vectors = _lanczos(operator, count, rng, _ROUNDS)
                    values = unit * values
            values, vectors = _completed(values, vectors, count, rng)
        order = np.argsort(-values)
        return values[order], np.ascontiguousarray(vectors[:, order])

    def scaled(self, scale: Array) -> Products:
        """About the products with diag(scale) K diag(scale) / unit, the unit, their precision."""
        return self._exact(scale)

    def inverse(self, scale: Array, most: float) -> Inverse | None:
        """That of aI − diag(scale) K diag(scale), a just above the largest eigenvalue ``most``.

        None if it takes longer than a search by products does.
        """
        return None

    def _exact(self, scale: Array) -> Products:
        def times(x: AnyArray) -> AnyArray:
            side = scale if x.ndim == 1 else scale[:, None]
            return side * self.times(side * x)

        return times, 1.0, np.float64


def _lanczos(operator: Any, count: int, rng: Any, rounds: int) -> tuple[Array, Array]:
    """Those of the eigenvectors that Lanczos' method has found by then."""
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
            maxiter=rounds,
            v0=rng.standard_normal(n).astype(operator.dtype),
        )
    except ArpackNoConvergence as partial:
        found = partial.eigenvalues, partial.eigenvectors
    return np.asarray(found[0], dtype=float), np.asarray(found[1], dtype=float)


def _by_inverse(inverse: Inverse, known: Array, count: int, rng: Any) -> tuple[Array, Array]:
    """The same by the inverse of aI − A, whose eigenvalues are far apart where those of A are not.

    ``known`` are projected off.
    """

    def product(x: Array) -> Array:
        look()
        x = inverse.times(x.ravel() - known @ (known.T @ x.ravel()))
        return x - known @ (known.T @ x)

    n = known.shape[0]
    operator = LinearOperator((n, n), product, dtype=np.float64)
    values, vectors = _lanczos(operator, count, rng, _ROUNDS)
    return inverse.shift - 1.0 / values, vectors


def _completed(values: Array, vectors: Array, count: int, rng: Any) -> tuple[Array, Array]:
    """As many as asked for: arbitrary directions take the place of those that are missing."""
    missing = count - values.size
    if missing:
        more = rng.standard_normal((vectors.shape[0], missing))
        more -= vectors @ (vectors.T @ more)
        vectors = np.column_stack([vectors, np.linalg.qr(more)[0]])
        values = np.append(values, np.full(missing, values.min(initial=0.0)))
    return values, vectors


class DensePairs(Pairs):
    """All values in memory."""

    factored = _FACTORED

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

    def scaled(self, scale: Array) -> Products:
        """In single precision from one triangle: a quarter of the memory is read."""
        lower, unit = _in_single(self.values, scale)

        def times(x: AnyArray) -> AnyArray:
            if x.ndim == 2 and x.shape[1] > 1:
                return np.asarray(blas.ssymm(1.0, lower.T, x))
            return np.asarray(blas.ssymv(1.0, lower.T, x.ravel())).reshape(x.shape)

        return times, unit, np.float32

    def inverse(self, scale: Array, most: float) -> Inverse | None:
        """By a Cholesky factorisation; None if an eigenvalue is above ``most`` after all."""
        shift = (1.0 + _NEAR) * most
        rest = np.empty((self.n, self.n))
        for rows, block in _scaled_rows(self.values, scale):
            np.negative(block, out=rest[rows, : rows.stop])
        rest[np.diag_indices(self.n)] += shift
        factor, failed = lapack.dpotrf(rest.T, lower=False, overwrite_a=True, clean=False)
        if failed:
            return None

        def times(x: Array) -> Array:
            x = blas.dtrsv(factor, x, lower=False, trans=1)
            return np.asarray(blas.dtrsv(factor, x, lower=False, overwrite_x=True))

        return Inverse(times, shift)


def _scaled_rows(values: Array, scale: Array) -> Iterator[tuple[slice, Array]]:
    """The lower triangle of diag(scale) K diag(scale), some rows at a time."""
    n, start = len(scale), 0
    while start < n:
        rows = slice(start, min(n, start + max(1, _BLOCK // n)))
        block = values[rows, : rows.stop] * scale[: rows.stop]
        block *= scale[rows, None]
        yield rows, block
        start = rows.stop


def _in_single(values: Array, scale: Array) -> tuple[AnyArray, float]:
    """The lower triangle of diag(scale) K diag(scale), in a unit that single precision can hold."""
    n, unit = len(scale), 1.0
    found = np.empty((n, n), dtype=np.float32)
    for _ in range(2):
        most = 0.0
        for rows, block in _scaled_rows(values, scale):
            block /= unit
            most = max(most, float(block.max()), -float(block.min()))
            block += _FLUSH
            block -= _FLUSH
            with np.errstate(over="ignore"):
                found[rows, : rows.stop] = block
        if most == 0 or 1.0 / _USUAL < most < _USUAL:
            break
        unit *= most
    return found, unit


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
