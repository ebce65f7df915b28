"""The convex tangents of a difference of two losses of class margins.

With g the slope of ℓ₂ at some scores, ℓ₂(z) ≥ g·z − ℓ₂*(g), and so

    ℓ₁(z) − ℓ₂(z) ≤ ℓ₁(z) − g·z + ℓ₂*(g),      equal at these scores.

Both conjugates are the costs of the multipliers, −Σ p_c·Δ(y, c), so that ℓ₂*(g) = ℓ₁*(g), and the
bound is the Fenchel-Young term of ℓ₁ at z and g: it is never negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.typing import Array, ArrayLike, IntArray
from ..base import Loss
from .class_margins import ClassMargins


class TiltedMargins(ClassMargins):
    """ℓ(z) + ℓ*(g) − g·z for a convex loss ℓ of class margins.

    y has k + 1 columns: the number of the class of a row, and its slope g.
    """

    def __init__(self, loss: ClassMargins) -> None:
        self.loss = loss

    @property
    def cost(self) -> ArrayLike:
        """The costs of ℓ."""
        return self.loss.cost

    def order_weights(self, n_classes: int) -> Array:
        """The weights of ℓ."""
        return self.loss.order_weights(n_classes)

    def labels(self, y: Array) -> IntArray:
        """The first column."""
        return super().labels(y[:, 0])

    def tilt(self, y: Array) -> Array:
        """The other columns."""
        return y[:, 1:]

    def value(self, z: Array, y: Array) -> Array:
        """The term of ℓ at z and g."""
        return self.loss.fenchel_young(z, self.tilt(y), y[:, 0])

    def gradient(self, z: Array, y: Array) -> Array:
        """The gradient of ℓ, minus g."""
        return self.loss.gradient(z, y[:, 0]) - self.tilt(y)

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u + g) − ℓ*(g)."""
        g, labels = self.tilt(y), y[:, 0]
        return self.loss.conjugate(u + g, labels) - self.loss.conjugate(g, labels)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """The term of ℓ at z and u + g."""
        return self.loss.fenchel_young(z, u + self.tilt(y), y[:, 0])

    def into_domain(self, u: Array, y: Array) -> Array:
        """The nearest multipliers u + g of ℓ, minus g."""
        g = self.tilt(y)
        return self.loss.into_domain(u + g, y[:, 0]) - g

    def room(self, u: Array, y: Array) -> Array:
        """The room of ℓ at u + g."""
        return self.loss.room(u + self.tilt(y), y[:, 0])

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """The prox of ℓ at z + step·g."""
        return self.loss.prox(z + step * self.tilt(y), y[:, 0], step)

    def smoothed(self, width: float) -> Loss | None:
        """None: interior points take its kinks as they are."""
        return None

    def best_shift(self, z: Array, y: Array, mass: Array) -> Array:
        """0: no formula is known, and interior points find the intercepts themselves."""
        return np.zeros(z.shape[1])

    def check_target(self, y: Any) -> None:
        """y was made from a checked one."""
