"""Moving a dual point onto the constraints of the dual problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ._typing import Array, BoolArray, IntArray
from .linear_system import solver_for
from .objective import EPS, Objective, dot

_MOST_FREE = 4000
_ROUNDS = 8
_LARGEST_BASIS = 20_000_000  # numbers in a basis of the free columns that may be orthonormalised
_NO_BOUND = (
    "no bound: the slope along the unpenalised columns does not vanish; they may separate the "
    "data, so that no minimiser exists"
)
_NO_SIGNS = (
    "no bound: no dual point was found that keeps the signs which unpenalised columns with a "
    "bound on one side ask for; they may separate the data, so that no minimiser exists"
)

Projection = Callable[[Array, Array], Array]


def balance(objective: Objective, theta: Array) -> Array:
    """Make Σ mass·θ = 0 by shrinking the heavier sign towards zero.

    Zero lies in the domain of ℓ* and the domain is convex, so shrinking cannot leave it.
    """
    weighted = objective.mass * theta
    total = float(weighted.sum())
    half = 0.5 * float(np.abs(weighted).sum())
    plus, minus = half + 0.5 * total, half - 0.5 * total
    if plus == minus:
        return theta
    up = minus / plus if plus > minus else 1.0
    down = plus / minus if minus > plus else 1.0
    return theta * np.where(theta > 0, up, down)


class Cleared(NamedTuple):
    """A dual point that no unpenalised column can exploit: its slope vanishes, up to rounding,
    on the free ones and has the right sign on those that are bounded on one side.

    ``charge`` is what the rounding of nearly collinear columns may hide of the gap; ``reason``
    says in words why there is no such point, where there is none.
    """

    theta: Array
    slope: Array
    charge: float = 0.0
    reason: str = ""


def clear_rays(
    objective: Objective, w: Array, theta: Array, slope: Array, curvature: Array
) -> Cleared:
    """Make Xᵀ(mass∘θ) vanish on unpenalised columns, or point to their bound if they have one.

    θ moves along h∘(X_c a + a₀), h the curvature of the loss: samples at the edge of their dual
    domain have little curvature, so they move little and stay inside; where there are kinks, h is
    the room they have, or what else helps. The columns c are the free ones and, of those with one
    bound, the ones that have left it in w and the ones whose slope is wrong; a few rounds find
    them, and bring the slope down to rounding.
    """
    limit = _rounding_of_slopes(objective, theta)
    chosen = objective.penalty.free | _departed(objective, w)
    if not np.isfinite(limit[chosen]).all():
        return Cleared(theta, slope, reason="numbers overflow: rescale the data or the offset")
    wrong = _wrong(objective, slope, limit)
    if not wrong.any() and _regular(objective, chosen):
        return Cleared(theta, slope)
    metrics = [curvature, np.ones_like(curvature)]
    if objective.loss.smooth:
        metrics = metrics[:1] if curvature.any() else metrics[1:]
    else:
        metrics.insert(0, _room(objective, theta))
    cleared = Cleared(theta, slope, reason=_NO_BOUND)
    for metric in metrics:
        if metric.any() and cleared.reason:
            cleared = _clear(objective, theta, slope, chosen, metric)
    return cleared


def _clear(
    objective: Objective, theta: Array, slope: Array, chosen: BoolArray, metric: Array
) -> Cleared:
    """Rounds of projections in one metric."""
    limit = _rounding_of_slopes(objective, theta)
    wrong = _wrong(objective, slope, limit)
    project: Projection | None = None
    charge = 0.0
    for _ in range(_ROUNDS):
        if project is None or (wrong & ~chosen).any():
            chosen = chosen | wrong
            reason = _too_many(objective, chosen)
            if reason:
                return Cleared(theta, slope, reason=reason)
            make = _projection_by_gram if _regular(objective, chosen) else _projection_by_basis
            project, blur = make(objective, np.flatnonzero(chosen), metric)
            if objective.loss.smooth:
                charge = max(charge, 0.5 * blur * objective.mean(theta * theta))
            else:  # straight pieces: what a slope hides is a slope times the way to the optimum
                charge = max(charge, 2.0 * np.sqrt(blur) * objective.scale)
        theta = objective.loss.into_domain(project(theta, slope), objective.y)
        if objective.intercept:
            theta = balance(objective, theta)
        slope = objective.backward(objective.mass * theta)
        wrong = _wrong(objective, slope, limit)
        if not wrong.any():
            return Cleared(theta, slope, charge)
    return Cleared(theta, slope, reason=_NO_BOUND if objective.has_free_columns else _NO_SIGNS)


def _room(objective: Objective, theta: Array) -> Array:
    """How far every multiplier may move within its domain, at most 1; squared.

    That is the metric of affine scaling: a multiplier next to a corner is not moved beyond it.
    """
    room = objective.loss.room(theta, objective.y)
    share = room / room.max() if room.any() else room
    return share * share


def _wrong(objective: Objective, slope: Array, limit: Array) -> BoolArray:
    """Columns along which the dual is unbounded, by more than rounding."""
    return objective.penalty.unscalable(-slope) & (np.abs(slope) > limit)


def _departed(objective: Objective, w: Array) -> BoolArray:
    """Columns with one bound that are not at it: their slope vanishes at the optimum."""
    form = objective.penalty.separable
    if form is None or form.bounds is None:
        return np.zeros(w.shape, dtype=bool)
    ones = np.ones_like(w)
    return (form.unscalable(ones) | form.unscalable(-ones)) & ~form.at_bound(w)


def _too_many(objective: Objective, chosen: BoolArray) -> str:
    """Why these columns cannot be projected off, in words; empty if they can."""
    count = int(chosen.sum())
    basis = objective.n_samples * count
    if count > _MOST_FREE or (basis > _LARGEST_BASIS and not _regular(objective, chosen)):
        return f"{count} unpenalised columns are too many to project off"
    return ""


def _regular(objective: Objective, chosen: BoolArray) -> bool:
    """Whether the chosen columns are far from collinear; found once for the free ones."""
    if np.array_equal(chosen, objective.penalty.free):
        return objective.free_columns_are_regular
    return int(chosen.sum()) <= _MOST_FREE and objective.are_regular(np.flatnonzero(chosen))


def _rounding_of_slopes(objective: Objective, theta: Array) -> Array:
    """What rounding alone can leave of Σ mass·θ·x, per column, by Cauchy-Schwarz."""
    size = np.sqrt(objective.mean(theta * theta))
    noise = 4 * EPS * np.sqrt(objective.n_samples + 16.0)
    return noise * objective.root_spread * size


def _projection_by_gram(
    objective: Objective, free: IntArray, metric: Array
) -> tuple[Projection, float]:
    """Solve with [X_free 1]ᵀ diag(mass·metric) [X_free 1]: cheap, for columns of full rank."""
    h = objective.mass * metric
    matrix, mean = objective.hessian(h, free)
    solve, total = solver_for(matrix), float(h.sum())

    def project(theta: Array, slope: Array) -> Array:
        constant = objective.mean(theta) if objective.intercept else 0.0
        w = np.zeros(objective.n_features)
        w[free] = solve(slope[free] - mean * constant)
        shift = constant / total - dot(mean, w[free]) if objective.intercept else 0.0
        return theta - metric * (objective.forward(w) + shift)

    return project, 0.0


def _projection_by_basis(
    objective: Objective, free: IntArray, metric: Array
) -> tuple[Projection, float]:
    """Orthonormalise the free columns themselves, for nearly collinear ones.

    A Gram cannot tell columns that differ by 1e-9 from equal ones, and the model could use the
    difference. The columns themselves can, down to a few units in the last place, below which
    they count as dependent: the certificate then holds for data changed by that much. A direction
    that is left with a share τ of its column is known to about √n·eps/τ only; the sum of the
    squares of that blur is returned, to be charged to the gap.
    """
    columns = objective.design.columns(free).matvec(np.eye(free.size))
    if objective.intercept:
        columns = np.column_stack([columns, np.ones(objective.n_samples)])
    movable = (metric > 1e-10 * metric.max()) & (objective.mass > 0)
    root = np.sqrt(objective.mass[movable] * metric[movable])
    seen = root[:, None] * columns[movable]
    size = np.sqrt((seen * seen).sum(axis=0))
    size[size == 0] = 1.0
    basis, triangle, order = linalg.qr(
        seen / size, mode="economic", pivoting=True, check_finite=False
    )
    share = np.abs(np.diag(triangle))
    rank = int((share > 4 * EPS).sum())
    basis, triangle = basis[:, :rank], triangle[:rank, :rank]
    scale = np.sqrt(objective.mass[movable] / metric[movable])
    fixed = columns[~movable] * objective.mass[~movable, None]

    def project(theta: Array, slope: Array) -> Array:
        # What the samples that cannot move contribute, the others must cancel.
        rest = ((fixed.T @ theta[~movable]) / size)[order[:rank]]
        goal = -linalg.solve_triangular(triangle, rest, trans="T", check_finite=False)
        scaled = scale * theta[movable]
        for _ in range(2):  # twice is enough to be orthogonal to working precision
            scaled = scaled - basis @ (basis.T @ scaled - goal)
        moved = theta.copy()
        moved[movable] = scaled / scale
        return moved

    blur = np.minimum(1.0, objective.n_samples * (EPS / share[:rank]) ** 2)
    return project, float(blur[share[:rank] < 1e-4].sum() / metric[movable].max())
