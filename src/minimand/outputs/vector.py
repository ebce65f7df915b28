"""Several real numbers per sample, each with a score of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.typing import AnyArray, Array
from .base import Output


@dataclass(frozen=True, eq=False)
class VectorOutput(Output):
    """The columns of Y are used as they are, in float64."""

    n_outputs: int

    @property
    def scores(self) -> int:
        """One per column."""
        return self.n_outputs

    def encode(self, y: AnyArray) -> Array:
        """Y as a contiguous float64 array, a row per sample."""
        encoded = np.ascontiguousarray(y, dtype=np.float64)
        self.loss.check_target(encoded)
        return encoded

    def decode(self, z: Array) -> Array:
        """The scores on the scale of y, in the shape of y."""
        return self.loss.transform(z)
