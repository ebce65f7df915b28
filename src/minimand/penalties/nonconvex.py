"""Penalties that are concave in |wⱼ|: sparse models whose large coefficients are not shrunk.

    Ω(w) = Σ p(|wⱼ|; λⱼ),   p concave and non-decreasing on t ≥ 0, p(0) = 0,   λⱼ = α·weightsⱼ

A concave p lies below its tangents, p(t) ≤ p(t̄) + p'(t̄)(t − t̄), so at every w̄ a weighted l1
norm bounds Ω from above and touches it at w̄. Solvers and the referee use Ω through this bound.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike
from .base import BoundPenalty, Penalty, number
from .concave import Concave, Curve, check_concave
from .separable import L1, Separable, _weights


class ConcavePenalty(Penalty):
    """Base of penalties Σ p(|wⱼ|; λⱼ); a subclass writes `curve`, `slope` and `formula`.

    A subclass's constructor need not take ``weights``.

    A factor multiplies alpha and hence λ: ``0.5 * MCP()`` is the MCP whose λ is half of alpha,
    which is not the same as half of its value. The certificate's `objective` shows λ.

    Parameters
    ----------
    weights : array-like of shape (n_features,), optional
        Per-feature factors of λ; 0 leaves a column unpenalised.
    """

    proved: bool = False  # True in a class whose curve is concave by proof; others are probed

    def __init__(self, weights: ArrayLike = None) -> None:
        self.weights = weights

    def curve(self, t: Array, lam: Array) -> Array:
        """p(t; λ) for t ≥ 0."""
        raise NotImplementedError(f"{type(self).__name__} must define curve(t, lam)")

    def slope(self, t: Array, lam: Array) -> Array:
        """p'(t; λ) for t ≥ 0, at zero from the right; may be infinite there."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(t, lam)")

    def shrunk(self, a: Array, step: Array, lam: Array) -> Array:
        """argmin over t ≥ 0 of p(t; λ) + (t − a)²/(2·step), for a ≥ 0."""
        raise NotImplementedError(f"{type(self).__name__} must define shrunk(a, step, lam)")

    def check_parameters(self) -> None:
        """Raise ValueError, in one sentence, for a parameter outside its range."""

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """λ = α·weights; no penalty if all λ are zero."""
        self.check_parameters()
        weights = getattr(self, "weights", None)  # a subclass's constructor may have none
        lam = alpha * _weights(weights, n_features, type(self).__name__)
        nothing = Separable(np.zeros(n_features), np.zeros(n_features))
        if not lam.any():
            return nothing
        if not vars(type(self)).get("proved", False):
            check_concave(self, lam)
        return Concave((Curve(self, lam),), nothing)

    def _least(self, a: Array, step: Array, lam: Array, *candidates: Array) -> Array:
        """The candidate with the least objective; one of them must be the proximal point."""
        tried = np.stack([np.zeros_like(a), *candidates])
        # Compare (t − a)² − a² instead of (t − a)²: with a large a the differences would be lost.
        values = self.curve(tried, lam) + tried * (tried - 2 * a) / (2 * step)
        return np.take_along_axis(tried, values.argmin(axis=0)[None], axis=0)[0]

    def _lam(self, factor: float) -> str:
        return f"λ={factor:g}" + ("" if getattr(self, "weights", None) is None else "·cⱼ")


