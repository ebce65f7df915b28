"""Losses that hardly listen to outliers: concave functions of a convex loss.

    ℓ(z, y) = φ(s),   s = base(z, y) − inf base,   φ concave and non-decreasing on s ≥ 0, φ(0) = 0

They are bounded or grow slowly, which no convex loss can, so they are not convex. But a concave φ
lies below its tangents, φ(s) ≤ φ(s̄) + φ'(s̄)(s − s̄): at every z̄ the base loss with the sample
weights φ'(s̄ᵢ) bounds the mean loss from above and touches it. That is all that a solver and the
referee need, and it reads well: a robust fit is a convex one in which outliers weigh little.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from .base import Loss, Margin
from .distance import Huber, Squared
from .margin import Logistic
from .piecewise import Absolute
from .probe import WITHOUT_MINIMUM

_STEEPEST = 1e100  # a weight of more would overflow in products
_ROUNDING = 8 * float(np.finfo(float).eps)  # of a score, relative to its parts
_MAD = 1.4826  # a standard deviation in median absolute deviations of normal noise
_EFFICIENT = 1.345  # of these is where Huber's loss is 95 % as good as squares for such noise


class RobustLoss(Loss):
    """Base of the losses φ(base loss): say ``base``, and write ``curve`` (φ) and ``slope`` (φ').

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
    proved: ClassVar[bool] = False  # whether φ is concave on paper; else it is probed

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
        """φ'(s/gradual): the sample weights of the tangent at z, or of a milder loss's.

        γφ(s/γ) falls from φ'(0)·s, which is convex, to φ(s) as γ falls from ∞ to 1.
        """
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            return np.minimum(self.slope(self.height(z, y) / gradual), _STEEPEST)

    @property
    def first_weight(self) -> float:
        """φ'(0): what every sample weighs as long as none is known to be an outlier."""
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
        """φ'(s)·∂²base/∂z², the curvature of the tangent: never less than that of the loss."""
        return self.weights(z, y) * self.base.curvature(z, y)

    def conjugate(self, u: Array, y: Array) -> Array:
        """−inf ℓ at u = 0, infinite elsewhere: no line but a flat one lies below such a loss."""
        return np.where(u == 0, -self.infimum(y), np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """0."""
        return np.zeros_like(u)

    def infimum(self, y: Array) -> Array:
        """φ(0) = 0."""
        return np.zeros(np.shape(y))

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Not known: the minimiser need not be unique."""
        raise NotImplementedError(f"the prox of {self!r} is not known, as it is not convex")

    def attained(self, y: Array) -> bool:
        """Whether the base loss attains its infimum."""
        return self.base.attained(y)

    @property
    def convex(self) -> bool:
        """It is not."""
        return False

    @property
    def composed(self) -> RobustLoss:
        """Itself."""
        return self

    @property
    def smooth(self) -> bool:
        """Whether the base loss is, and φ has no corner."""
        return self.base.smooth

    def check_parameters(self) -> None:
        """Refuse, in words, a φ that is not concave and non-decreasing from 0 on."""
        if not self.proved:
            _check_concave(self)


def _check_concave(loss: RobustLoss) -> None:
    """Test φ(0) = 0, φ' ≥ 0 and φ(b) ≤ φ(a) + φ'(a)(b − a) on all pairs of a grid."""
    if not loss.base.convex:
        raise ValueError(f"base of {loss!r} must be a convex loss, not {loss.base!r}.")
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


def _check_positive(name: str, value: Any) -> None:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, not {value!r}.")


class GemanMcClure(RobustLoss):
    r"""r²/(σ² + r²): at most 1, so that a sample far away says nothing at all.

    .. math:: \ell = \frac{r^2}{\sigma^2 + r^2}, \qquad \text{weights }
              \frac{2\sigma^2}{(\sigma^2 + r^2)^2}\text{ on }\tfrac12 r^2

    Parameters
    ----------
    sigma : float, default=1.0
        The residual that costs one half, in units of y: about twice the noise is a good choice.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.GemanMcClure().value(np.array([0.0, 1.0, 1e9]), np.zeros(3))
    array([0. , 0.5, 1. ])
    """

    proved = True

    def __init__(self, sigma: float = 1.0) -> None:
        self.sigma = sigma

    def check_parameters(self) -> None:
        """sigma must be a positive number."""
        _check_positive("sigma of GemanMcClure", self.sigma)

    def curve(self, s: Array) -> Array:
        """q/(1 + q), q = r²/σ²; from q = 1 on 1/(1 + 1/q), as q may overflow."""
        q = 2.0 * s / self.sigma**2
        return np.where(q > 1, 1.0 / (1.0 + 1.0 / np.maximum(q, 1.0)), q / (1.0 + np.minimum(q, 1)))

    def slope(self, s: Array) -> Array:
        """(2/σ²)/(1 + q)²."""
        return 2.0 / self.sigma**2 / (1.0 + 2.0 * s / self.sigma**2) ** 2


class TruncatedSquared(RobustLoss):
    r"""min(c², r²): squares of the inliers, a constant for every outlier.

    .. math:: \ell = \min(c^2, r^2)

    The best model fits the largest set of samples best: least squares on the samples that it
    finds within c. Which these are is a search among subsets; the solver reaches a local minimum.

    Parameters
    ----------
    c : float, default=1.0
        The residual from which on a sample is an outlier, in units of y: about three times the
        noise is a good choice.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.TruncatedSquared(2.0).value(np.array([1.0, 3.0]), np.zeros(2))
    array([1., 4.])
    """

    proved = True

    def __init__(self, c: float = 1.0) -> None:
        self.c = c

    def check_parameters(self) -> None:
        """c must be a positive number."""
        _check_positive("c of TruncatedSquared", self.c)

    def curve(self, s: Array) -> Array:
        """min(c², r²)."""
        return np.minimum(self.c**2, 2.0 * s)

    def slope(self, s: Array) -> Array:
        """2 for inliers, 0 for outliers; on the edge itself any slope between is a tangent's."""
        return np.where(2.0 * s <= self.c**2, 2.0, 0.0)

    @property
    def smooth(self) -> bool:
        """No: the slope falls from 2c to 0 at r = c."""
        return False


class _SteepLogistic(Margin):
    """log(1 + e^−2m), the logistic loss of 2m."""

    smoothness = 1.0
    facts = WITHOUT_MINIMUM
    _plain: ClassVar[Logistic] = Logistic()

    def psi(self, t: Array) -> Array:
        """L(2m)."""
        return self._plain.psi(2.0 * t)

    def dpsi(self, t: Array) -> Array:
        """2L'(2m)."""
        return 2.0 * self._plain.dpsi(2.0 * t)

    def ddpsi(self, t: Array) -> Array:
        """4L''(2m)."""
        return 4.0 * self._plain.ddpsi(2.0 * t)

    def dual(self, v: Array) -> Array:
        """L*(v/2)."""
        return self._plain.dual(0.5 * v)

    def young(self, t: Array, v: Array) -> Array:
        """The Fenchel-Young term of L at 2m and v/2."""
        return self._plain.young(2.0 * t, 0.5 * v)

    def into_domain(self, u: Array, y: Array) -> Array:
        """−y·u in [0, 2]."""
        return 2.0 * self._plain.into_domain(0.5 * u, y)

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))


