"""Robust losses: concave functions of a convex loss.

    ℓ(z, y) = φ(s),   s = base(z, y) − inf base,   φ concave and non-decreasing on s ≥ 0, φ(0) = 0

Such losses are bounded or grow slowly, as no convex loss does, so they are not convex. But a
concave φ lies below its tangents, φ(s) ≤ φ(s̄) + φ'(s̄)(s − s̄): at every z̄ the base loss with the
sample weights φ'(s̄ᵢ) bounds the mean loss from above and touches it at z̄. Solvers and the referee
use only this. A robust fit is thus a weighted convex fit in which outliers have small weights.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._base.typing import Array
from .base import Loss
from .distance import Huber, Squared

_STEEPEST = 1e100  # largest weight; safeguard against overflow in products
_MAD = 1.4826  # factor; definition: standard deviation / median |r| of normal noise
_EFFICIENT = 1.345  # standard deviations; convention: Huber's loss is 95 % efficient there


class RobustLoss(Loss):
    """Base of the losses φ(base loss): define ``base``, ``curve`` (φ) and ``slope`` (φ').

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> class Cauchy(mm.RobustLoss):               # log(1 + r²/2), r²/2 being the squared loss
    ...     base = mm.Squared()
    ...     def curve(self, s): return np.log1p(s)
    ...     def slope(self, s): return 1 / (1 + s)
    >>> y = np.array([1.0, 2.0, 3.0, 4.0, 500.0])
    >>> model = mm.Regressor(Cauchy(), "no_penalty").fit(np.arange(5.0)[:, None], y)
    >>> model.coef_.round(2), model.certificate_.kind
    (array([1.]), 'stationary')
    """

    base: ClassVar[Loss] = Squared()
    proved: bool = False  # whether φ is proved to be concave; else it is probed

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.target = cls.base.target

    def curve(self, s: Array) -> Array:
        """φ(s) for s ≥ 0."""
        raise NotImplementedError(f"{type(self).__name__} must define curve(s)")

    def slope(self, s: Array) -> Array:
        """φ'(s) for s ≥ 0, at zero from the right."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(s)")

    # The tangents --------------------------------------------------------------------------

    def height(self, z: Array, y: Array) -> Array:
        """s = base(z, y) − inf base."""
        return np.maximum(self.base.value(z, y) - self.base.infimum(y), 0.0)

    def weights(self, z: Array, y: Array, gradual: float = 1.0) -> Array:
        """φ'(s/gradual): the sample weights of the tangent at z, of this loss or of a milder one.

        As γ (``gradual``) falls from ∞ to 1, γφ(s/γ) falls from the convex φ'(0)·s to φ(s).
        """
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            return np.minimum(self.slope(self.height(z, y) / gradual), _STEEPEST)

    def sample_weights(self, z: Array, y: Array) -> Array:
        """φ'(s)/φ'(0); if φ'(0) is infinite, φ' at the median of s replaces it."""
        top = float(np.asarray(self.slope(np.zeros(1)), float).ravel()[0])
        found = self.weights(z, y)
        if not np.isfinite(top):
            top = float(np.asarray(self.slope(np.median(self.height(z, y), keepdims=True)))[0])
        if not np.isfinite(top):
            top = float(found.max())
        return np.minimum(found / top, 1.0) if top > 0 else np.ones_like(found)

    @property
    def first_weight(self) -> float:
        """φ'(0), the weight of every sample in the convex problem to start from."""
        return float(np.asarray(self.slope(np.zeros(1)), float).ravel()[0])

    def convex_start(self, z: Array, y: Array) -> Loss:
        """A convex loss to start from, by the residuals of a first fit."""
        if not self.base.quadratic:
            return self.base
        delta = _EFFICIENT * _MAD * float(np.median(np.abs(z - y)))
        return Huber(delta) if np.isfinite(delta) and delta > 0 else self.base

    # The protocol of losses ----------------------------------------------------------------

    def value(self, z: Array, y: Array) -> Array:
        """φ(s)."""
        with np.errstate(over="ignore"):
            return self.curve(self.height(z, y))

    def gradient(self, z: Array, y: Array) -> Array:
        """φ'(s)·∂base/∂z."""
        return self.weights(z, y) * self.base.gradient(z, y)

    def curvature(self, z: Array, y: Array) -> Array:
        """φ'(s)·∂²base/∂z², the curvature of the tangent; that of the loss is not larger."""
        return self.weights(z, y) * self.base.curvature(z, y)

    def conjugate(self, u: Array, y: Array) -> Array:
        """−inf ℓ at u = 0, infinite elsewhere: only horizontal lines lie below such a loss."""
        return np.where(u == 0, -self.infimum(y), np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """0."""
        return np.zeros_like(u)

    def infimum(self, y: Array) -> Array:
        """φ(0) = 0."""
        return np.zeros(np.shape(y))

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Not available: the minimiser need not be unique."""
        raise NotImplementedError(f"the prox of {self!r} is not known, as it is not convex")

    def attained(self, y: Array) -> bool:
        """Whether the base loss attains its infimum."""
        return self.base.attained(y)

    @property
    def convex(self) -> bool:
        """No: a concave function of the loss is not convex."""
        return False

    @property
    def composed(self) -> RobustLoss:
        """Itself."""
        return self

    @property
    def smooth(self) -> bool:
        """Whether the base loss is smooth; φ is assumed to have no kink."""
        return self.base.smooth

    def check_parameters(self) -> None:
        """Refuse, in words, a φ that is not concave and non-decreasing from 0 on."""
        if not self.proved:
            _check_concave(self)


def _check_concave(loss: RobustLoss) -> None:
    """Test φ(0) = 0, φ' ≥ 0 and φ(b) ≤ φ(a) + φ'(a)(b − a) on all pairs of a grid."""
    if not loss.base.convex or loss.base.unit != "row":
        raise ValueError(f"base of {loss!r} must be a convex loss of samples, not {loss.base!r}.")
    s = np.concatenate([np.linspace(0.01, 8.0, 120), np.geomspace(1e-8, 1e10, 181)])
    s = np.unique(s)
    with np.errstate(all="ignore"):
        value = np.broadcast_to(np.asarray(loss.curve(s), float), s.shape)
        slope = np.broadcast_to(np.asarray(loss.slope(s), float), s.shape)
        start = float(np.asarray(loss.curve(np.zeros(1)), float).ravel()[0])
        if start != 0:
            raise ValueError(f"curve of {loss!r} must be 0 at 0, not {start:g}.")
        if not (slope >= 0).all():
            at = s[np.argmin(slope >= 0)]
            raise ValueError(f"slope of {loss!r} must not be negative, but it is at {at:g}.")
        tangent = value[:, None] + slope[:, None] * (s[None, :] - s[:, None])
        size = np.abs(value)[None, :] + np.abs(value)[:, None] + slope[:, None] * s[None, :]
        bad = ~(value[None, :] <= tangent + 1e-10 * size + 1e-14)
    if bad.any():
        a, b = np.argwhere(bad)[0]
        raise ValueError(
            f"curve of {loss!r} is not concave, or slope is not its derivative: its tangent at "
            f"{s[a]:g} lies below it at {s[b]:g}."
        )
