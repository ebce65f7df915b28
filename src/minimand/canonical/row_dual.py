"""The dual Σ massᵢψ(tᵢ) + ½ Σ l2ⱼwⱼ² over rows, a slope of ψ for each, for compiled ascent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import _core
from .._base.typing import AnyArray, Array, BoolArray, IntArray
from ..design import Design, kernel_for
from ..losses import Exponentials, Pieces, Rowwise

_SHARE_OF_INTERCEPT = 0.03  # share of a row's curvature: the first step of the intercept; safeguard

AscentClock = tuple[float, float, int, float]
"""The intercept, its step, how many rows are not skipped, and their distance from a knot."""


class AscentProblem(NamedTuple):
    """A loss of single rows with an L2 penalty, as the compiled ascent takes it."""

    psi: tuple[Array, Array, Array, Array, Array] | str  # pieces, or the name of a function
    rows: tuple[Array, Array, Array, Array]  # sign, shift, mass, and `RowDual.squares`
    inverse: Array  # 1/l2; one number if all are equal
    intercept: tuple[bool, float]  # whether it is free, and a typical distance of t from a knot


class AscentState(NamedTuple):
    """What an ascent changes, v and w in place, and the state left by the last run."""

    v: Array
    w: Array
    order: AnyArray
    clock: AscentClock


class Ascent(NamedTuple):
    """The result of a run of dual coordinate ascent, and the state for the next run."""

    clock: AscentClock
    sweeps: float
    gap: float  # an estimate


def ascend(
    design: Design, problem: AscentProblem, state: AscentState, epochs: int, tol: float, seed: int
) -> Ascent:
    """Coordinate ascent over the rows, which changes the state; see `RowDual`."""
    lines = design.row_lines
    kernel = kernel_for(lines, _core.dual_rows, _core.dual_rows_dense)
    return Ascent(*kernel(lines, *problem, *state, epochs, tol, seed))


@dataclass(eq=False)
class RowDual:
    """Σ massᵢ·ψ(tᵢ) + ½ Σ l2ⱼwⱼ², t = sign·(offset + X w + b) − shift, by one vᵢ ∈ ∂ψ per row.

    Always w = −Σᵢ massᵢ·signᵢ·vᵢ·xᵢ/l2. A free intercept requires Σ mass·sign·v = 0, which the
    method of multipliers brings about.
    """

    design: Design
    loss: Rowwise  # with the offset included in its shift
    mass: Array
    l2: Array
    intercept: bool
    v: Array
    w: Array
    b: float = 0.0
    reach: float = 1.0  # a typical distance of t from a knot
    seed: int = 1

    def __post_init__(self) -> None:
        # Rows without weight are left out.
        self._order = np.flatnonzero(self.mass).astype(np.uint32)
        self._clock = (self.b, self._first_step, self._order.size, np.inf)

    @property
    def curved(self) -> bool:
        """Whether ψ is not piecewise quadratic, so that no part of the dual is quadratic."""
        return not isinstance(self.loss.psi, Pieces)

    def resume(self, b: float, step: float, active: BoolArray, threshold: float) -> None:
        """Go on with the intercept, its step, the rows to visit and the threshold of a run."""
        heavy = np.flatnonzero(self.mass)
        if not active.any():
            active = np.ones_like(active)
        visited = active[heavy]
        self._order = np.concatenate([heavy[visited], heavy[~visited]]).astype(np.uint32)
        self.b = b
        self._clock = (b, step, int(visited.sum()), threshold)

    @cached_property
    def inverse(self) -> Array:
        """1/l2; one number if all are equal."""
        uniform = self.l2.size > 0 and bool((self.l2 == self.l2[0]).all())
        return 1.0 / (self.l2[:1] if uniform else self.l2)

    @cached_property
    def squares(self) -> Array:
        """Σⱼ xᵢⱼ²/l2ⱼ of every row."""
        if self.inverse.size == 1:
            return self.inverse * self.design.row_lengths
        return self.design.row_squares(self.inverse)

    @property
    def step(self) -> float:
        """The move of b per unit of Σ mass·sign·v."""
        return self._clock[1]

    def move(self, rows: IntArray, dv: Array, dw: Array, dtotal: float) -> None:
        """Change some slopes, and w and b accordingly."""
        self.v[rows] += dv
        self.w += dw
        self.b -= self.step * dtotal
        self._clock = (self.b, *self._clock[1:])

    @property
    def _first_step(self) -> float:
        """A small share of a row's curvature: large enough to move b, too small to slow rows."""
        if not self.intercept:
            return 0.0
        return _SHARE_OF_INTERCEPT * float(self.squares.mean()) or 1.0

    def ascend(self, epochs: int, tol: float) -> Ascent:
        """Coordinate ascent in place over v, and with it w and b."""
        self.seed += 1
        psi = self.loss.psi
        assert not isinstance(psi, Exponentials)
        rows = (self.loss.sign, self.loss.shift, self.mass, self.squares)
        problem = AscentProblem(psi.parts, rows, self.inverse, (self.intercept, self.reach))
        state = AscentState(self.v, self.w, self._order, self._clock)
        found = ascend(self.design, problem, state, epochs, tol, self.seed)
        self._clock = found.clock
        self.b = found.clock[0]
        return found
