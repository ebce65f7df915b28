"""Small convex quadratic programs with inequalities, by an interior point method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..._base.typing import Array

_MOST = 100  # iterations; safeguard: twenty are usual
_PATIENCE = 5  # iterations without progress, after which only rounding is left; safeguard
_NEARLY = 0.995  # share of the way to the boundary that a step may go; convention (Mehrotra)


class Saddle(NamedTuple):
    """The minimiser x, and multipliers λ ≥ 0 of A x ≤ h with Qx + c + Aᵀλ = 0."""

    x: Array
    multipliers: Array


def minimise_quadratic(quadratic: Array, linear: Array, rows: Array, limits: Array) -> Saddle:
    """The least ½xᵀdiag(quadratic)x + linear·x where rows·x ≤ limits, by Mehrotra's method.

    Newton steps on Qx + c + Aᵀλ = 0, Ax + s = h, λ∘s = σμ: first with σ = 0, to see how far it
    may go, then with the σ that follows from this and a second-order correction. The iterations end
    when rounding allows no further progress; the caller judges the result with a referee.
    """
    x = np.zeros(linear.size)
    slack = np.maximum(limits - rows @ x, 1.0)
    multipliers = np.ones(limits.size)
    best, least, stalled = Saddle(x, multipliers), np.inf, 0
    for _ in range(_MOST):
        dual = quadratic * x + linear + rows.T @ multipliers
        primal = rows @ x + slack - limits
        mu = float(slack @ multipliers) / slack.size
        error = mu * slack.size + np.abs(dual).max() + np.abs(primal).max()
        stalled = 0 if error < 0.9 * least else stalled + 1
        if error < least:
            best, least = Saddle(x, multipliers), error
        if stalled > _PATIENCE:
            break
        try:
            step = _Newton(quadratic, rows, slack, multipliers, dual, primal)
        except linalg.LinAlgError:
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
        rows: Array,
        slack: Array,
        multipliers: Array,
        dual: Array,
        primal: Array,
    ) -> None:
        self.rows, self.slack, self.multipliers = rows, slack, multipliers
        self.dual, self.primal = dual, primal
        matrix = rows.T @ ((multipliers / slack)[:, None] * rows)
        matrix[np.diag_indices_from(matrix)] += quadratic
        self.size = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
        scaled = self.size[:, None] * matrix * self.size
        scaled[np.diag_indices_from(scaled)] += 1e-14
        self.factor = linalg.cho_factor(scaled, check_finite=True)

    def towards(self, centre: Array) -> tuple[Array, Array, Array]:
        """dx, ds and dλ with λ∘s → centre, to first order."""
        weight = self.multipliers / self.slack
        # dλ = (centre − λs − λ ds)/s,  ds = −primal − A dx.
        target = (centre - self.multipliers * self.slack) / self.slack + weight * self.primal
        right = -self.dual - self.rows.T @ target
        dx = self.size * linalg.cho_solve(self.factor, self.size * right, check_finite=False)
        ds = -self.primal - self.rows @ dx
        return dx, ds, (centre - self.multipliers * self.slack) / self.slack - weight * ds


def _share(x: Array, dx: Array) -> float:
    """The largest step ≤ 1 along dx that keeps x ≥ 0."""
    falling = dx < 0
    return min(1.0, float(np.min(-x[falling] / dx[falling], initial=1.0)))