class TanhMargin(RobustLoss):
    r"""1 − tanh m: a smooth zero-one loss, at most 2 for a sample on the wrong side.

    .. math:: \ell = 1 - \tanh m = 2\,(1 - e^{-s}), \qquad s = \log(1 + e^{-2m})

    A concave function of the logistic loss of 2m, so that its tangents are logistic regressions
    with the sample weights 2σ(2m): a sample far on the wrong side is left out.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.TanhMargin().value(np.array([0.0, 50.0, -50.0]), np.ones(3)).round(3)
    array([1., 0., 2.])
    """

    base = _SteepLogistic()
    proved = True

    def curve(self, s: Array) -> Array:
        """2(1 − e^−s)."""
        return -2.0 * np.expm1(-s)

    def slope(self, s: Array) -> Array:
        """2e^−s."""
        return 2.0 * np.exp(-s)


class RootOfAbsolute(RobustLoss):
    """|r|^p with 0 < p < 1 as a concave function of |r|: what makes `Lp` fit.

    The slope at r = 0 is infinite: a tangent there holds the sample for ever. A weight that is
    only huge holds it as well, and its tangent lies below the true one, so that the gap it proves
    is never too small. Residuals below the rounding of a score count as 0.
    """

    base = Absolute()
    proved = True

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def curve(self, s: Array) -> Array:
        """s^p."""
        return s**self.p

    def slope(self, s: Array) -> Array:
        """p·s^(p−1), infinite at 0."""
        with np.errstate(divide="ignore"):
            return self.p * s ** (self.p - 1.0)

    def weights(self, z: Array, y: Array, gradual: float = 1.0) -> Array:
        """φ'(s), or φ' further out: there all samples weigh about the same."""
        s = self.height(z, y)
        unit = float(np.median(s)) or float(s.mean()) or 1.0
        least = np.maximum(_ROUNDING * (np.abs(z) + np.abs(y)), 1e-300)
        return self.slope(np.maximum(s, least) + unit * (gradual - 1.0))

    @property
    def first_weight(self) -> float:
        """φ'(1)."""
        return self.p
