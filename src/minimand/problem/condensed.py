"""A least-squares problem with d + 1 rows instead of n: the same objective, for any penalty.

The squared loss depends on the data through weighted sums only,

    Σ mᵢ½(xᵢ·w + b − tᵢ)² = ½wᵀC w − cᵀw + ½v,   C = cov(x), c = cov(x, t), v = var(t), b minimised,

so any d + 1 rows with the same C, c and v will do: C = RᵀR, targets R⁻ᵀc, and one more row of zeros
whose target holds what no w explains. Sums over disjoint rows add up, so the sums over a training
part are the sums over all rows minus the sums over the rows left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from .._base.threads import one_blas_thread
from .._base.typing import Array, IntArray
from ..design import DenseDesign, Design
from ..losses.curvature import beside
from .objective import EPS, Meter, Objective

_MOST_COLUMNS = 1000  # columns; safeguard: d³ of the factorisation
_FEWEST_ROWS = 3  # rows per column, from which a Gram costs less than passes; safeguard
_DIGITS = 1e-4  # share of a column's square that must be left after a subtraction; safeguard
_PIVOT = 1e-5  # pivot of a unit-diagonal Gram, below which eigenvalues are used instead; safeguard


@dataclass(frozen=True, eq=False)
class Sums:
    """Σ s, Σ s·v and Σ s·v vᵀ over some rows, v = (x, t) − centre; t is a number or several.

    Without an intercept the centre is zero, and Σ s·v, which is not needed then, is zero too. The
    entry (i, j) of the products is off by at most √(noiseᵢ·noiseⱼ) through rounding, where a column
    of x that was taken for constant may vary by a standard deviation of ``hidden``.
    """

    centre: Array
    weight: float
    first: Array
    second: Array
    noise: Array  # of (x, t)
    hidden: Array  # of x

    def __add__(self, other: Sums) -> Sums:
        """The sums over both sets of rows, about the same centre."""
        return self._joined(other, self.weight + other.weight, np.add)

    def __sub__(self, other: Sums) -> Sums:
        """The sums over the rows that are not in ``other``."""
        return self._joined(other, self.weight - other.weight, np.subtract)

    def _joined(self, other: Sums, weight: float, join: Callable[[Array, Array], Array]) -> Sums:
        """What is lost in either is lost in the result."""
        hidden = self.hidden**2 * self.weight + other.hidden**2 * other.weight
        return Sums(
            self.centre,
            weight,
            join(self.first, other.first),
            join(self.second, other.second),
            self.noise + other.noise,
            np.sqrt(hidden / weight) if weight > 0 else self.hidden,
        )

    @property
    def central(self) -> Array:
        """Covariances of (x, t); without an intercept, mean products."""
        mean = self.first / self.weight
        return self.second / self.weight - np.outer(mean, mean)

    def keeps_digits_of(self, whole: Sums) -> bool:
        """Whether the result of a subtraction from ``whole`` is larger than its rounding."""
        if self.weight < _DIGITS * whole.weight:
            return False
        left = np.diag(self.second) - self.first**2 / self.weight
        return bool((left >= _DIGITS * np.diag(whole.second)).all())


@dataclass(frozen=True, eq=False)
class Condensed:
    """A problem of d + 1 rows without an intercept, and how to return to the original."""

    objective: Objective
    mean: Array  # means of the columns; zero without an intercept
    target: float  # mean of y − offset; zero without an intercept
    sums: Sums  # of the condensed problem, with the rounding of those that it was made of

    def intercepts(self, coefs: Array) -> Array:
        """The best b for each row of coefficients."""
        return self.target - coefs @ self.mean


def is_worthwhile(objective: Objective, rows: int | None = None) -> bool:
    """Whether a condensed problem has so few rows that it costs less than passes over all."""
    return objective.n_scores == 1 and outnumber(objective, rows)


def outnumber(objective: Objective, rows: int | None = None) -> bool:
    """Whether there are so many rows that their Gram costs less than passes over them."""
    n, d = objective.design.shape
    if not objective.loss.quadratic or d > _MOST_COLUMNS:
        return False
    # A sparse Gram costs the squared number of stored entries of every row.
    short = not objective.design.sparse or objective.design.nnz <= 0.25 * n * d
    # 20 more rows; safeguard.
    return short and (n if rows is None else rows) >= _FEWEST_ROWS * d + 20


def middle(objective: Objective) -> Array:
    """Means of (x, t) if there is an intercept, else zero: a common centre for sums of parts."""
    if not objective.intercept:
        return np.zeros(objective.n_features + objective.n_scores)
    return np.append(objective.column_means, objective.row_mean(_target(objective)))


def sums(objective: Objective, centre: Array | None = None, rows: IntArray | None = None) -> Sums:
    """The sums over some rows (all by default), by the masses of the objective.

    They are about the rows' own means unless another centre, common to several sums, is given.
    """
    design: Design = objective.design if rows is None else objective.design.rows(rows)
    mass, target = objective.mass, _target(objective)
    if rows is not None:
        mass, target = mass[rows], target[rows]
    weight = float(mass.sum())
    if objective.intercept:
        matrix, mean = design.covariance(mass)
        level = mass @ target / weight
    else:
        matrix, mean = design.gram(mass), np.zeros(design.shape[1])
        level = np.zeros(target.shape[1:])
    rest = target - level
    weighted = beside(mass, rest) * rest
    cross = design.rmatvec(weighted) - np.multiply.outer(mean, weighted.sum(axis=0))
    square = weighted.T @ rest
    second = _framed(matrix, cross, square)
    if rows is None:
        objective.keep_spread(np.diag(matrix) + mean * mean)
    own = np.append(mean, level)
    # Columns are multiplied as they are, or minus rough means; what remains is never larger.
    rough = design.about if objective.intercept else np.zeros_like(mean)
    size = np.diag(second).copy()
    size[: len(mean)] += weight * np.maximum(mean**2, (mean - rough) ** 2)
    constant = (np.diag(matrix) == 0.0) & bool(objective.intercept)
    hidden = np.where(constant, design.constant_below * np.abs(mean), 0.0)
    first = np.zeros_like(own)
    if centre is not None:
        away = own - centre  # zero without an intercept
        first, second = weight * away, second + weight * np.outer(away, away)
        own, size = centre, np.maximum(size, np.diag(second))
    ulps = EPS * (design.shape[0] + design.shape[1] + 16)  # twice γ; 16 more operations; safeguard
    return Sums(own, weight, first, second, ulps * size, hidden)


def condense(objective: Objective, found: Sums) -> Condensed:
    """The problem of the summed rows, under the penalty of ``objective``."""
    d = objective.n_features
    mean = found.first / found.weight
    moments = found.central
    with one_blas_thread():
        rows, target = _square_root(moments[:d, :d], moments[:d, d])
    rest = max(float(moments[d, d]) - float(target @ target), 0.0)
    size = np.sqrt(d + 1.0)  # every row has mass 1/(d + 1)
    x = np.zeros((d + 1, d), order="F")
    x[:d] = size * rows
    problem = Objective(
        loss=objective.loss,
        penalty=objective.penalty,
        design=DenseDesign(x),
        y=size * np.append(target, np.sqrt(rest)),
        mass=np.full(d + 1, 1.0 / (d + 1)),
        intercept=False,
        words=objective.words,
        meter=Meter(),
    )
    means = found.centre + mean
    nothing = np.zeros(d + 1)
    own = Sums(nothing, 1.0, nothing, moments, found.noise / found.weight, found.hidden)
    return Condensed(problem, means[:d], float(means[d]), own)


def _framed(matrix: Array, cross: Array, square: Array) -> Array:
    """The symmetric matrix of these parts; the targets have the last rows and columns."""
    d = len(matrix)
    beside_it = cross.reshape(d, -1)
    whole = np.empty((d + beside_it.shape[1],) * 2)
    whole[:d, :d], whole[:d, d:], whole[d:, :d] = matrix, beside_it, beside_it.T
    whole[d:, d:] = square
    return whole


def _target(objective: Objective) -> Array:
    return objective.y if objective.offset is None else objective.y - objective.offset


def _square_root(gram: Array, slope: Array) -> tuple[Array, Array]:
    """R and r with RᵀR = gram and Rᵀr = slope, columns in units of their own size.

    By Cholesky if the Gram is far from singular, else by its eigenvalues; those that are only
    rounding are left out.
    """
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    unit = np.where(size > 0, size, 1.0)
    scaled, right = gram / np.outer(unit, unit), slope / unit
    try:
        upper = linalg.cholesky(scaled, check_finite=False)
    except linalg.LinAlgError:
        upper = np.zeros_like(scaled)
    if np.diag(upper).min(initial=1.0) > _PIVOT:
        return upper * unit, linalg.solve_triangular(upper, right, trans="T", check_finite=False)
    values, vectors = linalg.eigh(scaled, check_finite=False)
    keep = values > values.max(initial=0.0) * values.size * EPS
    root = np.sqrt(np.where(keep, values, 0.0))
    along = (vectors.T @ right) / np.where(keep, root, 1.0)
    return (root[:, None] * vectors.T) * unit, np.where(keep, along, 0.0)
