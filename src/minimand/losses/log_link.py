"""Losses of a mean e^z of y."""

from __future__ import annotations

import math

import numpy as np

from .. import _core
from .._base.row_blocks import in_parts
from .._base.typing import Array
from .base import Loss
from .pieces import Exponentials, Rowwise

_SMALL, _LARGE = 1e-250, 1e250  # sums of exponentials; safeguard: beyond, terms may underflow


class LogLink(Loss):
    """A half deviance with the log link: zero where e^z = y, which for y = 0 is nowhere."""

    proved = True

    @property
    def _a(self) -> float:
        """The power of the deviance minus 1."""
        raise NotImplementedError

    def best_shift(self, z: Array, y: Array, mass: Array) -> float | None:
        """ln Σ mass·y·e^{−az} − ln Σ mass·e^{(1−a)z}, where ℓ' = e^{(1−a)z} − y·e^{−az}."""
        a, high, low = self._a, 0.0, 0.0
        with np.errstate(over="ignore"):
            for scores, target, weight in in_parts(z, y, mass):
                high += _core.dot(weight, target * exp(-a * scores) if a else target)
                low += _core.dot(weight, exp((1.0 - a) * scores))
        if not (_SMALL < high < _LARGE and _SMALL < low < _LARGE):
            return None
        return math.log(high) - math.log(low)

    def rowwise(self, y: Array) -> Rowwise:
        """y^b·φ(z − ln y), b = 1 − a; e^{bz}/b for y = 0."""
        positive = y > 0
        known = np.where(positive, y, 1.0)
        size = known if self._a == 0.0 else known ** (1.0 - self._a)
        psi = Exponentials(self._a, size, np.where(positive, 0.0, 1.0))
        return Rowwise(psi, np.ones_like(known), np.log(known))

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


def exp(z: Array) -> Array:
    """e^z; compiled for a vector in double precision."""
    if isinstance(z, np.ndarray) and z.dtype == np.float64 and z.flags.c_contiguous and z.ndim == 1:
        return _core.exp(z)
    return np.asarray(np.exp(z))
