"""Labels, one per sample: one class against one other, for every pair of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._base.typing import AnyArray, Array, IntArray
from ..losses.joint.one_vs_one import pairs_of_classes
from .classes import ClassOutput


class PairOfClasses(NamedTuple):
    """The samples of two classes, as one problem takes them."""

    rows: IntArray  # increasing
    target: Array  # +1 for the higher class; else −1, or 0 for losses of y in [0, 1]
    columns: IntArray  # for every row the place of the other class among the k − 1 others


@dataclass(frozen=True, eq=False)
class PairsOutput(ClassOutput):
    """Three classes or more, with a score z_ab for every pair a < b, positive for class b.

    Scores are in the order (0, 1), (0, 2), …, (1, 2), …. The class of most votes wins, and the sum
    of its scores breaks ties.
    """

    parts: ClassVar[str] = "pairs of classes"

    @property
    def scores(self) -> int:
        """One per pair."""
        k = int(self.classes.size)
        return k * (k - 1) // 2

    @property
    def names(self) -> list[str]:
        """``a or b`` for every pair."""
        low, high = pairs_of_classes(self.classes.size)
        return [f"{self.classes[a]} or {self.classes[b]}" for a, b in zip(low, high)]

    def encode(self, y: AnyArray) -> Array:
        """The numbers of the classes; `pair` codes them for one pair."""
        return np.searchsorted(self.classes, y).astype(float)

    def pair(self, numbers: Array, index: int) -> PairOfClasses:
        """One of the problems, from the numbers of the classes of all samples."""
        low, high = (int(ends[index]) for ends in pairs_of_classes(self.classes.size))
        rows = np.flatnonzero((numbers == low) | (numbers == high))
        second = numbers[rows] == high
        target = np.where(second, 1.0, self.loss.low_code)
        return PairOfClasses(rows, target, np.where(second, low, high - 1))

    def decode(self, z: Array) -> AnyArray:
        """The class with most votes."""
        return self.classes[np.argmax(self.decision(z), axis=1)]

    def decision(self, z: Array) -> Array:
        """A column per class: its votes, plus less than ½ that grows with the sum of its scores.

        With the sum s the second term is s/(3(|s| + 1)), as in scikit-learn.
        """
        votes = np.zeros((z.shape[0], self.classes.size))
        total = np.zeros_like(votes)
        for scores, low, high in zip(z.T, *pairs_of_classes(self.classes.size)):
            votes[:, low] += scores <= 0
            votes[:, high] += scores > 0
            total[:, low] -= scores
            total[:, high] += scores
        return votes + total / (3.0 * (np.abs(total) + 1.0))
