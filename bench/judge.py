"""The one referee for everybody: (P(model) − D(reference)) / scale.

P is computed here from the coefficients, D from the dual point of a minimand fit with tol = 1e-10,
both with plain NumPy and none of minimand's own formulas; D is a lower bound of the optimum for
whatever dual point it is given, because the point is made feasible first:

    D(θ) = −mean ℓ*(θᵢ, yᵢ) − Ω*(−Xᵀθ/n),   Σθ = 0 if there is an intercept
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from .problem import Array, Problem

TARGET = 1e-6
REFERENCE_TOL = 1e-10


class Model(NamedTuple):
    """Coefficients (n_scores, n_features) and intercepts (n_scores,)."""

    w: Array
    b: Array

    @property
    def nonzeros(self) -> int:
        return int(np.count_nonzero(self.w))


@dataclass(frozen=True)
class Judge:
    """Knows a lower bound of the optimum and the scale that makes gaps relative."""

    problem: Problem
    dual: float
    scale: float
    reference: float  # P of the reference fit

    def primal(self, model: Model) -> float:
        return primal(self.problem, model)

    def relative(self, model: Model) -> float:
        value = (self.primal(model) - self.dual) / self.scale
        return float(value) if np.isfinite(value) else np.inf

    @property
    def slack(self) -> float:
        """How far the bound itself may be from the optimum, relative."""
        return (self.reference - self.dual) / self.scale


def judge_of(problem: Problem) -> Judge:
    """Fit the reference and read the bound off its dual point."""
    from .peers.minimand import estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = estimator(problem, REFERENCE_TOL).fit(problem.X, problem.y)
    model = Model(np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_))
    theta = np.asarray(fitted.certificate_.dual_point).reshape(problem.n_samples, -1).T
    bound = sum(dual(problem, y, t) for y, t in zip(problem.signs(), theta, strict=True))
    return Judge(problem, float(bound), scale(problem), primal(problem, model))


def primal(problem: Problem, model: Model) -> float:
    """Σ over scores of mean loss + alpha·penalty."""
    z = np.asarray(problem.X @ model.w.T).T + model.b[:, None]
    signs = problem.signs()
    if problem.loss == "squared":
        loss = 0.5 * np.square(z - signs).mean(axis=1).sum()
    else:
        loss = np.logaddexp(0.0, -signs * z).mean(axis=1).sum()
    penalty = np.abs(model.w).sum() if problem.penalty == "l1" else 0.5 * np.square(model.w).sum()
    return float(loss + problem.alpha * penalty)


def dual(problem: Problem, y: Array, theta: Array) -> float:
    """D at a dual point that is first made feasible; a lower bound of min P."""
    if problem.loss == "logistic":
        theta = -y * np.clip(-y * theta, 0.0, 1.0)
    theta = _balanced(theta) if problem.intercept else theta
    slope = np.abs(np.asarray(problem.X.T @ theta)) / problem.n_samples
    if problem.penalty == "l1":
        theta = theta * min(1.0, problem.alpha / slope.max())
        conjugate = 0.0
    else:
        conjugate = float(np.square(slope).sum() / (2 * problem.alpha))
    if problem.loss == "squared":
        loss = (0.5 * theta**2 + theta * y).mean()
    else:
        p = -y * theta
        loss = (xlogy(p, p) + xlogy(1 - p, 1 - p)).mean()
    return float(-loss - conjugate)


def _balanced(theta: Array) -> Array:
    """Σθ = 0, by shrinking the heavier sign; a shrunk point stays in the domain."""
    up, down = theta[theta > 0].sum(), -theta[theta < 0].sum()
    if up == 0 or down == 0:
        return np.zeros_like(theta)
    least = min(up, down)
    return theta * np.where(theta > 0, least / up, least / down)


def scale(problem: Problem) -> float:
    """P(w = 0, best b) − infimum of the loss, summed over scores."""
    total = 0.0
    for y in problem.signs():
        if problem.loss == "squared":
            total += 0.5 * float(np.square(y - y.mean() * problem.intercept).mean())
        elif not problem.intercept:
            total += float(np.log(2.0))
        else:
            p = (y > 0).mean()
            total += float(-xlogy(p, p) - xlogy(1 - p, 1 - p))
    return total
