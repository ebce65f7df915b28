"""Support vector machines as quadratic programs, by Clarabel; nothing of minimand's is used."""

import clarabel
import numpy as np
from scipy import sparse


def _solve(P, q, rows, right, n_equal=0):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(n_equal)] * bool(n_equal)
    cones.append(clarabel.NonnegativeConeT(len(right) - n_equal))
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(P), q, sparse.csc_matrix(rows), right, cones, settings
    ).solve()
    return np.array(found.x), np.array(found.z)


def soft_margin(X, signs, C, weights=None, intercept=True):
    """min ½‖w‖² + Σ Cᵢξᵢ with y(xw + b) ≥ 1 − ξ, ξ ≥ 0: w, b, α, the optimum."""
    n, d = X.shape
    cost = C * (np.ones(n) if weights is None else weights)
    P = np.zeros((d + 1 + n, d + 1 + n))
    P[:d, :d] = np.eye(d)
    margin = np.hstack([-signs[:, None] * X, -signs[:, None], -np.eye(n)])
    sign = np.hstack([np.zeros((n, d + 1)), -np.eye(n)])
    rows, right = np.vstack([margin, sign]), np.r_[-np.ones(n), np.zeros(n)]
    if not intercept:
        rows = np.vstack([np.eye(1, d + 1 + n, d), rows])
        right = np.r_[0.0, right]
    x, z = _solve(P, np.r_[np.zeros(d + 1), cost], rows, right, n_equal=int(not intercept))
    w, b, alpha = x[:d], x[d], z[int(not intercept) :][:n]
    value = 0.5 * w @ w + cost @ np.maximum(1 - signs * (X @ w + b), 0)
    return w, b, alpha, value


def hard_margin(X, signs, intercept=True):
    """min ½‖w‖² with y(xw + b) ≥ 1: w, b, α."""
    n, d = X.shape
    P = np.zeros((d + 1, d + 1))
    P[:d, :d] = np.eye(d)
    rows, right = np.hstack([-signs[:, None] * X, -signs[:, None]]), -np.ones(n)
    if not intercept:
        rows, right = np.vstack([np.eye(1, d + 1, d), rows]), np.r_[0.0, right]
    x, z = _solve(P, np.zeros(d + 1), rows, right, n_equal=int(not intercept))
    return x[:d], x[d], z[int(not intercept) :]
