"""Small convex quadratic programs with inequalities, by an interior point method."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from ..._base.typing import Array, IntArray
from ..._base.watch import reason

_MOST = 100  # iterations; safeguard: twenty are usual
_PATIENCE = 5  # iterations without progress, after which only rounding is left; safeguard
_NEARLY = 0.995  # share of the way to the boundary that a step may go; convention (Mehrotra)


class Saddle(NamedTuple):
    """The minimiser x, and multipliers λ ≥ 0 of A x ≤ h with Qx + c + Aᵀλ = 0."""

    x: Array
    multipliers: Array


class Rows:
    """The rows A of the inequalities, as a dense matrix."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def times(self, x: Array) -> Array:
        """A x."""
        return np.asarray(self.matrix @ x)

    def transposed(self, multipliers: Array) -> Array:
        """Aᵀλ."""
        return np.asarray(self.matrix.T @ multipliers)

    def solver(self, weight: Array, quadratic: Array) -> Callable[[Array], Array]:
        """The inverse of Aᵀdiag(weight)A + diag(quadratic), as a function of a right-hand side."""
        return _inverse(self.matrix, weight, quadratic)


class RowsWithSlacks(Rows):
    """The rows of A x = B w − ξ[group], x = (w, ξ): every group of rows shares a slack.

    The slacks are eliminated: what is left for w is made of the rows of B less their weighted mean
    in each group, so that nothing cancels, and costs as much as without slacks.
    """

    def __init__(self, matrix: Array, groups: IntArray, count: int) -> None:
        super().__init__(matrix)
        self.groups = groups
        entries = np.ones(groups.size), (groups, np.arange(groups.size))
        self._collect = sparse.csr_array(entries, shape=(count, groups.size))

    def times(self, x: Array) -> Array:
        """B w − ξ[group]."""
        w, slacks = np.split(x, [self.matrix.shape[1]])
        return np.asarray(self.matrix @ w - slacks[self.groups])

    def transposed(self, multipliers: Array) -> Array:
        """Bᵀλ, and minus the sums of λ by group."""
        return np.concatenate([self.matrix.T @ multipliers, -(self._collect @ multipliers)])

    def solver(self, weight: Array, quadratic: Array) -> Callable[[Array], Array]:
        """The inverse, by Schur's complement of the slacks."""
        size = self.matrix.shape[1]
        total = self._collect @ weight + quadratic[size:]
        means = (self._collect @ (weight[:, None] * self.matrix)) / total[:, None]
        reduced = _inverse(self.matrix - means[self.groups], weight, quadratic[:size])

        def solve(right: Array) -> Array:
            for_w, for_slacks = np.split(right, [size])
            w = reduced(for_w + means.T @ for_slacks)
            return np.concatenate([w, for_slacks / total + means @ w])

        return solve


class RowsWithSizes(RowsWithSlacks):
    """The rows of B w − ξ[group], w − τ and −w − τ, x = (w, ξ, τ): τ bounds the sizes of w."""

    def times(self, x: Array) -> Array:
        """A x."""
        size = self.matrix.shape[1]
        above, tau = np.split(x, [x.size - size])
        return np.concatenate([super().times(above), x[:size] - tau, -x[:size] - tau])

    def transposed(self, multipliers: Array) -> Array:
        """Aᵀλ."""
        own, upper, lower = self._parts(multipliers)
        found = super().transposed(own)
        found[: self.matrix.shape[1]] += upper - lower
        return np.concatenate([found, -(upper + lower)])

    def solver(self, weight: Array, quadratic: Array) -> Callable[[Array], Array]:
        """The inverse, by Schur's complement of the sizes."""
        size = self.matrix.shape[1]
        own, upper, lower = self._parts(weight)
        above, total = quadratic[:-size].copy(), upper + lower + quadratic[-size:]
        tilt = (upper - lower) / total
        above[:size] += upper * (1.0 - tilt) + lower * (1.0 + tilt)
        reduced = super().solver(own, above)

        def solve(right: Array) -> Array:
            rest, for_sizes = right[:-size].copy(), right[-size:]
            rest[:size] += tilt * for_sizes
            found = reduced(rest)
            return np.concatenate([found, for_sizes / total + tilt * found[:size]])

        return solve

    def _parts(self, rows: Array) -> tuple[Array, Array, Array]:
        """What belongs to B w − ξ, to w − τ and to −w − τ."""
        count, size = self.matrix.shape
        return rows[:count], rows[count : count + size], rows[count + size :]


