"""Losses of the residual r = z − y."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from .._base.parameters import check_number
from .._base.typing import Array
from .analysis.probe import CONVEX_AND_SMOOTH
from .base import Terms
from .pieces import Pieces
from .unary import Distance


class Squared(Distance):
    """½r², least squares.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Squared().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    proved = True

    smoothness = 1.0
    quadratic = True
    facts = CONVEX_AND_SMOOTH
    pieces = Pieces([0.0], [0.0, 0.0], [1.0, 1.0])

    def psi(self, t: Array) -> Array:
        """½r²."""
        return 0.5 * t * t

    def dpsi(self, t: Array) -> Array:
        """r."""
        return t

    def ddpsi(self, t: Array) -> Array:
        """1."""
        return np.ones_like(t)

    def terms(self, z: Array, y: Array) -> Terms:
        """All three from the residual, which is the gradient."""
        r = z - y
        return Terms(0.5 * r * r, r, np.ones_like(r))

    def dual(self, v: Array) -> Array:
        """½v²."""
        return 0.5 * v * v

    def young(self, t: Array, v: Array) -> Array:
        """½(r − v)²."""
        off = t - v
        off *= off
        off *= 0.5
        return off

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """(z + step·y)/(1 + step)."""
        return (z + step * y) / (1.0 + step)


class Huber(Distance):
    """½r² for |r| ≤ δ, then δ|r| − ½δ²: quadratic near zero, linear beyond.

    Parameters
    ----------
    delta : float or "auto", default=1.0
        Where the loss becomes linear, in units of y. "auto" is 1.345 times the noise, which makes
        it 95 % as efficient as squares for normal noise; the noise is found as for `GemanMcClure`.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Huber(delta=1.0).value(np.array([0.5, 3.0]), np.zeros(2))
    array([0.125, 2.5  ])
    """

    proved = True

    smoothness = 1.0
    facts = CONVEX_AND_SMOOTH

    auto: ClassVar[Mapping[str, float]] = {"delta": 1.345}

    def __init__(self, delta: float | Literal["auto"] = 1.0) -> None:
        self.delta: Any = delta

    def check_parameters(self) -> None:
        """delta must be a positive number or "auto"."""
        check_number(self, "delta", "a positive number", lambda delta: delta > 0, auto=True)

    @property
    def pieces(self) -> Pieces:
        """Linear, quadratic, linear."""
        return _huber(float(self.delta))

    def psi(self, t: Array) -> Array:
        """c·r − ½c², c = clip(r, −δ, δ): both cases in one formula."""
        c = self.dpsi(t)
        return c * (t - 0.5 * c)

    def dpsi(self, t: Array) -> Array:
        """clip(r, −δ, δ)."""
        return np.clip(t, -self.delta, self.delta)

    def ddpsi(self, t: Array) -> Array:
        """1 inside, 0 outside."""
        return (np.abs(t) <= self.delta).astype(float)

    def dual(self, v: Array) -> Array:
        """½v² for |v| ≤ δ."""
        return np.where(np.abs(v) <= self.delta, 0.5 * v * v, np.inf)

    def young(self, t: Array, v: Array) -> Array:
        """(c − v)(r − ½(c + v)), c = clip(r, −δ, δ)."""
        c = self.dpsi(t)
        term = np.maximum((c - v) * (t - 0.5 * (c + v)), 0.0)
        return np.where(np.abs(v) <= self.delta, term, np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """|u| ≤ δ."""
        return np.clip(u, -self.delta, self.delta)

    def majoriser(self, z: Array, y: Array) -> Array:
        """ψ'(r)/r = min(1, δ/|r|), smaller for larger residuals."""
        return self.delta / np.maximum(np.abs(z - y), self.delta)

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Shrink r by 1/(1 + step) inside, by step·δ outside."""
        r = z - y
        inside = np.abs(r) <= self.delta * (1.0 + step)
        return y + np.where(inside, r / (1.0 + step), r - step * self.delta * np.sign(r))


@lru_cache
def _huber(delta: float) -> Pieces:
    return Pieces([-delta, delta], [-delta, -delta, delta], [0.0, 1.0, 0.0], 0.5 * delta**2)
