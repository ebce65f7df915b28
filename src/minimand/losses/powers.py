"""Powers of the residual, |r|^p."""

from __future__ import annotations

import numpy as np

from .._base.parameters import check_number
from .._base.typing import Array
from .base import Loss
from .concave import RobustLoss
from .pieces import Pieces
from .robust import RootOfAbsolute
from .unary import Distance

_NEAREST = 1e-12  # share of the mean |r|: least |r| in the curvature, infinite at 0; safeguard
_LEAST = 1e-200  # the same if all of them are smaller; safeguard against overflow
_FAR = 1e300  # largest value of ψ*; safeguard against overflow
_ABSOLUTE = Pieces([0.0], [-1.0, 1.0])
_SQUARED = Pieces([0.0], [0.0, 0.0], [2.0, 2.0])
_TERMS = 34  # terms of a series in numbers below ½; safeguard


class Lp(Distance):
    """|r|^p: least squares for p = 2, least absolute deviations for p = 1.

    For p > 1 the loss is differentiable and strictly convex, and the larger p is, the more the
    largest residuals count; 1 < p < 2 lies between the mean and the median. For p < 1 it is not
    convex. |r|^0 counts the residuals that are not 0; it can be evaluated, not minimised.

    Parameters
    ----------
    p : float
        The power, p ≥ 0.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Lp(3).value(np.array([2.0, -1.0, 0.0]), np.zeros(3))
    array([8., 1., 0.])
    >>> mm.Lp(0).value(np.array([2.0, -1.0, 0.0]), np.zeros(3))
    array([1., 1., 0.])
    >>> mm.Lp(1.5).convex, mm.Lp(0.5).convex
    (True, False)
    """

    proved = True

    def __init__(self, p: float) -> None:
        self.p = p

    def check_parameters(self) -> None:
        """p must be a number that is not negative."""
        check_number(self, "p", "a finite number ≥ 0", lambda p: p >= 0)

    def check_target(self, y: Array) -> None:
        """Any finite numbers."""
        Loss.check_target(self, y)

    @property
    def convex(self) -> bool:
        """p ≥ 1."""
        return self.p >= 1

    @property
    def composed(self) -> RobustLoss | None:
        """For 0 < p < 1, as a concave function of |r|."""
        return RootOfAbsolute(self.p) if 0 < self.p < 1 else None

    @property
    def smooth(self) -> bool:
        """p > 1."""
        return self.p > 1

    @property
    def nearly_kinked(self) -> bool:
        """1 < p < 1.25: the slope at |r| = 1e-16, the rounding of a score, is not small."""
        return 1 < self.p < 1.25

    @property
    def refusal(self) -> str:
        """For p = 0, which is constant wherever it is continuous."""
        if self.p == 0:
            return (
                "it counts the residuals that are not 0, so it has no slope to follow; fit with "
                "Lp(1), the convex loss nearest to it, and evaluate with Lp(0)"
            )
        return super().refusal

    @property
    def pieces(self) -> Pieces | None:
        """For p = 1 and p = 2."""
        return {1.0: _ABSOLUTE, 2.0: _SQUARED}.get(self.p)

    def attained(self, y: Array) -> bool:
        """At r = 0."""
        return True

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """2 for p = 2; the curvature of other powers is unbounded, near 0 or far from it."""
        return 2.0 if self.p == 2 else np.inf

    def psi(self, t: Array) -> Array:
        """|r|^p."""
        with np.errstate(over="ignore"):
            return np.abs(t) ** self.p if self.p > 0 else (np.asarray(t) != 0).astype(float)

    def dpsi(self, t: Array) -> Array:
        """p·|r|^(p−1)·sign r; 0 at r = 0."""
        if self.p == 0:
            return np.zeros(np.shape(t))
        size = np.abs(t)
        if self.p < 1:
            size = np.where(size > 0, size, 1.0)
        with np.errstate(over="ignore"):
            return self.p * size ** (self.p - 1.0) * np.sign(t)

    def ddpsi(self, t: Array) -> Array:
        """p(p − 1)·|r|^(p−2); a large number replaces its infinite value at r = 0 for p < 2."""
        if self.p in (0, 1):
            return np.zeros(np.shape(t))
        size = np.abs(t) if self.p >= 2 else _away_from_zero(np.abs(t))
        with np.errstate(over="ignore"):
            return self.p * (self.p - 1.0) * size ** (self.p - 2.0)

    def majoriser(self, z: Array, y: Array) -> Array:
        """ψ'(r)/r = p·|r|^(p−2) for p ≤ 2, where |r|^p is concave in r²."""
        if self.p > 2:
            return super().majoriser(z, y)
        return self.p * _away_from_zero(np.abs(z - y)) ** (self.p - 2.0)

    def dual(self, v: Array) -> Array:
        """(p − 1)·(|v|/p)^(p/(p−1)); for p = 1, 0 where |v| ≤ 1; below that, 0 at v = 0 only."""
        if self.p > 1:
            with np.errstate(over="ignore"):
                return (self.p - 1.0) * self._place(v) ** self.p
        return np.where(np.abs(v) <= self._steepest, 0.0, np.inf)

    def young(self, t: Array, v: Array) -> Array:
        """|t|^p − |s|^p − v(t − s) where p·|s|^(p−1)·sign s = v: a Bregman divergence."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.p <= 1:
                return np.where(np.abs(v) <= self._steepest, self.psi(t) - v * t, np.inf)
            s, height = self._place(v), self.psi(t)
            t = t * np.where(v < 0, -1.0, 1.0)
            x = (t - s) / np.where(s > 0, s, 1.0)
            near = (s > 0) & (np.abs(x) * self.p < 0.5)
            close = s**self.p * _power_excess(self.p, np.where(near, x, 0.0))
            far = height + (self.p - 1.0) * s**self.p - np.abs(v) * t
            # inf − inf: t has overflowed, so the term is infinite.
            far = np.where(np.isnan(far), np.inf, np.maximum(far, 0.0))
            return np.where(near, close, far)

    def into_domain(self, u: Array, y: Array) -> Array:
        """|u| ≤ 1 if p = 1, 0 alone if p < 1; for p > 1 where ψ* does not overflow."""
        return np.clip(u, -self._steepest, self._steepest)

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Closed for p = 1, 3/2, 2 and 3; a safeguarded Newton method for other p > 1."""
        if not self.convex:
            raise NotImplementedError(f"the prox of {self!r} is not known: it is not convex.")
        r = z - y
        a = np.abs(r)
        if self.p == 1:
            return y + np.sign(r) * np.maximum(a - step, 0.0)
        if self.p == 2:
            return y + r / (1.0 + 2.0 * step)
        if self.p == 1.5:  # x² + 1.5·step·x = a with x = √|t|, without cancellation
            x = 2.0 * a / (1.5 * step + np.sqrt((1.5 * step) ** 2 + 4.0 * a) + 1e-300)
            return y + np.sign(r) * x * x
        if self.p == 3:  # 3·step·t² + t = a
            return y + 2.0 * r / (1.0 + np.sqrt(1.0 + 12.0 * step * a))
        return super().prox(z, y, step)

    @property
    def _steepest(self) -> float:
        """The largest slope of a line below ψ whose ψ* does not overflow."""
        if self.p <= 1:
            return 1.0 if self.p == 1 else 0.0
        return float(self.p * _FAR ** ((self.p - 1.0) / self.p))

    def _place(self, v: Array) -> Array:
        """|s| with ψ'(|s|) = |v|."""
        with np.errstate(over="ignore"):
            return (np.abs(v) / self.p) ** (1.0 / (self.p - 1.0))


def _away_from_zero(size: Array) -> Array:
    """|r|, where it is not far below the others: in units of r, whatever they are."""
    typical = float(np.mean(size)) if np.size(size) else 1.0
    least = _NEAREST * typical if np.isfinite(typical) else _NEAREST
    return np.maximum(size, max(least, _LEAST))


def _power_excess(p: float, x: Array) -> Array:
    """(1 + x)^p − 1 − p·x for |x| < ½ and |p·x| < ½, as its binomial series: nothing cancels."""
    term = 0.5 * p * (p - 1.0) * x * x
    total = term.copy()
    for k in range(2, _TERMS):
        term = term * x * (p - k) / (k + 1.0)
        total += term
    return np.maximum(total, 0.0)
