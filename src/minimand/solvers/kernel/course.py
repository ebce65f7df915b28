"""The course of a fit of a box problem: steps in float32, corrected by exact scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._base.typing import Array
from ...canonical import Box
from ...design import Design, GramDesign, KernelDesign
from .active_rows import ActiveRows
from .box_point import BoxPoint
from .generation import first_rows, generate, settle
from .sources import source_of

MEMORY = 2e9  # bytes of kernel rows if no limit is set; convention
CORRECTIONS = 60  # exact computations of the scores; safeguard
_GOAL = 0.7  # share of the target that the gap by approximate scores must reach; safeguard
_TIGHTER = 0.25  # factor of that share if exact scores show a larger gap; safeguard
_SLOW = 0.5  # share of the gap that a correction may leave before rows are in float64; safeguard


class Course:
    """Coefficients a that approach the optimum of a box problem.

    f = K a must be exact at first, and a have the given sum in each group.
    """

    def __init__(
        self,
        box: Box,
        a: Array,
        f: Array,
        design: Design,
        memory: float,
        sums: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._box, self._design = box, design
        self._memory, self._sums = min(memory, MEMORY), sums
        self._share = _GOAL
        self._kind = "float64" if isinstance(design, GramDesign) else "float32"
        self._doubt: Array = np.zeros(a.size)  # of scores that are not exact at first
        self._reached: Array | None = None  # Σ |aⱼ|·Kᵢⱼ at earlier points, added up
        self._total = 0.0  # the same of Σ |aⱼ|
        self._active = self._begun(a, f)

    def advanced(self, target: float, ends: Callable[[], bool]) -> Array:
        """The coefficients where the gap, by scores as they are known, is well below the target."""
        advance = settle if self._active.given else generate
        advance(self._active, self._share * target, ends)
        return self._box.with_sums(self._active.by_sample(self._active.a), self._sums)

    def point(self, a: Array) -> BoxPoint:
        """The point of coefficients that `advanced` gave, with exact scores where they matter.

        A score that was exact at other coefficients has gone from there to here by values of the
        kernel of which each is in doubt by its rounding.
        """
        sizes, design = self._active.sizes(), self._design
        if sizes is None or self._reached is None or not isinstance(design, KernelDesign):
            return BoxPoint.of(self._box, a, design)
        relative, absolute = design.doubt(0.5 * self._active.precision)
        reach = self._active.by_sample(sizes) + self._reached
        total = float(np.abs(a).sum()) + self._total
        doubt = self._doubt + relative * reach + absolute * total
        if not np.isfinite(doubt).all():
            return BoxPoint.of(self._box, a, design)
        self._reached, self._total, self._last = reach, total, doubt
        return BoxPoint.near(self._box, a, self._active.by_sample(self._active.f), doubt, design)

    def corrected(self, a: Array, f: Array, gap: float, before: float, target: float) -> bool:
        """Go on from a with exact scores f, where the gap is ``gap``; False if that is in vain.

        Rows are computed in float64 if steps with those in float32 have not helped.
        """
        if gap > target:
            self._share *= _TIGHTER
        if gap <= _SLOW * before:
            self._active.correct(f)
            return True
        if self._kind == "float64":
            return False
        self._share, self._kind = _GOAL, "float64"
        self._doubt = self._last
        self._active = self._begun(a, f)
        return True

    def _begun(self, a: Array, f: Array) -> ActiveRows:
        active = ActiveRows(self._box, a, f, source_of(self._design, self._kind), self._memory)
        if not active.given:
            first_rows(active)
        sizes = active.sizes()
        self._reached = None if sizes is None else active.by_sample(sizes)
        self._total, self._last = float(np.abs(a).sum()), self._doubt
        return active
