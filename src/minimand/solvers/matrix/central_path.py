"""Newton's method along a central path of ½⟨W, GW⟩ − ⟨B, W⟩ + Ω(W): units do not matter to it.

With V = B − GW, the dual of the model is the minimum over V and a level t of

    ½⟨B − V, G⁻¹(B − V)⟩ + (t − l1)²/(2·square) − μ·Σ log(t² − σ²)        σ singular values of V

where t = l1 if there is no square; l2 is part of G. The gradient of the barrier is W, so that
σ(W) = 2μσ/(t² − σ²). A step of Newton's method solves (G + S⁻¹)W = B − V + S⁻¹∇ for the next W,
S the second derivative of the barrier and ∇ its gradient: G is not inverted, and S⁻¹ is known from
the singular vectors of V. A step is a factorisation of a matrix over all coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._base.linear_system import solver_for
from ..._base.typing import Array
from ...penalties import SingularValues
from ...penalties.spectral import Factors
from .gram_descent import Correction, Descent, correction

_MOST = 150  # steps; safeguard
_FALL = 0.1  # factor of μ once a step is nearly full and ends near the path; safeguard
_FULL = 0.9  # share of a step that is nearly full; safeguard
_NEAR = 0.25  # units of μ: such a square of Newton's decrement is near the path; safeguard
_INSIDE = 0.95  # share of the way to the boundary that a step goes at most; safeguard
_BISECTIONS = 20  # halvings of the interval in which the boundary lies; safeguard
_RESOLVED = 1e-14  # share of t, the least distance from the boundary; safeguard: rounding
_LEAST = 1e-15  # share of the first μ, at which rounding is all that is left; safeguard
_ROUNDED = 10.0  # units of μ/t, below which a singular value of W is that of a zero; safeguard


class _Barrier(NamedTuple):
    """The barrier at (V, t): what a step needs, t eliminated from it."""

    inverse: Array  # S⁻¹, over all coefficients
    gradient: Array
    level: Callable[[Array], float]  # the step of t that belongs to one of V


def follow(
    descent: Descent, enough: Callable[[Correction], bool], stop: Callable[[], bool]
) -> Correction | None:
    """Steps until the gap is enough: then that is the model of the descent.

    Otherwise it is the best one that they found; None if the metric is too large for them.
    """
    penalty, full = descent.penalty, descent.metric.full(descent.w.shape)
    if full is None or not penalty.makes_zeros:
        return None
    full = full + penalty.l2 * np.eye(len(full))
    b = descent.linear.reshape(len(descent.linear), -1)
    w = solver_for(full)(b.ravel()).reshape(b.shape)
    v, t = np.zeros_like(b), penalty.l1
    first = mu = max(float(np.vdot(b, w)), 1e-300) / min(b.shape)
    if penalty.square > 0:  # the minimiser of its part and of the barrier at V = 0
        t = 0.5 * (t + np.sqrt(t * t + 8.0 * penalty.square * mu * min(b.shape)))
    best: tuple[Correction, tuple[Array, Array, Factors]] | None = None
    for _ in range(_MOST):
        at = _barrier(v, t, mu, penalty)
        right = (b - v).ravel() + at.inverse @ at.gradient.ravel()
        new = solver_for(full + at.inverse)(right).reshape(b.shape)
        step = b - v - (full @ new.ravel()).reshape(b.shape)
        rise = at.level(step)
        share = _share(v, step, t, rise)
        if not (np.isfinite(new).all() and share > 0):
            break
        w, v, t = w + share * (new - w), v + share * step, t + share * rise
        if share < _FULL or float(np.vdot(step, new - at.gradient)) > _NEAR * mu:
            if stop():
                break
            continue
        found, model = _model(descent, w, _ROUNDED * mu / t)
        if best is None or found.gap < best[0].gap:
            best = found, model
        kept = descent.w, descent.image, descent.factors
        descent.w, descent.image, descent.factors = model
        if enough(found):  # it may look at the model
            return found
        descent.w, descent.image, descent.factors = kept
        mu *= _FALL
        if stop() or mu < _LEAST * first:
            break
    if best is None:
        return None
    descent.w, descent.image, descent.factors = best[1]
    return best[0]


def _model(
    descent: Descent, w: Array, zero: float
) -> tuple[Correction, tuple[Array, Array, Factors]]:
    """The better one of W and W without the singular values that the barrier alone holds up."""
    u, sigma, r = np.linalg.svd(w, full_matrices=False)
    ranks = {int(np.count_nonzero(sigma > zero)), int(np.count_nonzero(sigma))}
    tried = []
    for rank in sorted(ranks):
        factors = Factors(u[:, :rank], sigma[:rank], r[:rank])
        matrix = factors.matrix.reshape(descent.w.shape)
        image = descent.metric.times(matrix)
        pull = descent.linear - image
        found = correction(descent.metric, descent.penalty, factors, pull)
        tried.append((found, (matrix, image, factors)))
    return min(tried, key=lambda each: each[0].gap)


def _barrier(v: Array, t: float, mu: float, penalty: SingularValues) -> _Barrier:
    """With D = t² − σ², S⁻¹ takes M, in the basis of singular vectors, to

        (D_i·D_j/2μ)·(t²·M_ij − σ_i·σ_j·M_ji)/(t⁴ − σ_i²·σ_j²)

    where σ = 0 beyond the last singular value. A square adds a matrix of rank one.
    """
    d, k = v.shape
    u, sigma, r = np.linalg.svd(v)
    r, least = r.T, len(sigma)
    rows, columns = np.zeros(d), np.zeros(k)
    rows[:least], columns[:least] = sigma, sigma
    gap_rows, gap_columns = (t - rows) * (t + rows), (t - columns) * (t + columns)
    product = np.outer(rows, columns)
    factor = np.outer(gap_rows, gap_columns) / (2.0 * mu * (t * t - product) * (t * t + product))
    straight, crossed = factor * t * t, (factor * product)[:least, :least]
    # Σ_ij straight_ij·U_ai·R_bj·U_ci·R_ej − Σ_ij crossed_ij·U_ai·R_bj·U_cj·R_ei, as [a, b, c, e]
    pairs_u = (u[:, None, :] * u[None, :, :]).reshape(d * d, d)
    pairs_r = (r[:, None, :] * r[None, :, :]).reshape(k * k, k)
    inverse = (pairs_u @ straight @ pairs_r.T).reshape(d, d, k, k).transpose(0, 2, 1, 3)
    mixed = (u[:, None, :least] * r[None, :, :least]).reshape(d * k, least)
    other = (mixed @ crossed @ mixed.T).reshape(d, k, d, k).transpose(0, 3, 2, 1)
    # mixed is [a, e] by i on the left and [c, b] by j on the right
    inverse = (inverse - other).reshape(d * k, d * k)
    gaps = gap_rows[:least]

    def matrix(values: Array) -> Array:
        return (u[:, :least] * values) @ r[:, :least].T

    gradient = matrix(2.0 * mu * sigma / gaps)
    if penalty.square == 0:
        return _Barrier(inverse, gradient, lambda step: 0.0)
    cross = -4.0 * mu * sigma * t / gaps**2  # derivative of the gradient by t
    bent = float((2.0 * mu * (t * t + sigma**2) / gaps**2).sum()) + 1.0 / penalty.square
    slope = (t - penalty.l1) / penalty.square - float((2.0 * mu * t / gaps).sum())
    by_level = matrix(cross)
    image = matrix(-2.0 * sigma * t / (t * t + sigma**2)).ravel()  # S⁻¹ times that derivative
    left = 1.0 / penalty.square + float((2.0 * mu / (t * t + sigma**2)).sum())
    inverse = inverse + np.outer(image, image) / left
    gradient = gradient - by_level * (slope / bent)
    return _Barrier(
        inverse, gradient, lambda step: -(slope + float(np.vdot(by_level, step))) / bent
    )


def _share(v: Array, step: Array, t: float, rise: float) -> float:
    """1, or the share of the step that goes almost to the boundary ‖V‖ = t."""

    def inside(share: float) -> bool:
        level = t + share * rise
        return bool(np.linalg.norm(v + share * step, 2) < (1.0 - _RESOLVED) * level)

    if not np.isfinite(step).all() or not np.isfinite(rise):
        return 0.0
    if inside(1.0 / _INSIDE):
        return 1.0
    low, high = 0.0, 1.0 / _INSIDE
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if inside(middle) else (low, middle)
    return _INSIDE * low
