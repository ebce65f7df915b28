"""Kernels of vectors: of their inner product, or entry by entry."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .._base.parameters import check_number
from .._base.typing import AnyArray, Array
from . import tiles
from .base import Kernel
from .rows import (
    check_widths,
    count,
    dense,
    matrix,
    of_one_type,
    product_rounding,
    products,
    squares,
)

_MOST_FEATURES = 1_000_000  # columns of an explicit map; safeguard: one row takes 8 MB
_DENSE_ROWS = 1 << 20  # numbers of sparse rows that are made dense at a time, 8 MB; safeguard
_AT_ONCE = 2000  # rows of a Gram of inner products by one call; measured at 300 to 4000 rows: from
# there on strips take as long, and can be interrupted


class VectorKernel(Kernel):
    """A kernel of rows of numbers; sparse matrices are accepted."""

    takes_sparse = True

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """X as a finite matrix."""
        return matrix(X)


class Linear(VectorKernel):
    """The inner product of the inputs, k(x, z) = x·z.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    definite = in_threads = True

    def block(self, x: Any, z: Any) -> Array:
        """All x·z."""
        return products(x, z)

    def fill(self, x: Any, z: Any, out: AnyArray) -> None:
        """All x·z, in place."""
        if not tiles.serve(self, Linear.block, x, z):
            return super().fill(x, z, out)
        check_widths(x, z)
        np.matmul(x, z.T, out=out)
        return None

    def gram(self, x: Any) -> Array:
        """All x·z of training rows: BLAS computes half of the products of a matrix with itself."""
        at_once = count(x) <= _AT_ONCE and tiles.serve(self, Linear.block, x, x)
        return products(x, x) if at_once else super().gram(x)

    def diagonal(self, x: Any) -> Array:
        """‖x‖²."""
        return squares(x)

    def times(self, x: Any, z: Any, a: Array) -> Array:
        """x·(Σⱼ aⱼzⱼ), without a value of the kernel."""
        check_widths(x, z)
        return np.asarray(x @ (z.T @ a), dtype=float)

    def feature_map(self, x: Any) -> Any:
        """The inputs themselves."""
        return x


