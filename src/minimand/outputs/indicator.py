"""Several labels per sample: a column of zeros and ones for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._base.typing import AnyArray, Array
from ..losses import Loss
from .base import Output


@dataclass(frozen=True, eq=False)
class IndicatorOutput(Output):
    """Every column of Y is a problem of two classes, of which 1 means that the label applies."""

    classes: AnyArray  # the numbers of the labels
    parts: ClassVar[str] = "labels"

    @classmethod
    def of(cls, y: AnyArray, loss: Loss) -> IndicatorOutput:
        """The output space of y, in which every sample has positive weight."""
        constant = np.flatnonzero(y.min(axis=0) == y.max(axis=0))
        if constant.size:
            raise ValueError(
                f"column {constant[0]} of y holds one value only (samples of weight 0 left out): a "
                "label that all samples have, or none, cannot be learnt; leave the column out."
            )
        return cls(loss.of_one_score, np.arange(y.shape[1]))

    @property
    def scores(self) -> int:
        """One per label."""
        return int(self.classes.size)

    def encode(self, y: AnyArray) -> Array:
        """+1 where the label applies; else −1, or 0 for losses of y in [0, 1]."""
        return np.where(np.asarray(y) == 1, 1.0, self.loss.low_code)

    def decode(self, z: Array) -> AnyArray:
        """1 where the score is positive, else 0."""
        return (z > 0).astype(int)

    def probabilities(self, z: Array) -> Array:
        """The probability of every label by itself; rows do not sum to 1."""
        return self.loss.transform(z)