def _inverse(matrix: Array, weight: Array, quadratic: Array) -> Callable[[Array], Array]:
    """The inverse of matrixᵀdiag(weight)matrix + diag(quadratic), by Cholesky's factors."""
    normal = matrix.T @ (weight[:, None] * matrix)
    normal[np.diag_indices_from(normal)] += quadratic
    size = 1.0 / np.sqrt(np.maximum(np.diag(normal), 1e-300))  # safeguard for zero rows
    scaled = size[:, None] * normal * size
    scaled[np.diag_indices_from(scaled)] += 1e-14  # share of the unit diagonal; safeguard
    factor = linalg.cho_factor(scaled, check_finite=True)
    return lambda right: size * linalg.cho_solve(factor, size * right, check_finite=False)


def minimise_quadratic(
    quadratic: Array,
    linear: Array,
    rows: Array | Rows,
    limits: Array,
    start: Saddle | None = None,
) -> Saddle:
    """The least ½xᵀdiag(quadratic)x + linear·x where rows·x ≤ limits, by Mehrotra's method.

    Newton steps on Qx + c + Aᵀλ = 0, Ax + s = h, λ∘s = σμ: first with σ = 0, to see how far it
    may go, then with the σ that follows from this and a second-order correction. The iterations end
    when rounding allows no further progress; the caller judges the result with a referee. They
    begin at ``start``, whose multipliers are above 0, or else at x = 0, and end early if the
    surrounding computation shall stop.
    """
    rows = rows if isinstance(rows, Rows) else Rows(rows)
    x, multipliers = start or Saddle(np.zeros(linear.size), np.ones(limits.size))
    slack = np.maximum(limits - rows.times(x), 1.0)
    best, least, stalled = Saddle(x, multipliers), np.inf, 0
    for _ in range(_MOST):
        dual = quadratic * x + linear + rows.transposed(multipliers)
        primal = rows.times(x) + slack - limits
        mu = float(slack @ multipliers) / slack.size
        error = mu * slack.size + np.abs(dual).max() + np.abs(primal).max()
        # Factor of the error: least progress; safeguard.
        stalled = 0 if error < 0.9 * least else stalled + 1
        if error < least:
            best, least = Saddle(x, multipliers), error
        if stalled > _PATIENCE or reason():
            break
        try:
            step = _Newton(quadratic, rows, slack, multipliers, dual, primal)
        except (linalg.LinAlgError, ValueError):  # singular, or no finite number
            break
        # The length of a step without centring.
        _, ds, dl = step.towards(np.zeros(slack.size))
        reach = min(_share(slack, ds), _share(multipliers, dl))
        ahead = float((slack + reach * ds) @ (multipliers + reach * dl)) / slack.size
        dx, ds, dl = step.towards((ahead / mu) ** 3 * mu - ds * dl)
        reach = min(1.0, _NEARLY * min(_share(slack, ds), _share(multipliers, dl)))
        x, slack, multipliers = x + reach * dx, slack + reach * ds, multipliers + reach * dl
    return best


class _Newton:
    """One linearisation, to be solved for several right-hand sides."""

    def __init__(
        self,
        quadratic: Array,
        rows: Rows,
        slack: Array,
        multipliers: Array,
        dual: Array,
        primal: Array,
    ) -> None:
        self.rows, self.slack, self.multipliers = rows, slack, multipliers
        self.dual, self.primal = dual, primal
        self.solve = rows.solver(multipliers / slack, quadratic)

    def towards(self, centre: Array) -> tuple[Array, Array, Array]:
        """dx, ds and dλ with λ∘s → centre, to first order."""
        weight = self.multipliers / self.slack
        # dλ = (centre − λs − λ ds)/s,  ds = −primal − A dx.
        target = (centre - self.multipliers * self.slack) / self.slack + weight * self.primal
        dx = self.solve(-self.dual - self.rows.transposed(target))
        ds = -self.primal - self.rows.times(dx)
        return dx, ds, (centre - self.multipliers * self.slack) / self.slack - weight * ds


def _share(x: Array, dx: Array) -> float:
    """The largest step ≤ 1 along dx that keeps x ≥ 0."""
    falling = dx < 0
    return min(1.0, float(np.min(-x[falling] / dx[falling], initial=1.0)))
