"""Robust losses: Geman-McClure, truncated squares, 1 − tanh, powers below one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from .._base.parameters import check_number
from .._base.typing import Array
from .analysis.probe import WITHOUT_MINIMUM
from .concave import RobustLoss
from .margin import Logistic
from .piecewise import Absolute
from .unary import Margin

_ROUNDING = 8 * float(np.finfo(float).eps)  # share of |z| + |y|; safeguard: rounding of a score


class GemanMcClure(RobustLoss):
    r"""r²/(σ² + r²): at most 1, so that a sample far away says nothing at all.

    .. math:: \ell = \frac{r^2}{\sigma^2 + r^2}, \qquad \text{weights }
              \frac{2\sigma^2}{(\sigma^2 + r^2)^2}\text{ on }\tfrac12 r^2

    Parameters
    ----------
    sigma : float or "auto", default=1.0
        The residual that costs one half, in units of y. "auto" is twice the noise. The noise is
        1.4826 times the median |residual| of a fit with the absolute loss, without samples that the
        fit passes through. The number is in ``loss_`` of the fitted estimator.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.GemanMcClure().value(np.array([0.0, 1.0, 1e9]), np.zeros(3))
    array([0. , 0.5, 1. ])
    >>> X, y = np.arange(9.0)[:, None], np.array([0.1, 0.9, 2.1, 2.9, 4.1, 4.9, 6.1, 50.0, 8.0])
    >>> model = mm.Regressor(mm.GemanMcClure("auto"), alpha=1e-3).fit(X, y)
    >>> model.sample_weights_.round(1)                   # of sample 7 nothing is heard
    array([1. , 0.9, 1. , 0.9, 1. , 0.9, 1. , 0. , 1. ])
    """

    proved = True

    auto: ClassVar[Mapping[str, float]] = {"sigma": 2.0}

    def __init__(self, sigma: float | Literal["auto"] = 1.0) -> None:
        self.sigma: Any = sigma

    def check_parameters(self) -> None:
        """sigma must be a positive number or "auto"."""
        check_number(self, "sigma", "a positive number", lambda sigma: sigma > 0, auto=True)

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

    A minimiser is the least-squares fit of its inliers, the samples with |r| ≤ c. Finding the best
    set of inliers is a search among subsets; the solver finds a local minimum.

    Parameters
    ----------
    c : float or "auto", default=1.0
        The residual from which on a sample is an outlier, in units of y. "auto" is three times the
        noise, found as for `GemanMcClure`.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.TruncatedSquared(2.0).value(np.array([1.0, 3.0]), np.zeros(2))
    array([1., 4.])
    """

    proved = True

    auto: ClassVar[Mapping[str, float]] = {"c": 3.0}

    def __init__(self, c: float | Literal["auto"] = 1.0) -> None:
        self.c: Any = c

    def check_parameters(self) -> None:
        """c must be a positive number or "auto"."""
        check_number(self, "c", "a positive number", lambda c: c > 0, auto=True)

    def curve(self, s: Array) -> Array:
        """min(c², r²)."""
        return np.minimum(self.c**2, 2.0 * s)

    def slope(self, s: Array) -> Array:
        """2 for inliers, 0 for outliers; at r = c any slope between them is that of a tangent."""
        return np.where(2.0 * s <= self.c**2, 2.0, 0.0)

    @property
    def smooth(self) -> bool:
        """No: the slope falls from 2c to 0 at r = c."""
        return False


class _SteepLogistic(Margin):
    """log(1 + e^−2m), the logistic loss of 2m."""

    proved = True

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
    """|r|^p with 0 < p < 1 as a concave function of |r|, for fits with `Lp`.

    The slope at r = 0 is infinite, so a tangent there fixes the residual at 0. A huge finite weight
    has the same effect, and its tangent lies below the true one, so the gap is never too small.
    Residuals below the rounding of a score count as 0.
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
        """φ'(s), or for ``gradual`` > 1 φ' farther out, where all weights are about equal."""
        s = self.height(z, y)
        unit = float(np.median(s)) or float(s.mean()) or 1.0
        least = np.maximum(_ROUNDING * (np.abs(z) + np.abs(y)), 1e-300)
        return self.slope(np.maximum(s, least) + unit * (gradual - 1.0))

    @property
    def first_weight(self) -> float:
        """φ'(1)."""
        return self.p
