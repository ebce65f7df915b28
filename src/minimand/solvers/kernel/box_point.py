"""Coefficients of a box problem with their scores, exact wherever these change the gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ...canonical import Box
from ...design import Design, KernelDesign

_SPARE = 2.0  # factor of the doubt at first, as the levels still move a little; safeguard
_TRIES = 4  # rounds of samples that come into doubt by that; safeguard


class BoxPoint(NamedTuple):
    """Coefficients with their exact scores f = K a, the best level of each group, and the gap.

    Samples whose coefficient and loss are surely zero may have an approximate score, which changes
    neither the objective nor the gap.
    """

    a: Array
    f: Array
    levels: Array
    gap: float

    @classmethod
    def of(cls, box: Box, a: Array, design: Design) -> BoxPoint:
        """The point of coefficients within the box."""
        f = design.row_product(a) if a.any() else np.zeros(a.size)
        levels = box.levels(a, f)
        return cls(a, f, levels, box.gap(a, f, levels))

    @classmethod
    def near(cls, box: Box, a: Array, f: Array, doubt: Array, design: KernelDesign) -> BoxPoint:
        """The same from scores f that are within ``doubt`` of the exact ones.

        Exact scores are computed of support vectors and of samples whose loss may be positive.
        """
        used, f = np.flatnonzero(a), f.copy()
        known, asked = np.zeros(a.size, bool), a != 0
        asked |= _distance_from_loss(box, f + box.levels(a, f)[box.group]) <= _SPARE * doubt
        for _ in range(_TRIES):
            some = np.flatnonzero(asked)
            if used.size:
                f[some] = design.row_scores(some, used, a[used])
            known |= asked
            levels = box.levels(a, f)
            asked = ~known & (_distance_from_loss(box, f + levels[box.group]) <= doubt)
            if not asked.any():
                return cls(a, f, levels, box.gap(a, f, levels))
        return cls.of(box, a, design)

    def sums(self, box: Box) -> tuple[float, float]:
        """The sum of the coefficients in each group."""
        return float(self.a[box.group == 0].sum()), float(self.a[box.group == 1].sum())

    def primal(self, box: Box) -> float:
        """½‖f‖² plus the losses, and what the levels cost where the sums are not zero.

        Where the gap is that of the best multiple, so is this.
        """
        if box.scaled:
            return self.gap - 0.5 * float(self.a @ self.f)
        paid = float(box.losses(self.f + self.levels[box.group]).sum())
        return 0.5 * float(self.a @ self.f) + paid + float(self.levels @ np.array(self.sums(box)))


def _distance_from_loss(box: Box, z: Array) -> Array:
    """How far scores are from costing anything; negative where they cost."""
    over = np.where(box.high > 0, z - box.above, np.inf)
    return np.minimum(over, np.where(box.low < 0, box.below - z, np.inf))
