"""Real numbers: one per sample, or several with a score each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.typing import AnyArray, Array
from .base import Output


class Numbers(Output):
    """y is used as it is, in float64, after the loss has checked its domain."""

    def encode(self, y: AnyArray) -> Array:
        """The target as a contiguous float64 array."""
        encoded = np.ascontiguousarray(y, dtype=np.float64)
        self.loss.check_target(encoded)
        return encoded

    def decode(self, z: Array) -> Array:
        """The scores on the scale of y, in the shape of y."""
        return self.loss.transform(z)


@dataclass(frozen=True, eq=False)
class ScalarOutput(Numbers):
    """One number per sample."""

    @property
    def scores(self) -> int:
        """One, unless the loss has several for one y."""
        return self.loss.scores_for(1) if self.loss.joint else 1


@dataclass(frozen=True, eq=False)
class VectorOutput(Numbers):
    """One number per sample and column of Y."""

    n_outputs: int

    @property
    def scores(self) -> int:
        """One per column."""
        return self.n_outputs
