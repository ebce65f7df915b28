"""Losses of the largest class margin, with their kinks rounded off by parabolas.

ℓ(z) = max over multipliers u of u·h, h = Δ(y, ·) + z, becomes max of u·h − ½·width·‖u‖², at the
multipliers nearest to h/width. Where these are inside a face of their domain, a simplex, they
follow h at the rate 1/width along it: the curvature is that of a softmax with equal probabilities.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..._base.typing import Array
from ..base import Loss, Target, Terms
from ..curvature import Simplex
from .class_margins import ClassMargins, class_numbers

_INSIDE = 1e-14  # share of the weight: multipliers above it are inside; safeguard: rounding


class RoundedMargins(Loss):
    """min over s of ℓ(s, y) + ‖z − s‖²/(2·width), for a loss ℓ of the largest class margin."""

    target: ClassVar[Target] = "class"
    joint: ClassVar[bool] = True
    proved: bool = True

    def __init__(self, loss: ClassMargins, width: float) -> None:
        self.loss = loss
        self.width = width

    @property
    def level_free(self) -> bool:  # type: ignore[override]
        """Scores count by their differences."""
        return True

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """1/width."""
        return 1.0 / self.width

    def terms(self, z: Array, y: Array) -> Terms:
        """All from one projection."""
        h, u = self._reached(z, y), self.gradient(z, y)
        value = np.sum(u * (h - 0.5 * self.width * u), axis=1)
        return Terms(value, u, self._curvature(u, y))

    def value(self, z: Array, y: Array) -> Array:
        """u·h − ½·width·‖u‖² at the slope u."""
        return self.terms(z, y).value

    def gradient(self, z: Array, y: Array) -> Array:
        """The multipliers nearest to h/width."""
        return self.loss.into_domain(self._reached(z, y) / self.width, y)

    def curvature(self, z: Array, y: Array) -> Simplex:
        """(1 − 11ᵀ/count)/width over the classes whose multipliers may move."""
        return self._curvature(self.gradient(z, y), y)

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u) + ½·width·‖u‖²."""
        return self.loss.conjugate(u, y) + 0.5 * self.width * np.sum(u * u, axis=1)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """(s − u)·(h − width·s) + ½·width·‖s − u‖² at the slope s: neither term is negative."""
        s = self.gradient(z, y)
        along = np.sum((s - u) * (self._reached(z, y) - self.width * s), axis=1)
        terms = np.maximum(along, 0.0) + 0.5 * self.width * np.sum((s - u) ** 2, axis=1)
        return np.where(np.isfinite(self.loss.conjugate(u, y)), terms, np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """The nearest multipliers."""
        return self.loss.into_domain(u, y)

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(len(y))

    @property
    def robust(self) -> bool:
        """Yes."""
        return True

    def _reached(self, z: Array, y: Array) -> Array:
        """Δ(y, ·) + z."""
        return self.loss.costs(z.shape[1])[class_numbers(y)] + z

    def _curvature(self, u: Array, y: Array) -> Simplex:
        weight = float(self.loss.order_weights(u.shape[1])[0])
        law = u.copy()
        law[np.arange(len(u)), class_numbers(y)] += weight
        inside = law > _INSIDE * weight
        count = np.maximum(inside.sum(axis=1), 1)
        return Simplex(inside / count[:, None], count / self.width)
