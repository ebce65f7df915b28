"""The zero-one loss and its surrogates, functions of the margin m = y·z."""

from __future__ import annotations

import numpy as np

from .._base.typing import Array
from .analysis.probe import CONVEX_AND_SMOOTH, WITHOUT_MINIMUM
from .deviance_dual import excess
from .pieces import Exponentials, Pieces, Rowwise
from .unary import Margin


class Exponential(Margin):
    """e^−m, the loss of AdaBoost: convex and calibrated, but one bad sample outweighs all others.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Exponential().value(np.array([0.0]), np.array([1.0]))
    array([1.])
    >>> float(mm.Exponential().conjugate(np.array([-1.0]), np.array([1.0]))[0])
    -1.0
    """

    proved = True

    facts = WITHOUT_MINIMUM

    def psi(self, t: Array) -> Array:
        """e^−m."""
        with np.errstate(over="ignore"):
            return np.exp(-np.asarray(t, float))

    def dpsi(self, t: Array) -> Array:
        """−e^−m."""
        return -self.psi(t)

    def ddpsi(self, t: Array) -> Array:
        """e^−m."""
        return self.psi(t)

    def dual(self, v: Array) -> Array:
        """q·ln q − q for q = −v ≥ 0."""
        from scipy.special import xlogy

        q = np.maximum(-v, 0.0)
        return np.where(v <= 0, xlogy(q, q) - q, np.inf)

    def young(self, t: Array, v: Array) -> Array:
        """e^−m·E(x) with e^x·e^−m = −v reversed: q·ln(q/μ) − q + μ for q = −v, μ = e^−m."""
        q = np.maximum(-v, 0.0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            delta = -t - np.log(q)  # μ = q·e^δ
            near = q * excess(np.where(np.abs(delta) < 1.0, delta, 0.0))
            far = np.maximum(self.psi(t) - q * (1.0 + delta), 0.0)
            term = np.where(np.abs(delta) < 1.0, near, far)
        return np.where(v <= 0, np.where(q > 0, term, self.psi(t)), np.inf)

    def rowwise(self, y: Array) -> Rowwise:
        """e^t, t = −m."""
        ones = np.ones(y.shape)
        return Rowwise(Exponentials(0.0, ones, ones), -y, np.zeros(y.shape))

    def into_domain(self, u: Array, y: Array) -> Array:
        """y·u ≤ 0."""
        return y * np.minimum(y * u, 0.0)

    def infimum(self, y: Array) -> Array:
        """0, which is never reached."""
        return np.zeros(np.shape(y))


class SquaredMargin(Margin):
    """(m − 1)², least squares on the labels ±1.

    Unlike `SquaredHinge`, it also penalises m > 1: samples that are on the correct side by more
    than the margin.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.SquaredMargin().value(np.array([-1.0, 1.0, 3.0]), np.ones(3))
    array([4., 0., 4.])
    """

    proved = True

    smoothness = 2.0
    facts = CONVEX_AND_SMOOTH
    pieces = Pieces([1.0], [0.0, 0.0], [2.0, 2.0])

    def psi(self, t: Array) -> Array:
        """(m − 1)²."""
        return (t - 1.0) ** 2

    def dpsi(self, t: Array) -> Array:
        """2(m − 1)."""
        return 2.0 * (t - 1.0)

    def ddpsi(self, t: Array) -> Array:
        """2."""
        return np.full(np.shape(t), 2.0)

    def dual(self, v: Array) -> Array:
        """v + ¼v²."""
        return v + 0.25 * v * v

    def young(self, t: Array, v: Array) -> Array:
        """(m − 1 − ½v)²."""
        return (t - 1.0 - 0.5 * v) ** 2

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """(z + 2·step·y)/(1 + 2·step)."""
        return (z + 2.0 * step * y) / (1.0 + 2.0 * step)


class ZeroOne(Margin):
    """1 for a mistake (m ≤ 0), else 0: to evaluate with. No fit can minimise it in good time.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.ZeroOne().value(np.array([-2.0, 0.0, 3.0]), np.ones(3))
    array([1., 1., 0.])
    """

    proved = True

    @property
    def convex(self) -> bool:
        """No."""
        return False

    @property
    def smooth(self) -> bool:
        """No."""
        return False

    @property
    def refusal(self) -> str:
        """Why no model can be fitted with it."""
        return (
            "counting mistakes leaves no slope to follow, and finding the fewest is intractable; "
            "fit with a convex surrogate, Logistic(), Hinge(), SquaredHinge() or Exponential(), "
            "and evaluate with ZeroOne()"
        )

    def check_parameters(self) -> None:
        """There are none."""

    def attained(self, y: Array) -> bool:
        """For every m > 0."""
        return True

    def psi(self, t: Array) -> Array:
        """1 where m ≤ 0."""
        return (np.asarray(t) <= 0).astype(float)

    def dpsi(self, t: Array) -> Array:
        """0."""
        return np.zeros(np.shape(t))

    def ddpsi(self, t: Array) -> Array:
        """0."""
        return np.zeros(np.shape(t))

    def young(self, t: Array, v: Array) -> Array:
        """ψ(t) for v = 0, the only slope of a line below ψ; else inf."""
        return np.where(v == 0, self.psi(t), np.inf)

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))