class MCP(ConcavePenalty):
    r"""Minimax concave penalty: the lasso at zero, nothing beyond γλ, λ = alpha.

    .. math:: p(t) = \lambda t - \frac{t^2}{2\gamma} \text{ for } t \le \gamma\lambda,
              \qquad \tfrac12\gamma\lambda^2 \text{ beyond}

    Parameters
    ----------
    gamma : float, default=3.0
        Greater than 1. Small values leave large coefficients alone sooner; γ → ∞ is the lasso.
    weights : array-like of shape (n_features,), optional
        Per-feature factors of λ; 0 leaves a column unpenalised.

    Notes
    -----
    Columns should have a mean square near 1: where it is below 1/γ, a coefficient is either zero
    or larger than γλ. A factor multiplies λ: ``0.5 * MCP()`` is the MCP with λ = alpha/2.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.MCP().value([1.0, -10.0])          # 1 − 1/6 and the most that one coefficient can cost
    2.333...
    >>> mm.MCP().prox([0.5, 2.0, 10.0], step=1.0)
    array([ 0. ,  1.5, 10. ])
    """

    proved = True

    def __init__(self, gamma: float = 3.0, weights: ArrayLike = None) -> None:
        super().__init__(weights)
        self.gamma = gamma

    def check_parameters(self) -> None:
        """γ > 1."""
        _check_above("gamma of MCP", self.gamma, 1.0)

    def curve(self, t: Array, lam: Array) -> Array:
        """λm − m²/(2γ), m = min(t, γλ)."""
        m = np.minimum(t, self.gamma * lam)
        return m * (lam - m / (2 * self.gamma))

    def slope(self, t: Array, lam: Array) -> Array:
        """(λ − t/γ)₊."""
        return np.maximum(lam - t / self.gamma, 0.0)

    def shrunk(self, a: Array, step: Array, lam: Array) -> Array:
        """Firm threshold: 0 up to step·λ, linear up to γλ, then a itself; a jump if step ≥ γ."""
        bend = 1.0 - step / self.gamma
        line = (a - step * lam) / np.where(bend > 0, bend, 1.0)
        line = np.where(bend > 0, np.clip(line, 0.0, self.gamma * lam), 0.0)
        return self._least(a, step, lam, line, np.maximum(a, self.gamma * lam))

    def formula(self, factor: float = 1.0) -> str:
        """The usual name with λ and γ."""
        return f"Σ mcp(|wⱼ|; {self._lam(factor)}, γ={self.gamma:g})"


class SCAD(ConcavePenalty):
    r"""Smoothly clipped absolute deviation: the lasso up to λ, nothing beyond aλ, λ = alpha.

    .. math:: p'(t) = \min\left(\lambda, \frac{(a\lambda - t)_+}{a - 1}\right), \qquad p(0) = 0

    Parameters
    ----------
    a : float, default=3.7
        Greater than 2. Small values leave large coefficients alone sooner; a → ∞ is the lasso.
    weights : array-like of shape (n_features,), optional
        Per-feature factors of λ; 0 leaves a column unpenalised.

    Notes
    -----
    Columns should have a mean square near 1. A factor multiplies λ: ``0.5 * SCAD()`` is the SCAD
    with λ = alpha/2.

    Examples
    --------
    >>> import minimand as mm
    >>> round(mm.SCAD().value([1.0, -10.0]), 6)    # λ·1, and λ²(a + 1)/2
    3.35
    >>> mm.SCAD().prox([0.5, 1.5, 10.0], step=1.0)
    array([ 0. ,  0.5, 10. ])
    """

    proved = True

    def __init__(self, a: float = 3.7, weights: ArrayLike = None) -> None:
        super().__init__(weights)
        self.a = a

    def check_parameters(self) -> None:
        """a > 2: at a = 2 the threshold for a unit step has no middle piece."""
        _check_above("a of SCAD", self.a, 2.0)

    def curve(self, t: Array, lam: Array) -> Array:
        """λ·min(t, λ), plus the integral of the falling slope between λ and aλ."""
        m = np.clip(t, lam, self.a * lam)
        return lam * np.minimum(t, lam) + (m - lam) * (
            (2 * self.a - 1) * lam - m
        ) / (2 * (self.a - 1))  # fmt: skip

    def slope(self, t: Array, lam: Array) -> Array:
        """λ, then a line down to zero at aλ."""
        return np.minimum(lam, np.maximum(self.a * lam - t, 0.0) / (self.a - 1))

    def shrunk(self, a: Array, step: Array, lam: Array) -> Array:
        """Soft threshold up to λ, linear up to aλ, then a itself; a jump if step ≥ a − 1."""
        end, rest = self.a * lam, self.a - 1
        bend = 1.0 - step / rest
        line = (a - step * end / rest) / np.where(bend > 0, bend, 1.0)
        line = np.where(bend > 0, np.clip(line, lam, end), lam)
        soft = np.clip(a - step * lam, 0.0, lam)
        return self._least(a, step, lam, soft, line, np.maximum(a, end))

    def formula(self, factor: float = 1.0) -> str:
        """The usual name with λ and a."""
        return f"Σ scad(|wⱼ|; {self._lam(factor)}, a={self.a:g})"


