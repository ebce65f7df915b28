"""Losses of a mean e^z of y."""

from __future__ import annotations

import numpy as np

from .._base.typing import Array
from .base import Loss


class LogLink(Loss):
    """A half deviance with the log link: zero where e^z = y, which for y = 0 is nowhere."""

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))

    def attained(self, y: Array) -> bool:
        """Not for y = 0."""
        return bool((y > 0).all())

    def transform(self, z: Array) -> Array:
        """The mean e^z."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(z))
