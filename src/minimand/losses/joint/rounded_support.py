"""Losses of several scores that are the largest of some linear functions, with rounded kinks.

ℓ(z) = max over multipliers u of u·h(z) becomes max of u·h − ½·width·‖u‖², at the multipliers
nearest to h/width: the envelope of ℓ.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._base.typing import Array
from ..base import Loss, Terms
from ..curvature import Curvature


class RoundedSupport(Loss):
    """min over s of ℓ(s, y) + ‖z − s‖²/(2·width); a subclass defines `reached` and `bend`.

    ``loss.into_domain`` must give the nearest multipliers.
    """

    joint: ClassVar[bool] = True
    proved: bool = True

    def __init__(self, loss: Any, width: float) -> None:
        self.loss = loss
        self.width = width

    def reached(self, z: Array, y: Array) -> Array:
        """h(z)."""
        raise NotImplementedError(f"{type(self).__name__} must define reached(z, y)")

    def bend(self, u: Array, y: Array) -> Curvature:
        """The second derivative where the slope is u."""
        raise NotImplementedError(f"{type(self).__name__} must define bend(u, y)")

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """1/width."""
        return 1.0 / self.width

    def terms(self, z: Array, y: Array) -> Terms:
        """All from one projection."""
        h, u = self.reached(z, y), self.gradient(z, y)
        value = np.sum(u * (h - 0.5 * self.width * u), axis=1)
        return Terms(value, u, self.bend(u, y))

    def value(self, z: Array, y: Array) -> Array:
        """u·h − ½·width·‖u‖² at the slope u."""
        return self.terms(z, y).value

    def gradient(self, z: Array, y: Array) -> Array:
        """The multipliers nearest to h/width."""
        return np.asarray(self.loss.into_domain(self.reached(z, y) / self.width, y))

    def curvature(self, z: Array, y: Array) -> Curvature:
        """That of the slope at z."""
        return self.bend(self.gradient(z, y), y)

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u) + ½·width·‖u‖²."""
        return np.asarray(self.loss.conjugate(u, y) + 0.5 * self.width * np.sum(u * u, axis=1))

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """(s − u)·(h − width·s) + ½·width·‖s − u‖² at the slope s: neither term is negative."""
        s = self.gradient(z, y)
        along = np.sum((s - u) * (self.reached(z, y) - self.width * s), axis=1)
        terms = np.maximum(along, 0.0) + 0.5 * self.width * np.sum((s - u) ** 2, axis=1)
        return np.where(np.isfinite(self.loss.conjugate(u, y)), terms, np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """The nearest multipliers."""
        return np.asarray(self.loss.into_domain(u, y))

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(len(y))

    @property
    def robust(self) -> bool:
        """Yes."""
        return True
