"""Labels, one per sample: one class against the rest, or one score per class in a joint loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
    """The classes of y, sorted, coded as the loss takes them: ±1, or 0/1 for y in [0, 1].

    A loss that couples the scores of a row, such as the multinomial one, takes the numbers of
    classes instead, 0, 1, 2, …
    """

    classes: AnyArray
    parts: ClassVar[str] = "classes"

    @classmethod
    def of(cls, y: AnyArray, loss: Loss) -> ClassOutput:
        """The output space of y, in which every sample has positive weight."""
        classes = distinct(y)
        if classes.size < 2:
            raise ValueError(
                f"y holds one class only ({classes.tolist()}, samples of weight 0 left out): "
                "a classifier needs at least 2 classes."
            )
        return cls(loss.of_one_score, classes)

    @property
    def scores(self) -> int:
        """Columns of z: as many as a joint loss has; else one for two classes, or one per class."""
        if self.loss.joint:
            return self.loss.scores_for(int(self.classes.size))
        return 1 if self.classes.size == 2 else int(self.classes.size)

    @property
    def names(self) -> list[str]:
        """The class of every score; that of reference has none, of two classes the first."""
        names = [str(label) for label in self.classes]
        if len(names) > self.scores:
            del names[self.loss.reference if self.loss.joint else 0]  # type: ignore[attr-defined]
        return names

    def encode(self, y: AnyArray) -> Array:
        """For every score, whether the sample is of its class (of two classes, the second)."""
        if self.loss.joint:
            return np.searchsorted(self.classes, y).astype(float)
        low = self.loss.low_code
        if self.classes.size == 2:
            return np.where(y == self.classes[1], 1.0, low)
        return np.where(self.classes[:, None] == y, 1.0, low).T

    def decode(self, z: Array) -> AnyArray:
        """The class of the largest score."""
        if self.loss.joint:
            z = self.loss.class_scores(z)
        if z.ndim == 1:
            return self.classes[(z > 0).astype(int)]
        return self.classes[np.argmax(z, axis=1)]

    def decision(self, z: Array) -> Array:
        """The scores; of two classes one number, above 0 for the second, as scikit-learn has it."""
        if not self.loss.joint:
            return z
        z = self.loss.class_scores(z)
        return z[:, 1] - z[:, 0] if self.classes.size == 2 else z

    def probabilities(self, z: Array) -> Array:
        """One column per class, rows sum to 1; one-versus-rest scores are normalised."""
        p = self.loss.transform(z)
        if self.loss.joint:
            return p
        if z.ndim == 1:
            return np.column_stack([1.0 - p, p])
        total = p.sum(axis=1, keepdims=True)
        even = np.full_like(p, 1.0 / p.shape[1])
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), even)
