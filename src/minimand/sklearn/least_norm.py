"""Least squares with several minimisers: the one of least norm, as scikit-learn returns it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, lsqr

from .._base.typing import Array
from ..problem.objective import EPS, Objective, Point, dot
from ..problem.row_space import Spectrum
from ..solvers import Solution
from .base import Fit, moved

_LOOSEST = 1e-6  # tolerance of a start, at most; convention: the default
_FIT = 0.1  # residual of a start that fits all rows, as a share of √tol; safeguard: 1 % of the gap
_SHORT = 1e-12  # share of w that is no part of the rows, but rounding; safeguard


def spectrum_of(fit: Fit) -> Spectrum:
    """The spectrum of the dense design that all outputs share."""
    return _spectrum(fit.problem.objectives[0])


def shortest_starts(objectives: Sequence[Objective], tol: float) -> list[Point | None]:
    """The minimiser of least norm of wide sparse X, by LSQR; None elsewhere, for closed forms.

    Where all rows can be fitted, the relative gap is the square of the relative residual.
    """
    tol = min(tol, _LOOSEST)
    return [_shortest(objective, tol) for objective in objectives]


def _shortest(objective: Objective, tol: float) -> Point | None:
    n, d = objective.design.shape
    if not objective.design.sparse or n > d or not objective.penalty.free.all():
        return None
    y = objective.y if objective.offset is None else objective.y - objective.offset
    level = objective.mean(y) if objective.intercept else 0.0
    right = np.sqrt(objective.mass) * (y - level)
    w = np.asarray(lsqr(_centred(objective), right, atol=tol, btol=_FIT * np.sqrt(tol))[0])
    b = level - dot(objective.column_means, w) if objective.intercept else 0.0
    return objective.point(w, b)


def of_least_norm(fit: Fit) -> Fit:
    """The same fit, where every unpenalised w is projected on the row space of X.

    A start that was good enough to stay is there already.
    """
    pairs = zip(fit.problem.objectives, fit.solutions, fit.starts)
    return replace(fit, solutions=[_projected(*pair) for pair in pairs])


def _projected(objective: Objective, solution: Solution, start: Point | None) -> Solution:
    """The solution of least ‖w‖ with the same predictions, unless rounding makes it worse."""
    stayed = start is not None and np.array_equal(start.w, solution.w)
    if stayed or not objective.has_free_columns:
        return solution
    w = _visible_part(objective, solution.w)
    if w is None or np.linalg.norm(w - solution.w) <= _SHORT * np.linalg.norm(w):
        return solution
    b = solution.b
    if objective.intercept:
        b += objective.mean(objective.forward(solution.w - w))
    least = moved(objective, solution, w, b)
    # 1e-6 and 1e-9: shares of the scale; safeguards for the gap that the projection may cost.
    rounding = min(least.certificate.rounding, 1e-6 * objective.scale)
    allowed = max(solution.certificate.gap, rounding, 1e-9 * objective.scale)
    return least if least.certificate.gap <= allowed else solution


def _visible_part(objective: Objective, w: Array) -> Array | None:
    """The projection of w on the rows of the centred X; None where X has full column rank."""
    rows = objective.row_space if objective.penalty.free.all() else None
    if rows is not None:
        return rows.projected(w)
    basis = objective.free_basis
    if basis is not None:
        return None if basis.regular else basis.outside(basis.inside(w))
    if objective.n_samples > w.size:
        return None  # a factorisation of so many columns is too expensive
    x = _centred(objective)
    return np.asarray(lsqr(x, x.matvec(w), atol=1e-14, btol=1e-14)[0])


def _centred(objective: Objective) -> LinearOperator:
    """√mass·(X − 1·meanᵀ) as an operator."""
    design, root = objective.design, np.sqrt(objective.mass)
    mean = objective.column_means if objective.intercept else np.zeros(objective.n_features)

    def forward(w: Array) -> Array:
        w = np.ravel(w)
        return root * (design.matvec(w) - dot(mean, w))

    def backward(u: Array) -> Array:
        u = root * np.ravel(u)
        return design.rmatvec(u) - mean * u.sum()

    return LinearOperator(design.shape, matvec=forward, rmatvec=backward, dtype=float)


def _spectrum(objective: Objective) -> Spectrum:
    """The eigenvalues of the Gram where it is well conditioned, else the singular values of X."""
    n, d = objective.design.shape
    rows = objective.row_space
    if rows is not None and rows.spectrum is not None:
        return rows.spectrum
    mass = n * objective.mass
    if n >= d:
        # NumPy's wrapper takes a fifth of the time of SciPy's, which is longer than a small system.
        values = np.linalg.eigvalsh(n * objective.own_hessian.matrix)[::-1]
        if values[-1] > 1e-6 * values[0]:  # share; safeguard: squares lose half of the digits
            return Spectrum(np.sqrt(values), d)
    x = np.concatenate([np.asarray(block, float) for block in objective.design.gathered_blocks()])
    if objective.intercept:
        x -= objective.mass @ x
    x *= np.sqrt(mass)[:, None]
    values = linalg.svdvals(x, check_finite=False)
    basis = objective.basis_of(np.arange(d))
    if basis is not None:
        return Spectrum(values, basis.rank)
    # Centring leaves rounding errors in proportion to the columns before centring.
    noise = EPS * np.sqrt(n * objective.spread.max(initial=0.0)) if objective.intercept else 0.0
    large = values > max(values.max(initial=0.0) * max(n, d) * EPS, noise)
    return Spectrum(values, int(large.sum()))
