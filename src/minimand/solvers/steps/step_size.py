"""The step size of gradient methods: one over the largest curvature of the mean loss.

The Hessian of w ↦ min over b of mean ℓ(offset + X w + b) is at most ℓ''max·Xᵀdiag(mass)X, the
columns centred if b is free: minimising over b takes the same Schur complement of both sides. So
L = ℓ''max·λmax. (The often printed λmax(XᵀX/n) + λ belongs to ½r² and ½λ‖w‖². For r² and λ‖w‖² the
constant is twice that; a step of one over half of it oscillates along the top eigenvector.)
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..._base.typing import Array
from ...problem.objective import EPS, Objective, dot

_SMALL = 300  # rows or columns, up to which the eigenvalue is computed exactly; safeguard
_KRYLOV = 40  # Lanczos steps; safeguard
_DOUBT = 1e-6  # probability that a random start misses the top eigenvector; safeguard


def lipschitz(objective: Objective, h: Array) -> float:
    """An upper bound of λmax of Xᵀdiag(h)X, the columns h-centred if the intercept is free.

    Exact on the small side of a small matrix. Otherwise by Lanczos from a random start: after k
    steps the Ritz value is at least (1 − ε)·λmax, √ε = ln(1.648·√d/δ)/(2k − 1), but for a chance of
    δ, so that dividing by 1 − ε makes it a bound. Never more than the trace.
    """
    n, d = objective.design.shape
    trace = max(float(objective.moments(h).second.sum()), 0.0)
    if min(n, d) <= _SMALL:
        top = _exact(objective, h) * (1.0 + 100 * max(n, d) * EPS)
    else:
        root = np.log(1.648 * np.sqrt(d) / _DOUBT) / (2 * _KRYLOV - 1)
        top = _ritz(objective, h) / (1.0 - root**2)
    return min(top, trace) if np.isfinite(top) else trace


def _centre(objective: Objective, h: Array) -> Array:
    """The h-weighted means of the columns if the intercept is free, else zeros."""
    total = float(h.sum())
    if not objective.intercept or not total > 0:
        return np.zeros(objective.n_features)
    return objective.backward(h) / total


def _exact(objective: Objective, h: Array) -> float:
    """Dense eigenvalues on the smaller side."""
    n, d = objective.design.shape
    if d <= n:
        matrix = objective.hessian(h).matrix
    else:
        root = np.sqrt(h)
        matrix = objective.design.row_gram(np.ones(d), _centre(objective, h))
        matrix = matrix * np.outer(root, root)
        objective.meter.passes += 1
    return float(np.linalg.eigvalsh(matrix)[-1]) if np.isfinite(matrix).all() else np.inf


def _ritz(objective: Objective, h: Array) -> float:
    """The top Ritz value after (at least) ``_KRYLOV`` Lanczos steps from a random start."""
    d = objective.n_features
    centre = _centre(objective, h)

    def product(v: Array) -> Array:
        v = np.ascontiguousarray(v, dtype=float).ravel()
        return objective.curvature_product(v, -dot(centre, v), h)[0]

    start = np.random.default_rng(0).standard_normal(d)
    operator = LinearOperator((d, d), matvec=product, dtype=float)
    try:
        found = eigsh(operator, 1, which="LA", v0=start, ncv=_KRYLOV, tol=1e-2, maxiter=20)
        return float(found[0][0])
    except ArpackNoConvergence:
        return np.inf  # the trace is then the bound
