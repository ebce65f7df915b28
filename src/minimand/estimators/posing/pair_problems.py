"""The problems of all pairs of classes, made when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, overload

import numpy as np

from ..._base.typing import Array
from ...outputs import PairsOutput
from ...penalties import Penalty
from ...problem.objective import Objective
from ...problem.slot import Slot

_KEPT = 4  # problems; safeguard: two threads work on one each, and each may look at another


@dataclass(frozen=True, eq=False)
class PairProblems(Sequence[Objective]):
    """One problem per pair of classes, on the rows of its two classes.

    All pairs together have k − 1 copies of every row. So only the last few problems are kept, and
    one that is asked for later is made anew.
    """

    whole: Objective  # all samples of positive weight; its y holds the numbers of the classes
    output: PairsOutput
    penalty: Penalty
    alpha: float
    offsets: Array | None = None  # (n, n_pairs), unless the offset is the same for all pairs
    _made: dict[int, Objective] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def __len__(self) -> int:
        return self.output.scores

    @overload
    def __getitem__(self, index: int) -> Objective: ...

    @overload
    def __getitem__(self, index: slice) -> list[Objective]: ...

    def __getitem__(self, index: int | slice) -> Objective | list[Objective]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} pairs, none has the number {index}.")
        index %= len(self)
        with self._lock:
            if index not in self._made:
                while len(self._made) >= _KEPT:
                    del self._made[next(iter(self._made))]  # the oldest
                self._made[index] = self._problem(index)
            return self._made[index]

    def _problem(self, index: int) -> Objective:
        """Σ over the samples of two classes, divided by the weight of all samples.

        The masses of a problem add up to 1, so that the problem counts by the share of its samples.
        """
        rows, target, columns = self.output.pair(self.whole.y, index)
        part = self.whole.on_rows(rows)
        width = int(self.output.classes.size) - 1
        slot = Slot(rows, columns, (self.whole.n_samples, width), self.whole.design)
        share = float(self.whole.mass[rows].sum())
        found = replace(part, y=target, share=share, slot=slot)
        if self.offsets is not None:
            found = replace(found, offset=np.ascontiguousarray(self.offsets[rows, index]))
        return replace(found, penalty=found.bound(self.penalty, self.alpha))
