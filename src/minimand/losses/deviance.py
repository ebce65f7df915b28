"""Half the Tweedie deviance with the log link, z = ln mean: Poisson at power 1, Gamma at power 2.

With a = power − 1, b = 2 − power (so a + b = 1) and t = z − ln y,

    ℓ(z, y) = y^b·φ(t),   φ(t) = E(−a·t)/a + E(b·t)/b,   E(x) = eˣ − 1 − x,

two terms that are never negative, so nothing cancels near the minimum. A term whose a or b is 0 is
0, its limit. For y = 0 the loss is e^{bz}/b.
"""

from __future__ import annotations

import numbers

import numpy as np

from .._base.typing import Array, BoolArray
from .base import Target
from .deviance_dual import excess, phi, young
from .log_link import LogLink


class PowerDeviance(LogLink):
    """Half the unit deviance of a power between 1 and 2, which subclasses define."""

    def value(self, z: Array, y: Array) -> Array:
        """y^b·φ(z − ln y); e^{bz}/b for y = 0."""
        b = 1.0 - self._a
        t, size, positive = self._relative(z, y)
        with np.errstate(over="ignore"):
            return np.where(positive, size * phi(self._a, t), np.exp(b * z) / (b or 1.0))

    def gradient(self, z: Array, y: Array) -> Array:
        """y^b·(e^{bt} − e^{−at}); e^{bz} for y = 0."""
        a, b = self._a, 1.0 - self._a
        t, size, positive = self._relative(z, y)
        with np.errstate(over="ignore"):
            slope = size * (np.expm1(b * t) - np.expm1(-a * t))
            return np.where(positive, slope, np.exp(b * z))

    def curvature(self, z: Array, y: Array) -> Array:
        """y^b·(b·e^{bt} + a·e^{−at}); b·e^{bz} for y = 0."""
        a, b = self._a, 1.0 - self._a
        t, size, positive = self._relative(z, y)
        with np.errstate(over="ignore"):
            bend = _times(b, np.exp(b * t)) + _times(a, np.exp(-a * t))
            return np.where(positive, size * bend, _times(b, np.exp(b * z)))

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u, y) = FY(0, u) − ℓ(0, y), from the Fenchel-Young term at z = ln y, where ℓ = 0."""
        positive = y > 0
        centre = np.log(np.where(positive, y, 1.0))
        term = self.fenchel_young(centre, u, y)
        return term + u * centre - np.where(positive, 0.0, self.value(centre, y))

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """y^b·[φ(t) − φ(s) − φ'(s)(t − s)], s the place where the slope y^b·φ'(s) is u."""
        t, size, positive = self._relative(z, y)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            inside = size * young(self._a, t, u / size)
            return np.where(positive, inside, self._young_at_zero(z, u))

    def _young_at_zero(self, z: Array, u: Array) -> Array:
        """Of e^{bz}/b: e^{bz}·[q·ln q − q + 1]/b with q = u·e^{−bz} ≥ 0, for y = 0."""
        b = 1.0 - self._a
        if b == 0.0:
            return np.full(np.broadcast_shapes(np.shape(z), np.shape(u)), np.inf)
        legal = u >= 0
        u = np.where(legal, u, 0.0)
        x = b * z - np.log(np.where(u > 0, u, 1.0))
        # u·E(x) with e^x·u = e^{bz}; for x far from 0 the plain formula does not cancel.
        far = np.exp(b * z) - u * (1.0 + x)
        near = u * excess(np.where(np.abs(x) < 1.0, x, 0.0))
        term = np.where(np.abs(x) < 1.0, near, np.maximum(far, 0.0))
        term = np.where(u > 0, term, np.exp(b * z))
        return np.where(legal, term / b, np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """u ≥ −y at power 1, u ≤ 1 at power 2; in between all u, but u ≥ 0 where y = 0."""
        if self._a == 1.0:
            return np.minimum(u, 1.0)
        if self._a == 0.0:
            return np.maximum(u, -y)
        return np.where(y > 0, u, np.maximum(u, 0.0))

    def _relative(self, z: Array, y: Array) -> tuple[Array, Array, BoolArray]:
        """t = z − ln y, y^b, and where y > 0; zeros of y are replaced by ones."""
        positive = np.asarray(y > 0)
        known = np.where(positive, y, 1.0)
        return z - np.log(known), known ** (1.0 - self._a), positive


class Gamma(PowerDeviance):
    r"""y·e^{−z} + z − ln y − 1 for y > 0: half the Gamma deviance, z = ln mean.

    .. math:: \ell(z, y) = \frac{y}{\mu} - \ln\frac{y}{\mu} - 1,\qquad \mu = e^z

    Errors are relative: a mean that is 10 % too large costs the same for every y.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Gamma().value(np.log([2.0, 4.0]), np.array([2.0, 2.0])).round(4)
    array([0.    , 0.1931])
    """

    target = "positive"

    @property
    def _a(self) -> float:
        return 1.0


class Tweedie(PowerDeviance):
    r"""Half the Tweedie deviance for y ≥ 0, z = ln mean: between Poisson (1) and Gamma (2).

    .. math:: \ell(z, y) = \frac{y\,\mu^{1-p}}{p-1} + \frac{\mu^{2-p}}{2-p}
                           - \frac{y^{2-p}}{(p-1)(2-p)},\qquad \mu = e^z

    Parameters
    ----------
    power : float, default=1.5
        The variance grows like meanᵖ. From 1 (`Poisson`) to 2 (`Gamma`); in between, y may be
        exactly zero or any positive number: insurance claims, rainfall.

    Notes
    -----
    Outside [1, 2] the deviance is not convex in z = ln mean (below 1 its first term, above 2 its
    second bends downwards), so such powers are refused.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> z, y = np.array([0.3]), np.array([2.0])
    >>> bool(np.isclose(mm.Tweedie(1).value(z, y), mm.Poisson().value(z, y))[0])
    True
    """

    def __init__(self, power: float = 1.5) -> None:
        self.power = power

    @property
    def target(self) -> Target:  # type: ignore[override]
        """Positive numbers at power 2, where ln y must exist; else zeros too."""
        return "positive" if self.power == 2 else "count"

    def check_parameters(self) -> None:
        """1 ≤ power ≤ 2."""
        power = self.power
        is_number = isinstance(power, numbers.Real) and not isinstance(power, bool)
        if is_number and 1 <= power <= 2:
            return
        advice = "; for power 0 use Squared()" if is_number and power == 0 else ""
        raise ValueError(
            f"power of Tweedie must be a number from 1 (Poisson) to 2 (Gamma), not {power!r}: "
            f"elsewhere the deviance is not convex in z = ln mean{advice}."
        )

    @property
    def _a(self) -> float:
        return float(self.power) - 1.0


def _times(factor: float, values: Array) -> Array:
    """factor·values with 0·∞ = 0."""
    return factor * values if factor else np.zeros(np.shape(values))
