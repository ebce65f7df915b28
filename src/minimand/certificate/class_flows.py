"""Balances multipliers of classes that are flows from the right class of a row to the others.

mass·u_c ≥ 0 flows from class y to class c, and u_y = −Σ u_c. The intercepts are free, so what flows
into a class must flow out of it. Flows may shrink one by one without leaving the domain. With F the
k×k matrix of all flows and φ a potential of the classes, the flows F_yc·(1 + φ_y − φ_c) are
balanced if L φ = inflow − outflow, L the Laplacian of F + Fᵀ. All flows are then divided by the
largest factor, so that none has grown.
"""

from __future__ import annotations

import numpy as np

from .._base.typing import Array
from ..problem.objective import EPS, Objective

_ROUNDS = 4  # potentials, one after the other; safeguard: the first leaves rounding
_REDUCTIONS = 200  # rounds of plain reductions before them; safeguard
_SMALL = 0.1  # share of its flow by which no class may be off balance for a potential; safeguard
_RANK = 1e-13  # share of the largest eigenvalue, below which one counts as zero; safeguard


def balance_flows(objective: Objective, theta: Array) -> Array | None:
    """Multipliers with Σ mass·θ = 0 for every class, none larger than in θ; None: none found."""
    if objective.y.ndim > 1:
        return None  # of a tangent: its multipliers are differences of flows
    at, rows = objective.y.astype(np.int64), np.arange(objective.n_samples)
    flows = np.maximum(theta, 0.0)
    flows[rows, at] = 0.0
    total = _totals(objective, flows)
    factors = _reduced(total)
    for _ in range(_ROUNDS):
        moved = flows * factors[at]
        moved[rows, at] = -moved.sum(axis=1)
        left = objective.row_mean(moved)
        limit = 16 * EPS * objective.row_mean(np.abs(moved))  # safeguard, as for one score
        if (np.abs(left) <= limit).all():
            return moved
        now = total * factors
        # `left` is summed over rows: sums over classes differ from it by rounding.
        potential = _potential(now, left)
        growth = 1.0 + potential[:, None] - potential
        used = growth[now > 0]
        if not used.size or used.min() < 0 or not np.isfinite(used).all():
            return None
        factors = factors * growth / max(1.0, float(used.max()))
    return None


def _totals(objective: Objective, flows: Array) -> Array:
    """F: what flows from class to class."""
    from scipy import sparse

    n, k = flows.shape
    members = sparse.csr_array(
        (objective.row_mass, (objective.y.astype(np.int64), np.arange(n))), shape=(k, n)
    )
    return np.asarray(members @ flows)


def _reduced(total: Array) -> Array:
    """Factors of the flows that leave every class nearly balanced.

    What is too much flows into (or out of) a class is taken from all its flows alike; it is then
    missing elsewhere, but less in total.
    """
    factors = np.ones_like(total)
    for step in range(_REDUCTIONS):
        now = total * factors
        into, out = now.sum(axis=0), now.sum(axis=1)
        if (np.abs(into - out) <= _SMALL * np.maximum(np.minimum(into, out), 1e-300)).all():
            break
        if step % 2:
            factors *= np.divide(into, out, out=np.ones_like(out), where=out > into)[:, None]
        else:
            factors *= np.divide(out, into, out=np.ones_like(out), where=into > out)
    return factors


def _potential(total: Array, excess: Array) -> Array:
    """The shortest φ with L φ = excess; NaN if numbers overflow."""
    laplacian = np.diag(total.sum(axis=0) + total.sum(axis=1)) - total - total.T
    # The flows of classes may differ much in size, so the system is scaled to a unit diagonal.
    size = np.sqrt(np.maximum(np.diag(laplacian), 1e-300))
    scaled = laplacian / size[:, None] / size
    if not np.isfinite(scaled).all():
        return np.full_like(excess, np.nan)
    values, vectors = np.linalg.eigh(scaled)
    kept = values > _RANK * max(float(values[-1]), 0.0)
    along = (vectors.T @ (excess / size))[kept] / values[kept]
    return np.asarray((vectors[:, kept] @ along) / size)