class Lq(ConcavePenalty):
    r"""α Σ|wⱼ|^q with 0 < q ≤ 1; q = 1 is `L1`.

    .. math:: p(t) = \lambda t^q

    Parameters
    ----------
    q : float, default=0.5
        The exponent. The smaller, the nearer to counting the coefficients that are not zero.
    weights : array-like of shape (n_features,), optional
        Per-feature factors of λ; 0 leaves a column unpenalised.

    Notes
    -----
    For q < 1 the slope at zero is infinite: a coefficient that has become zero stays zero, and
    w = 0 is always a local minimum. The search therefore starts elsewhere: from the lasso of the
    same alpha, or from a lasso with weights by the size of each column's own coefficient.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Lq(0.5).value([4.0, 0.0, -9.0])
    5.0
    >>> mm.Lq(0.5).prox([1.0, 0.0], step=1.0)
    array([0., 0.])
    """

    proved = True

    def __init__(self, q: float = 0.5, weights: ArrayLike = None) -> None:
        super().__init__(weights)
        self.q = q

    def check_parameters(self) -> None:
        """0 < q ≤ 1."""
        if not _is_real(self.q) or not 0 < self.q <= 1:
            raise ValueError(f"q of Lq must be a number with 0 < q ≤ 1, not {self.q!r}.")

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """The l1 norm, which is convex, for q = 1."""
        bound = super().bind(n_features, alpha)
        if self.q == 1 and isinstance(bound, Concave):
            return Separable(bound.lam, np.zeros(n_features))
        return bound

    def curve(self, t: Array, lam: Array) -> Array:
        """λt^q."""
        return lam * t**self.q

    def slope(self, t: Array, lam: Array) -> Array:
        """λq·t^(q−1), infinite at zero."""
        with np.errstate(divide="ignore", over="ignore"):
            return lam * self.q * t ** (self.q - 1.0)

    def shrunk(self, a: Array, step: Array, lam: Array) -> Array:
        """Zero, or the larger root of t + c·t^(q−1) = a, c = step·λ·q, by Newton's method.

        The left side is convex, and increasing from its minimum on; so from t = a Newton's method
        decreases to the root and never passes it. Where there is no root the result is zero.
        """
        c, power = step * lam * self.q, self.q - 1.0
        lowest = (-c * power) ** (1.0 / (1.0 - power))
        least = np.where(lowest > 0, lowest, np.finfo(float).tiny)
        t = np.maximum(a, least)
        for _ in range(100):  # steps; safeguard, quadratic convergence needs far fewer
            pull = c * t**power
            fall = (t + pull - a) / np.maximum(1.0 + power * pull / t, np.finfo(float).eps)
            new = np.maximum(t - fall, least)
            if (new >= t).all():
                break
            t = np.minimum(new, t)
        return self._least(a, step, lam, np.minimum(t, a))

    def formula(self, factor: float = 1.0) -> str:
        """factor·Σ|wⱼ|^q."""
        if self.q == 1:
            return L1(self.weights).formula(factor)
        inner = "Σ|wⱼ|^" if self.weights is None else "Σ cⱼ|wⱼ|^"
        return f"{number(factor)}{inner}{self.q:g}"


def _is_real(value: Any) -> bool:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and bool(np.isfinite(value))


def _check_above(name: str, value: Any, low: float) -> None:
    if not _is_real(value) or not value > low:
        raise ValueError(f"{name} must be a finite number > {low:g}, not {value!r}.")
