"""Ordered class margins with an L2 penalty, through their dual: k multipliers for every row."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._base.typing import Array
from ..design import Design, kernel_for
from ..losses.joint.class_margins import ClassMargins, class_numbers

_SHARE_OF_INTERCEPT = 0.03  # share of a row's curvature: the first step of b; safeguard


class ClassAscent(NamedTuple):
    """The result of a run: sweeps over the rows, and an estimate of the gap."""

    sweeps: float
    gap: float


@dataclass(eq=False)
class ClassDual:
    """Σ massᵢ·ℓ(zᵢ, yᵢ) + ½ Σ l2ⱼ‖Wⱼ‖², z = offset + X W + b, by multipliers uᵢ ∈ ∂ℓ of every row.

    Always W = −Σᵢ massᵢ·xᵢuᵢᵀ/l2, an array (d, k) in which the k numbers of a feature are adjacent.
    Free intercepts require Σ mass·u = 0, which the method of multipliers brings about.
    """

    design: Design
    loss: ClassMargins
    y: Array
    mass: Array
    l2: Array  # one number per feature
    offset: Array | None
    intercept: bool
    u: Array
    w: Array
    b: Array
    reach: float = 1.0  # a typical size of a margin
    seed: int = field(default=1)

    def __post_init__(self) -> None:
        self.mean = self.u.copy()  # follows u with a lag, and has a lower primal loss
        # Rows without weight are left out.
        self._order = np.flatnonzero(self.mass).astype(np.uint32)
        step = _SHARE_OF_INTERCEPT * float(self._squares.mean()) or 1.0
        self._clock = (step if self.intercept else 0.0, self._order.size, np.inf)

    @cached_property
    def _inverse(self) -> Array:
        uniform = self.l2.size > 0 and bool((self.l2 == self.l2[0]).all())
        return 1.0 / (self.l2[:1] if uniform else self.l2)

    @cached_property
    def _squares(self) -> Array:
        """Σⱼ xᵢⱼ²/l2ⱼ of every row."""
        if self._inverse.size == 1:
            return self._inverse * self.design.row_lengths
        return self.design.row_squares(self._inverse)

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        k = self.b.size
        offset = np.empty((0, k)) if self.offset is None else np.ascontiguousarray(self.offset)
        cost, weights = self.loss.costs(k), self.loss.order_weights(k)
        return class_numbers(self.y), cost, weights, offset, self.mass, self._squares

    def ascend(self, epochs: int, tol: float) -> ClassAscent:
        """Ascent in place over u, and with it W and b."""
        self.seed += 1
        lines = self.design.row_lines
        kernel = kernel_for(lines, _core.class_rows, _core.class_rows_dense)
        changed = (self.u, self.mean, self.w, self.b, self._order)
        intercept = self.intercept, self.reach
        self._clock, sweeps, gap = kernel(
            lines, self._arrays, self._inverse, intercept, changed, self._clock, epochs, tol,
            self.seed,
        )  # fmt: skip
        return ClassAscent(sweeps, gap)
