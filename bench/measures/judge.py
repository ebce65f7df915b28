"""The one referee for everybody: (P(model) − D(reference)) / scale.

P is computed here from the coefficients, D from the dual point of a minimand fit whose tol is 1e-4
of the gap asked for, both with plain NumPy and none of minimand's own formulas; D is a lower bound
of the optimum for whatever dual point it is given, because the point is made feasible first:

    D(θ) = −mean ℓ*(θᵢ, yᵢ) − Ω*(−Xᵀθ/n),   Σθ = 0 if there is an intercept

A path is judged at every alpha, and its gap is the largest.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..problems.base import Array, Problem
from . import joint
from .timing import Lap

REFERENCE = 1e-4  # tol of the reference, in terms of the gap asked for
_SECONDS = 120.0  # after which a reference is as good as it gets; its slack is reported


class Model(NamedTuple):
    """Coefficients (n, n_features) and intercepts (n,), n the scores, or the alphas of a path."""

    w: Array
    b: Array
    lap: Lap | None = None  # taken in another process

    def nonzeros(self, problem: Problem) -> int:
        """Of the model; of a path, at its end."""
        return int(np.count_nonzero(self.w if problem.alphas is None else self.w[-1]))


@dataclass(frozen=True)
class Judge:
    """Knows lower bounds of the optimum, one per alpha, and the scale that makes gaps relative."""

    problem: Problem
    dual: Array
    scale: float
    model: Model  # the reference fit
    reference: Array  # its P

    def relative(self, model: Model) -> float:
        """The largest gap."""
        value = (primal(self.problem, model) - self.dual).max() / self.scale
        return float(value) if np.isfinite(value) else np.inf

    def above(self, model: Model) -> float:
        """How far P is above that of the reference, relative, where it is least so."""
        value = (primal(self.problem, model) - self.reference).min() / self.scale
        return float(value) if np.isfinite(value) else np.inf

    @property
    def slack(self) -> float:
        """How far the bound itself may be from the optimum, relative."""
        return float((self.reference - self.dual).max() / self.scale)

    def remark(self, model: Model) -> str:
        """What there is to say of a result besides its gap: nothing."""
        return ""

    def words(self) -> str:
        """The reference in a line."""
        slack = f"bound within {max(self.slack, 0.0):.1e} (relative)"
        if len(self.reference) == 1:
            return f"P = {self.reference[0]:.12g}, {slack}"
        ends = f"P = {self.reference[0]:.10g} … {self.reference[-1]:.10g}"
        return f"{ends}, {slack} at all {len(self.reference)} alphas"


def judge_of(problem: Problem) -> Judge:
    """Fit the reference and read the bounds off its dual points."""
    from ..peers.minimand import fit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit(problem, REFERENCE * problem.gap, _SECONDS)
    if problem.special is not None:
        bounds = problem.special.dual(problem, fitted.model, fitted.theta)
    elif problem.formulas.joint:
        bounds = np.array([joint.dual(problem, fitted.theta)])
    else:
        signs = np.broadcast_to(problem.signs(), fitted.theta.shape)
        bounds = dual(problem, signs, fitted.theta)
    value = primal(problem, fitted.model)
    return Judge(problem, bounds, scale(problem), fitted.model, value)


def primal(problem: Problem, model: Model) -> Array:
    """Mean loss + alpha·penalty at every alpha, summed over scores."""
    if problem.special is not None:
        return problem.special.primal(problem, model)
    if problem.formulas.joint:
        return np.array([joint.primal(problem, model.w, model.b)])
    z = np.asarray(problem.X @ model.w.T).T + model.b[:, None]
    signs = problem.signs()
    loss = problem.formulas.value(z, signs).mean(axis=1)
    r = problem.l1_ratio
    norms = np.sqrt(problem.block) * problem.in_groups(model.w).sum(axis=1)
    size = r * norms + (1 - r) * 0.5 * np.square(model.w).sum(axis=1)
    return _by_alpha(problem, loss + problem.strengths * size)


def dual(problem: Problem, signs: Array, theta: Array) -> Array:
    """D at dual points (rows) that are first made feasible; lower bounds of min P at every alpha.

    Ω*(v) = Σ (|vⱼ| − r·alpha)₊² / (2(1 − r)·alpha); for r = 1, 0 where |v| ≤ alpha.
    """
    theta = problem.formulas.legal(theta, signs)
    theta = np.array([_balanced(row) for row in theta]) if problem.intercept else theta
    slope = problem.in_groups(np.asarray(problem.X.T @ theta.T).T) / problem.n_samples
    slope = slope / np.sqrt(problem.block)
    l1, l2 = problem.strengths * problem.l1_ratio, problem.strengths * (1 - problem.l1_ratio)
    if problem.l1_ratio == 1.0:
        largest = np.maximum(slope.max(axis=1), np.finfo(float).tiny)
        theta = theta * np.minimum(1.0, l1 / largest)[:, None]
        conjugate = np.zeros(len(theta))
    else:
        beyond = np.maximum(slope - np.reshape(l1, (-1, 1)), 0.0)
        conjugate = np.square(beyond).sum(axis=1) / (2 * l2)
    loss = problem.formulas.conjugate(theta, signs).mean(axis=1)
    return _by_alpha(problem, -loss - conjugate)


def _by_alpha(problem: Problem, values: Array) -> Array:
    """Scores are summed, alphas are not."""
    return values if problem.alphas is not None else values.sum(keepdims=True)


def _balanced(theta: Array) -> Array:
    """Σθ = 0, by shrinking the heavier sign; a shrunk point stays in the domain."""
    up, down = theta[theta > 0].sum(), -theta[theta < 0].sum()
    if up == 0 or down == 0:
        return np.zeros_like(theta)
    least = min(up, down)
    return theta * np.where(theta > 0, least / up, least / down)


def scale(problem: Problem) -> float:
    """P(w = 0, best b) − infimum of the loss, summed over scores."""
    if problem.special is not None:
        return problem.special.scale(problem)
    if problem.formulas.joint:
        return joint.scale(problem)
    loss, total = problem.formulas, 0.0
    for y in problem.signs():
        b = loss.constant(y) if problem.intercept else 0.0
        total += float(loss.value(np.full_like(y, b), y).mean())
    return total
