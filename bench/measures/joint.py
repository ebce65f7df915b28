"""The judge's formulas for losses that couple k scores: arrays are (k, n), y holds class numbers.

With p = θ + [c = y], a law for every sample whose sums over samples are the classes' counts if
there is an intercept,

    D(θ) = −mean Σ p log p − ‖Xᵀθ/n‖²/(2·alpha)             softmax
    D(θ) = mean (1 − p_y) − ‖Xᵀθ/n‖²/(2·alpha)              Crammer-Singer, here without intercept
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, xlogy

from ..problems.base import Array, Problem

_ROUNDS = 1000  # of balancing rows and columns; safeguard


def primal(problem: Problem, w: Array, b: Array) -> float:
    """Mean log Σ e^z − z_y, or max (z + [c ≠ y]) − z_y, plus alpha·½‖W‖²."""
    z = np.asarray(problem.X @ w.T).T + b[:, None]
    return _mean_loss(problem, z) + problem.alpha * 0.5 * float(np.square(w).sum())


def dual(problem: Problem, theta: Array) -> float:
    """A lower bound of the optimum, from a dual point that is made feasible first."""
    p = np.maximum(theta + _true(problem), 0.0)
    p /= p.sum(axis=0)
    if problem.intercept:
        p = _balanced(p, _true(problem).sum(axis=1))
    slope = np.asarray(problem.X.T @ (p - _true(problem)).T) / problem.n_samples
    if problem.loss == "crammer_singer":
        earned = float(np.mean(1.0 - _own(problem, p)))
    else:
        earned = -float(xlogy(p, p).sum()) / problem.n_samples
    return earned - float(np.square(slope).sum()) / (2 * problem.alpha)


def scale(problem: Problem) -> float:
    """The mean loss of the null model: the entropy of the classes' shares, or log k, or 1."""
    if problem.loss == "crammer_singer":
        return 1.0
    share = _true(problem).mean(axis=1)
    return float(-xlogy(share, share).sum()) if problem.intercept else float(np.log(len(share)))


def _mean_loss(problem: Problem, z: Array) -> float:
    if problem.loss == "crammer_singer":
        return float(np.mean((z + 1.0 - _true(problem)).max(axis=0) - _own(problem, z)))
    return float(np.mean(logsumexp(z, axis=0) - _own(problem, z)))


def _own(problem: Problem, z: Array) -> Array:
    return np.asarray(z[problem.y.astype(int), np.arange(problem.n_samples)])


def _true(problem: Problem) -> Array:
    return (np.arange(problem.n_scores)[:, None] == problem.y).astype(float)


def _balanced(p: Array, counts: Array) -> Array:
    """Rows of p sum to the counts and columns to 1, by scaling both in turn."""
    for _ in range(_ROUNDS):
        total = p.sum(axis=1)
        if (np.abs(total - counts) <= 1e-13 * counts.sum()).all():
            break
        p = p * (counts / total)[:, None]
        p /= p.sum(axis=0)
    return p
