"""Where the rows of a problem are, if it is one of several that share out the samples of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._base.typing import Array, IntArray
from ..design import Design


@dataclass(frozen=True, eq=False)
class Slot:
    """The places of a problem's rows in a table of numbers of all samples, (n_samples, width).

    A sample of one of k classes is in k − 1 pairs of classes, so that the numbers of all pairs fit
    into k − 1 columns.
    """

    rows: IntArray  # among the samples of positive weight
    columns: IntArray  # of every row
    shape: tuple[int, int]  # of the table
    design: Design  # of all samples of positive weight

    def cut(self, table: Array) -> Array:
        """The numbers of this problem."""
        return np.ascontiguousarray(table[self.rows, self.columns])


def as_table(slots: Sequence[Slot | None], parts: Sequence[Array]) -> Array:
    """The numbers of all problems: one column per problem, unless they have slots."""
    first = slots[0]
    if first is None:
        return np.stack(parts, axis=1)
    table = np.zeros(first.shape)
    for slot, part in zip(slots, parts):
        assert slot is not None
        table[slot.rows, slot.columns] = part
    return table


def sum_over_problems(slots: Sequence[Slot | None], parts: Sequence[Array]) -> Array:
    """One number per sample: the sum of its numbers in all problems; of one problem its own."""
    first = slots[0]
    if first is None or len(parts) == 1:
        return np.asarray(np.sum(parts, axis=0))
    total = np.zeros(first.shape[0])
    for slot, part in zip(slots, parts):
        assert slot is not None
        total[slot.rows] += part  # a sample is once in a problem
    return total
