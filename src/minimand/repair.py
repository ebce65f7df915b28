"""Moving a dual point onto the constraints of the dual problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._typing import Array, IntArray
from .linear_system import pseudo_inverse
from .objective import EPS, Objective, dot

_MOST_FREE = 4000


def balance(objective: Objective, theta: Array) -> Array:
    """Make Σ mass·θ = 0 by shrinking the heavier sign towards zero.

    Zero lies in the domain of ℓ* and the domain is convex, so shrinking cannot leave it.
    """
    weighted = objective.mass * theta
    plus, minus = float(weighted[theta > 0].sum()), -float(weighted[theta < 0].sum())
    if plus == minus:
        return theta
    up = minus / plus if plus > minus else 1.0
    down = plus / minus if minus > plus else 1.0
    return theta * np.where(theta > 0, up, down)


def clear_free_columns(
    objective: Objective, theta: Array, slope: Array, curvature: Array
) -> tuple[Array, Array, str]:
    """Make Xᵀ(mass∘θ) vanish on unpenalised columns; a reason in words where it cannot be done.

    θ moves along h∘(X_free c + c₀), h the curvature of the loss: samples at the edge of their
    dual domain have little curvature, so they move little and stay inside. Two or three rounds
    bring the slope down to rounding.
    """
    free = np.flatnonzero(objective.penalty.free)
    limit = _rounding_of_slopes(objective, theta)[free]
    if (np.abs(slope[free]) <= limit).all():
        return theta, slope, ""
    if free.size > _MOST_FREE:
        return theta, slope, f"{free.size} unpenalised columns are too many to project off"
    metric = curvature if curvature.max(initial=0.0) > 0 else np.ones_like(curvature)
    project = _projector(objective, free, objective.mass * metric)
    for _ in range(4):
        c, constant = project(slope[free], objective.mean(theta))
        w = np.zeros(objective.n_features)
        w[free] = c
        theta = theta - metric * (objective.forward(w) + constant)
        theta = objective.loss.into_domain(theta, objective.y)
        if objective.intercept:
            theta = balance(objective, theta)
        slope = objective.backward(objective.mass * theta)
        if (np.abs(slope[free]) <= limit).all():
            return theta, slope, ""
    return (
        theta,
        slope,
        (
            "no bound: the slope along the unpenalised columns does not vanish; "
            "they may separate the data, so that no minimiser exists"
        ),
    )


def _rounding_of_slopes(objective: Objective, theta: Array) -> Array:
    """What rounding alone can leave of Σ mass·θ·x, per column, by Cauchy-Schwarz."""
    spread = np.sqrt(objective.spread)
    size = np.sqrt(objective.mean(theta * theta))
    return 4 * EPS * np.sqrt(objective.n_samples + 16.0) * spread * size + 1e-300


def _projector(
    objective: Objective, free: IntArray, h: Array
) -> Callable[[Array, float], tuple[Array, float]]:
    """Pseudo-inverse of [X_free 1]ᵀ diag(h) [X_free 1], as a function of (slope, mean θ)."""
    matrix, mean = objective.hessian(h, free)
    solve, total = pseudo_inverse(matrix), float(h.sum())

    def project(slope: Array, constant: float) -> tuple[Array, float]:
        c = solve(slope - mean * constant)
        return c, constant / total - dot(mean, c) if objective.intercept and total > 0 else 0.0

    return project
