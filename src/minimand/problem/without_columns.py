"""Designs without columns, such as kernels: only the products K = XXᵀ of rows are known.

Then w = Xᵀa is given by its coefficients a, one for each row (and score), and the slope Xᵀu of a
dual point by u. The penalty must be a function of ‖w‖, and a certificate needs three numbers only:
‖w‖, and the coordinates of v = −Xᵀu along w and across it. With K a and K u at hand they take no
further product, and no digits cancel, since the part across is measured by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from ..penalties import Plane
from .point import dot


class Represented(NamedTuple):
    """A vector Xᵀa, by its coefficients a and the products K a with all rows."""

    coefficients: Array
    image: Array

    @property
    def norm(self) -> float:
        """√(aᵀK a)."""
        return float(np.sqrt(max(dot(self.coefficients, self.image), 0.0)))

    def plus(self, factor: float, other: Represented) -> Represented:
        """The sum with a multiple of another vector."""
        return Represented(
            self.coefficients + factor * other.coefficients, self.image + factor * other.image
        )


def plane(w: Represented, slope: Represented) -> Plane:
    """‖w‖ and the position of −slope in the plane that it spans with w."""
    norm = w.norm
    if norm == 0:
        return Plane(0.0, 0.0, slope.norm)
    along = -dot(slope.coefficients, w.image) / norm
    return Plane(norm, along, slope.plus(along / norm, w).norm)
