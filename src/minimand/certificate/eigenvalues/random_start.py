"""What a Krylov space proves by itself because its start was random.

Let A ⪰ 0 have the eigenvalues λ₁ ≥ λ₂ ≥ …, Ω (size, b) independent normal numbers, and let θ₁ ≥ θ₂
≥ … be the Ritz values of the space {p(A)Ω : p of degree q at most}. Where λⱼ > t = θⱼ, take the
Chebyshev polynomial T_q of [0, t] for p, and combinations X of the columns that give V_jᵀΩX = I,
with V_j the first j eigenvectors. One of the vectors p(A)ΩXz has a Rayleigh quotient of t at most,
so that

    T_q(2x − 1)²·(x − 1) ≤ (‖Ω‖/σ)²,     x = λⱼ/θⱼ,  σ the least singular value of V_jᵀΩ;

this is cosh(q·s)·sinh(s/2) ≤ ‖Ω‖/σ with x = cosh²(s/2). V_jᵀΩ is a matrix of j × b normal numbers,
whatever A is, and its least singular value is rarely small (Chen and Dongarra, 2005):

    P(σ < 1/τ) ≤ (2πp)^-½ · (e·b^½/p)^p · τ^-p,     p = b − j + 1.

So every λⱼ with j ≤ b is bounded without one more product. The bound is as good as the degree: for
b = 4 columns of length 20,000 and nine blocks, λ₃ ≤ 2.7·θ₃. Where it separates λ from what comes
after, residuals say the rest, of second order.
"""

from __future__ import annotations

import math

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import Array
from .ritz import Ritz, sum_above

_CHANCE = 1e-16  # that one of the bounds is wrong; safeguard: below that of an error of the machine
_LOST = 256.0  # ulp times the root of the size that a new block may lose; safeguard: `orthonormal`
_HALVINGS, _NEAR = 60, 1e-3  # of an interval, and its width at the end; safeguards
_SPLITS = 12  # numbers of pairs off which the rest is bounded; safeguard


def largest_by_start(values: Array, start: Array, degree: int, count: int) -> Array:
    """Upper bounds of the ``count`` largest eigenvalues, the largest first; fewer where b is less.

    Parameters
    ----------
    values : ndarray
        Ritz values, the largest first, of a space that holds all p(A)·``start``.
    start : ndarray of shape (size, b)
        Independent normal numbers that nothing has been chosen by.
    degree : int
        q, the degree of the polynomials p.
    count : int
    """
    size, width = start.shape
    count = min(count, width, values.size)
    norm = math.sqrt(max(float(np.linalg.eigvalsh(start.T @ start)[-1]), 0.0))
    norm *= 1.0 + width * size * EPS
    factors = [_factor(norm, width, j, degree, _CHANCE / count) for j in range(1, count + 1)]
    found = np.maximum(values[:count], 0.0) * np.array(factors)
    found = np.minimum.accumulate(found)
    return found + _LOST * EPS * math.sqrt(size) * (degree + 1) * float(found.max(initial=0.0))


def _factor(norm: float, width: int, j: int, degree: int, chance: float) -> float:
    """An upper bound of λⱼ/θⱼ but for this chance."""
    spread = math.log(norm) - log_least_singular(width, j, chance)  # log ‖Ω‖/σ at most
    low, high = 0.0, 2.0 * math.asinh(math.exp(min(spread, 700.0)))
    for _ in range(_HALVINGS):
        s = 0.5 * (low + high)
        reached = _log_cosh(degree * s) + math.log(math.sinh(0.5 * s))
        low, high = (low, s) if reached >= spread else (s, high)
        if high - low <= _NEAR * high:
            break
    return math.cosh(0.5 * high) ** 2


def log_least_singular(width: int, j: int, chance: float) -> float:
    """log σ, below which the least singular value of j × width normal numbers is so rarely."""
    p = width - j + 1
    logarithm = p * (1.0 + 0.5 * math.log(width) - math.log(p)) - 0.5 * math.log(2 * math.pi * p)
    return (math.log(chance) - logarithm) / p


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2.0 * x)) - math.log(2.0)


def sum_by_start(ritz: Ritz, k: int, upper: Array) -> float:
    """An upper bound of the sum of the k largest eigenvalues of A.

    ``upper`` are bounds uⱼ of single ones. With R the residual of the first m vectors V, no
    eigenvalue of A off V exceeds c = u₍m+1₎ + ‖R‖ if that is below θₘ: else A had m + 1 eigenvalues
    above u₍m+1₎ (Weyl). `ritz.sum_above` takes c, and the others are bounded one by one.
    """
    size = ritz.vectors.shape[0]
    known = min(k, upper.size)
    # Each of those without a bound of their own is not above the last of the others.
    ones = np.append(upper[:known], np.full(k - known, upper[-1]))
    best = float(ones.sum())
    for m in np.unique(np.geomspace(1, k, _SPLITS).astype(int)).tolist():
        theta, residual = ritz.values[:m], ritz.residual(m)
        if m >= size:
            c = -math.inf
        elif m < upper.size:
            c = float(upper[m]) + float(np.linalg.norm(residual))
        else:
            break
        if c < float(theta[-1]):
            best = min(best, sum_above(theta, residual, c) + float(ones[m:].sum()))
    return best
