r"""Weighted points as proofs see them: their centred inner products C = P G P.

Points gᵢ with weights wᵢ, u = √w and G = (uᵢ gᵢ·gⱼ uⱼ). P projects off u, which centres the points
at their weighted mean: C = FFᵀ with the rows √wᵢ(gᵢ − mean). A clustering Y has the matrix
Z = Σⱼ uⱼuⱼᵀ/vⱼ, uⱼ the part of u in cluster j and vⱼ = ‖uⱼ‖² its volume, and the objective

    Σᵢ wᵢ‖gᵢ − centre‖² = tr C − tr CZ.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from ..._base.eigenvalues import largest_eigenvalues
from ..._base.linear_system import EPS
from ..._base.typing import Array, IntArray
from ...features.low_rank import MEMORY

_USUAL = 1e-40, 1e40  # numbers whose products, and squares of these, are numbers; safeguard
SIDE = 3000  # most rows of a matrix all of whose eigenvalues are computed; safeguard: some seconds


def unit_of(numbers: Array) -> float:
    """A power of two of the size of the largest number, if that is very large or small; else 1."""
    largest = float(np.abs(numbers).max(initial=0.0))
    usual = largest == 0 or _USUAL[0] <= largest <= _USUAL[1]
    return 1.0 if usual else 2.0 ** math.frexp(largest)[1]


class Bound(NamedTuple):
    """An upper bound of the sum of some largest eigenvalues, and what of it is rounding."""

    value: float
    rounding: float


class Points(ABC):
    """Points with weights, all of them positive.

    Sums of squares are in a unit, a power of two, so that no product of them overflows or vanishes.
    """

    unit: float
    root: Array  # u = √w
    total: float  # tr C
    size: float  # of the numbers that tr C is computed from, summed: its rounding is some ulp of it

    @property
    def rounding(self) -> float:
        """Of tr C, and of sums of eigenvalues of C."""
        return 4.0 * EPS * self.size

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.root.size)

    @abstractmethod
    def times(self, a: Array) -> Array:
        """C a."""

    @abstractmethod
    def matrix(self) -> Array:
        """C itself, (n, n)."""

    def top_of_columns(self, columns: Array, signs: Array, count: int) -> Bound:
        """The ``count`` largest eigenvalues of C + P E D Eᵀ P, summed, if `takes_columns`.

        E are the given columns (n, m) and D = ``signs``, a symmetric matrix (m, m).
        """
        raise NotImplementedError

    def takes_columns(self, m: int) -> bool:
        """Whether C + P E D Eᵀ P with m columns E has a rank that is small enough."""
        return False

    def top_with(self, B: Array, count: int) -> Bound:
        """The ``count`` largest eigenvalues of C + P B P, summed."""
        inner = self.off_mean(self.off_mean(B).T)
        size = self.size + 4.0 * float(np.abs(np.diag(inner)).sum())
        return top_sum(self.matrix() + inner, count, size)

    def off_mean(self, a: Array) -> Array:
        """P a."""
        u = self.root[:, None]
        return np.asarray(a - u * ((self.root @ a) / float(self.root @ self.root)))


class RowPoints(Points):
    """Points that are rows of numbers, or of a factor of a kernel matrix."""

    def __init__(self, rows: Array, weights: Array) -> None:
        length, mass = unit_of(rows), unit_of(weights)
        self.unit = length * length * mass
        rows, weights = (x if u == 1 else x / u for x, u in ((rows, length), (weights, mass)))
        self.root = np.sqrt(weights)
        centred = rows - (weights @ rows) / float(weights.sum())
        centred -= (weights @ centred) / float(weights.sum())  # what the rounding of the mean left
        self.factor = self.root[:, None] * centred
        self.total = float(np.einsum("ij,ij->", self.factor, self.factor))
        own = np.linalg.norm(rows, axis=1) * np.linalg.norm(centred, axis=1)
        self.size = math.sqrt(rows.shape[1]) * self.total + float(weights @ own)

    def times(self, a: Array) -> Array:
        """F(Fᵀa)."""
        return np.asarray(self.factor @ (self.factor.T @ a))

    def matrix(self) -> Array:
        """FFᵀ."""
        return np.asarray(self.factor @ self.factor.T)

    def takes_columns(self, m: int) -> bool:
        """If [F, E] has fewer columns than rows, and few enough to be in memory."""
        width = self.factor.shape[1] + m
        return width < self.n and width <= SIDE and 8.0 * self.n * width <= MEMORY

    def top_of_columns(self, columns: Array, signs: Array, count: int) -> Bound:
        """From the triangle R of [F, PE] = QR: R diag(I, D) Rᵀ has the same eigenvalues."""
        d, m = self.factor.shape[1], columns.shape[1]
        joint = np.hstack([self.factor, self.off_mean(columns)])
        R = linalg.qr(joint, mode="r", check_finite=False)[0][: d + m]
        square = R[:, :d] @ R[:, :d].T + R[:, d:] @ (signs @ R[:, d:].T)
        # Outside the span of the columns all eigenvalues are zero.
        return top_sum(square, count, self.size, zeros=self.n - 1 - d - m)


class PairPoints(Points):
    """Points of which the inner products are known; these need not be positive semidefinite."""

    def __init__(self, gram: Array, weights: Array) -> None:
        square, mass = unit_of(gram), unit_of(weights)
        self.unit = square * mass
        gram, weights = (x if u == 1 else x / u for x, u in ((gram, square), (weights, mass)))
        self.root = np.sqrt(weights)
        centred = self.off_mean(self.off_mean(gram * np.outer(self.root, self.root)).T)
        self._matrix = 0.5 * (centred + centred.T)
        self.total = float(np.trace(self._matrix))
        self.size = 4.0 * float(weights @ np.abs(np.diag(gram)))

    def times(self, a: Array) -> Array:
        """C a."""
        return np.asarray(self._matrix @ a)

    def matrix(self) -> Array:
        """C."""
        return self._matrix


def top_sum(square: Array, count: int, size: float = 0.0, zeros: int = 0) -> Bound:
    """The largest eigenvalues of a symmetric matrix (and so many zeros), summed, from above.

    ``size`` times a few ulp is the rounding of its entries. An error E of the matrix, LAPACK's own
    included, moves a sum of ``count`` eigenvalues by at most count·‖E‖.
    """
    if count == 0:
        return Bound(0.0, 0.0)
    side = square.shape[0]
    square = 0.5 * (square + square.T)
    values = largest_eigenvalues(square, count)
    values = np.concatenate([values, np.zeros(min(max(zeros, 0), count))])
    values = np.sort(values)[::-1][:count]
    # SciPy's norm does not square numbers that are too small or too large for it.
    norm = float(linalg.norm(square, check_finite=False))
    rounding = EPS * (count * side * norm + 4.0 * size)
    return Bound(float(values.sum()) + rounding, rounding)


def are_equal(rows: Any, labels: IntArray) -> bool:
    """Whether the rows of every cluster are equal, to the last bit: no clustering is better."""
    _, first, own = np.unique(labels, return_index=True, return_inverse=True)
    differ = rows != rows[first[own.ravel()]]
    return not (differ.nnz if sparse.issparse(differ) else differ.any())


def indicator(labels: IntArray, root: Array, k: int) -> Array:
    """The columns uⱼ, (n, k)."""
    found = np.zeros((labels.size, k))
    found[np.arange(labels.size), labels] = root
    return found
