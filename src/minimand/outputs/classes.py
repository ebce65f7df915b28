"""Labels: two classes are one score, more are one-versus-rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.row_blocks import ROWS, in_parts
from .._base.typing import AnyArray, Array
from ..losses import Loss
from .base import Output

_FEW = 1000  # labels; safeguard: beyond, sorting is as fast


def distinct(y: AnyArray) -> AnyArray:
    """The labels that occur, sorted; they are few, so looking them up is faster than a sort.

    >>> distinct(np.array(["b", "a", "b"])).tolist()
    ['a', 'b']
    """
    if y.dtype == bool:
        return np.array([False, True])[[not y.all(), bool(y.any())]]
    found = np.unique(y[:ROWS])
    for (part,) in in_parts(y[ROWS:]):
        known = np.minimum(np.searchsorted(found, part), found.size - 1)
        if found.size > _FEW:
            return np.unique(y)
        if not (found[known] == part).all():
            found = np.union1d(found, part)
    return found


@dataclass(frozen=True, eq=False)
class ClassOutput(Output):
    """The classes of y, sorted, coded as the loss takes them: ±1, or 0/1 for y in [0, 1]."""

    classes: AnyArray

    @classmethod
    def of(cls, y: AnyArray, loss: Loss) -> ClassOutput:
        """The output space of y, in which every sample has positive weight."""
        classes = distinct(y)
        if classes.size < 2:
            raise ValueError(
                f"y holds one class only ({classes.tolist()}, samples of weight 0 left out): "
                "a classifier needs at least 2 classes."
            )
        return cls(loss, classes)

    @property
    def scores(self) -> int:
        """Columns of z: one for two classes, else one per class."""
        return 1 if self.classes.size == 2 else int(self.classes.size)

    def encode(self, y: AnyArray) -> Array:
        """For every score, whether the sample is of its class (of two classes, the second)."""
        low = 0.0 if self.loss.target in ("unit", "count") else -1.0
        if self.classes.size == 2:
            return np.where(y == self.classes[1], 1.0, low)
        return np.where(self.classes[:, None] == y, 1.0, low).T

    def decode(self, z: Array) -> AnyArray:
        """The class of the largest score."""
        if z.ndim == 1:
            return self.classes[(z > 0).astype(int)]
        return self.classes[np.argmax(z, axis=1)]

    def probabilities(self, z: Array) -> Array:
        """One column per class, rows sum to 1; one-versus-rest scores are normalised."""
        p = self.loss.transform(z)
        if z.ndim == 1:
            return np.column_stack([1.0 - p, p])
        total = p.sum(axis=1, keepdims=True)
        even = np.full_like(p, 1.0 / p.shape[1])
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), even)