class Polynomial(VectorKernel):
    r"""A polynomial of the inner product.

    .. math:: k(x, z) = (c + x\cdot z)^p

    Its features are all monomials up to degree p (of degree p only, if c = 0), with weights. For
    p = 2, c = 0 and two inputs these are x₁², √2·x₁x₂ and x₂².

    Parameters
    ----------
    degree : int, default=2
        p.
    c : float, default=1.0
        At least 0.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Polynomial(degree=2, c=1)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    definite = in_threads = True

    def __init__(self, degree: int = 2, c: float = 1.0) -> None:
        self.degree = degree
        self.c = c

    def check_parameters(self) -> None:
        """A whole degree ≥ 1 and c ≥ 0, without which some value would not be that of a kernel."""
        whole = isinstance(self.degree, Integral) and not isinstance(self.degree, bool)
        if not whole or self.degree < 1:
            raise ValueError(f"degree of Polynomial must be an integer ≥ 1, not {self.degree!r}.")
        check_number(self, "c", "a number ≥ 0", lambda c: c >= 0)

    def block(self, x: Any, z: Any) -> Array:
        """All (c + x·z)^p."""
        return self._of(products(x, z))

    def tile(self, x: Any, z: Any, out: AnyArray) -> None:
        """The values of dense rows, written to ``out``."""
        self._of(np.matmul(x, z.T, out=out))

    def _of(self, values: Array) -> Array:
        """(c + v)^p in the place of v, by products, a small part of the time of powers."""
        _core.powers(values, float(self.c), int(self.degree))
        return values

    def doubt(self, x: Any, unit: float) -> tuple[float, float]:
        """A share of the value if no entry is negative, as c + x·z ≥ c then; else a number."""
        if not self.in_tiles(x):
            return super().doubt(x, unit)
        most, p = float(squares(x).max(initial=0.0)), int(self.degree)
        inner = most * product_rounding(x.shape[1], unit) + 2.0 * unit * (self.c + most)
        if self.c > 0 and float(x.min(initial=0.0)) >= 0:
            return math.expm1(p * (inner / self.c + unit)), 0.0
        top = self.c + most
        return 0.0, p * (top + inner) ** (p - 1) * inner + p * unit * (top + inner) ** p

    def in_tiles(self, x: Any) -> bool:
        """Dense rows."""
        return tiles.serve(self, Polynomial.block, x, x)

    def fill(self, x: Any, z: Any, out: AnyArray) -> None:
        """Tile by tile."""
        if not self.in_tiles(x):
            return super().fill(x, z, out)
        check_widths(x, z)
        return tiles.fill(self, x, z, out)

    def times(self, x: Any, z: Any, a: Array) -> Array:
        """Tile by tile."""
        if not tiles.serve(self, Polynomial.block, x, z):
            return super().times(x, z, a)
        check_widths(x, z)
        return tiles.times(self, x, z, a, np.result_type(x, z))

    def diagonal(self, x: Any) -> Array:
        """(c + ‖x‖²)^p."""
        with np.errstate(over="ignore"):  # infinity, which those that need numbers refuse
            return np.asarray((self.c + squares(x)) ** self.degree)

    def feature_map(self, x: Any) -> Array:
        """Monomials times the roots of their multinomial coefficients."""
        d, p = x.shape[1], int(self.degree)
        width = comb(d + p, p) if self.c else comb(d + p - 1, p)
        if width > _MOST_FEATURES:
            raise ValueError(
                f"{self!r} has {width} features of {d} inputs, more than {_MOST_FEATURES}: use the "
                "kernel itself."
            )
        x = dense(x)
        found = np.empty((x.shape[0], width), dtype=x.dtype)
        column = 0
        for total in range(p + 1) if self.c else [p]:
            for chosen in combinations_with_replacement(range(d), total):
                powers = np.unique(chosen, return_counts=True)[1]
                rest = p - total
                ways = factorial(p) // (prod(map(factorial, powers.tolist())) * factorial(rest))
                size = np.sqrt(ways * float(self.c) ** rest)
                found[:, column] = size * x[:, list(chosen)].prod(axis=1)
                column += 1
        return found


class Cosine(VectorKernel):
    """The cosine of the angle between two rows, x·z/(‖x‖·‖z‖); 0 if one of them is zero.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Cosine()([[1.0, 0.0]], [[3.0, 3.0]]).round(3)
    array([[0.707]])
    """

    definite = in_threads = True

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """Rows of length one, and those that are zero."""
        return _unit_rows(matrix(X))

    def block(self, x: Any, z: Any) -> Array:
        """Inner products of rows of length one."""
        return products(x, z)

    def diagonal(self, x: Any) -> Array:
        """1, or 0 for a row of zeros."""
        return np.asarray(squares(x) > 0.5, dtype=float)

    def feature_map(self, x: Any) -> Any:
        """x/‖x‖."""
        return x


class Min(VectorKernel):
    r"""The sum of the lesser entries, for inputs that are not negative.

    .. math:: k(x, z) = \sum_j \min(x_j, z_j)

    It is positive semidefinite for x, z ≥ 0 only, so negative inputs are refused.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Min()([[1.0, 5.0]], [[3.0, 2.0]])
    array([[3.]])
    """

    definite = in_threads = True

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """A matrix without negative entries."""
        found = matrix(X)
        entries = found.data if sparse.issparse(found) else found
        least = float(entries.min(initial=0.0))
        if least < 0:
            raise ValueError(
                f"Min() is a kernel of inputs ≥ 0 only, but X holds {least:g}: shift the inputs, "
                "or take another kernel."
            )
        return found

    def block(self, x: Any, z: Any) -> Array:
        """All Σ min(x, z)."""
        return by_entries(x, z, _core.sums_of_minima)

    def diagonal(self, x: Any) -> Array:
        """Σ x."""
        return np.asarray(x.sum(axis=1, dtype=float), dtype=float).ravel()


def by_entries(x: Any, z: Any, compute: Any) -> Array:
    """A table that ``compute(x, zᵀ, table)`` fills from dense rows; sparse rows some at a time."""
    check_widths(x, z)
    size = max(1, _DENSE_ROWS // max(x.shape[1], 1))
    kind = np.result_type(x.dtype, z.dtype)
    if not sparse.issparse(x) and not sparse.issparse(z):
        x, z = of_one_type((x, z))
        table = np.empty((x.shape[0], z.shape[0]), dtype=kind)
        compute(x, np.ascontiguousarray(z.T), table)
        return table
    table = np.empty((x.shape[0], z.shape[0]), dtype=kind)
    for start in range(0, x.shape[0], size):
        some = x[start : start + size]
        for first in range(0, z.shape[0], size):
            left, right = of_one_type((some, z[first : first + size]))
            part = np.empty((count(left), count(right)), dtype=left.dtype)
            compute(left, np.ascontiguousarray(right.T), part)
            table[start : start + size, first : first + size] = part
    return table


def _unit_rows(x: Any) -> Any:
    lengths = np.sqrt(squares(x))
    with np.errstate(divide="ignore"):
        inverse = np.where(lengths > 0, 1.0 / lengths, 0.0).astype(x.dtype)
    if sparse.issparse(x):
        return sparse.diags_array(inverse).dot(x).tocsr()
    return np.ascontiguousarray(x * inverse[:, None])
