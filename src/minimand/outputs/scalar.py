"""One real number per sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.typing import AnyArray, Array
from .base import Output


@dataclass(frozen=True, eq=False)
class ScalarOutput(Output):
    """y is used as it is, in float64, after the loss has checked its domain."""

    @property
    def scores(self) -> int:
        """One, unless the loss has several for one y."""
        return self.loss.scores_for(1) if self.loss.joint else 1

    def encode(self, y: AnyArray) -> Array:
        """The target as a contiguous float64 vector."""
        encoded = np.ascontiguousarray(y, dtype=np.float64)
        self.loss.check_target(encoded)
        return encoded

    def decode(self, z: Array) -> Array:
        """The score on the scale of y."""
        return self.loss.transform(z)
