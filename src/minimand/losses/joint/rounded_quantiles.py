"""Quantiles that may cross, with their kinks rounded off by parabolas: see `rounded_support`."""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array
from ..curvature import Diagonal
from .rounded_support import RoundedSupport


class RoundedQuantiles(RoundedSupport):
    """Σ_c min over s of ρ_c(s − y) + (z_c − s)²/(2·width), ρ_c the loss of one quantile."""

    def reached(self, z: Array, y: Array) -> Array:
        """Z − y."""
        return np.asarray(z - y[:, None])

    def bend(self, u: Array, y: Array) -> Diagonal:
        """1/width where the slope is between its ends."""
        low = -self.loss.levels
        return Diagonal(np.where((u > low) & (u < 1.0 + low), 1.0 / self.width, 0.0))
