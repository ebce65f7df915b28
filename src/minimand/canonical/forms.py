"""The forms of problems that compiled kernels take: quadratic models and a dual.

    Quadratic   ½ wᵀG w + qᵀw                    the Gram of some columns
    Weighted    Σ qᵢtᵢ + ½ hᵢtᵢ²,  t = X_c δ + b    the columns themselves; b free or absent
    RowDual     Σ massᵢψ(tᵢ) + ½ Σ l2ⱼwⱼ²        through its dual, a slope of ψ for every row

The first two have the gradient as a linear term, not a working response, so that curvature may be
zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _core
from .._base.linear_system import factorise_block
from .._base.typing import Array, BoolArray, IntArray
from ..design import Design
from ..losses import Pieces, Rowwise
from ..penalties import Separable
from .ascent import Ascent, AscentProblem, AscentState, ascend
from .descent import Descent, DescentProblem, descend

_SHARE_OF_INTERCEPT = 0.03  # share of a row's curvature: the first step of the intercept; safeguard


@dataclass(frozen=True, eq=False)
class Weighted:
    """Σ qᵢtᵢ + ½ hᵢtᵢ² over t = X_c (w − w₀) + b; `q` is kept up to date as w moves."""

    design: Design
    columns: IntArray
    h: Array
    q: Array
    centre: bool

    def descend(self, penalty: Separable, w: Array, sweeps: int, tol: float) -> Descent:
        """Coordinate descent in place over w (|columns| long) and the intercept."""
        problem = DescentProblem(
            self.columns, self.h, penalty.l1, penalty.l2, self.centre, penalty.bounds
        )
        return descend(self.design, problem, self.q, w, sweeps, tol)

    @property
    def slope(self) -> Array:
        """X_cᵀq, along every column."""
        return self.design.rmatvec_on(self.columns, self.q)

    def change(self, before: Array) -> float:
        """The change of the sum since q was ``before``; q moves by h∘t, so t is known."""
        move = np.divide(self.q - before, self.h, out=np.zeros_like(before), where=self.h > 0)
        return 0.5 * float(np.sum((self.q + before) * move))


@dataclass(frozen=True, eq=False)
class Quadratic:
    """½ wᵀG w + qᵀw."""

    gram: Array
    q: Array

    def descend(self, penalty: Separable, w: Array, sweeps: int, tol: float) -> Descent:
        """Coordinate descent in place over w."""
        done, decrease = _core.cd_gram(
            self.gram, self.q, w, penalty.l1, penalty.l2, sweeps, tol, penalty.bounds
        )
        return Descent(0.0, done, decrease)

    def slope(self, w: Array) -> Array:
        """G w + q."""
        return self.gram @ w + self.q

    def polish(self, penalty: Separable, w: Array) -> bool:
        """One Newton step on the support; True if w moved.

        With fixed signs the problem is a linear system. A full step that keeps the signs and the
        bounds solves it exactly. Otherwise, coefficients that overshoot are put at zero or at their
        bound if the objective falls; if it does not, the step ends where the first coefficient gets
        there.
        """
        support = np.flatnonzero(movable(penalty, w))
        if not support.size:
            return False
        start, form = w[support], penalty.take(support)
        slope = self._slope_on(support, w)
        target = self._stationary(form, start, slope, support)
        if target is None:
            return False
        step = target - start
        ends = _ends(form, start, step)
        crosses = ((step > 0) & (target > ends)) | ((step < 0) & (target < ends))
        if crosses.any():
            clipped = np.where(crosses, ends, target)
            falls = self._falls(form, start, slope, support, clipped)
            target = clipped if falls else _up_to_first_end(start, step, ends, crosses)
        w[support] = target
        return True

    def _slope_on(self, places: IntArray, w: Array) -> Array:
        """Some entries of G w + q, at the cost of those and of the nonzeros of w."""
        nonzero = np.flatnonzero(w)
        return _core.block_product(self.gram, places, nonzero, w[nonzero]) + self.q[places]

    def _falls(
        self, form: Separable, start: Array, slope: Array, support: IntArray, target: Array
    ) -> bool:
        """Whether ½ wᵀG w + qᵀw + penalty is lower with the target on the support."""
        step = target - start
        bend = _core.block_product(self.gram, support, support, step)
        change = float(step @ (slope + 0.5 * bend))
        return change + form.value(target) - form.value(start) <= 0

    def _stationary(
        self, form: Separable, start: Array, slope: Array, support: IntArray
    ) -> Array | None:
        """The minimiser with the support and signs of w, or a cautious step towards it.

        If the system is nearly singular, a multiple of its diagonal is added; the step is then
        shorter than the full one, and the objective falls all along it.
        """
        diagonal = self.gram[support, support] + form.l2
        if not (diagonal > 0).all():
            return None  # a constant column, which descent sets to zero
        slope = slope + form.l2 * start + form.l1 * np.sign(start)
        for jitter in (0.0, 1e-11, 1e-8):  # shares of the diagonal; safeguard
            solve = factorise_block(self.gram, support, (1.0 + jitter) * diagonal)
            if solve is not None:
                return start - solve(slope)
        return None


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

    @cached_property
    def _inverse(self) -> Array:
        uniform = self.l2.size > 0 and bool((self.l2 == self.l2[0]).all())
        return 1.0 / (self.l2[:1] if uniform else self.l2)

    @cached_property
    def squares(self) -> Array:
        """Σⱼ xᵢⱼ²/l2ⱼ of every row."""
        if self._inverse.size == 1:
            return self._inverse * self.design.row_lengths
        return self.design.row_squares(self._inverse)

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
        rows = (self.loss.sign, self.loss.shift, self.mass, self.squares)
        problem = AscentProblem(
            self.loss.psi.parts, rows, self._inverse, (self.intercept, self.reach)
        )
        state = AscentState(self.v, self.w, self._order, self._clock)
        found = ascend(self.design, problem, state, epochs, tol, self.seed)
        self._clock = found.clock
        self.b = found.clock[0]
        return found


def movable(penalty: Separable, w: Array) -> BoolArray:
    """Coefficients around which the penalty is quadratic: neither zero nor at a bound."""
    inner = (w != 0) | (penalty.l1 == 0)
    return inner if penalty.bounds is None else inner & ~penalty.at_bound(w)


def _ends(penalty: Separable, w: Array, step: Array) -> Array:
    """Where the penalty stops being the same quadratic along the step: at zero or a bound."""
    ends = np.where((penalty.l1 > 0) & (w * step < 0), 0.0, np.copysign(np.inf, step))
    if penalty.bounds is None:
        return ends
    return np.where(
        step < 0, np.maximum(ends, penalty.bounds[0]), np.minimum(ends, penalty.bounds[1])
    )


def _up_to_first_end(start: Array, step: Array, ends: Array, crosses: BoolArray) -> Array:
    """The farthest point along the step at which no marked coefficient overshoots its end."""
    fraction = np.ones_like(start)
    fraction[crosses] = (ends[crosses] - start[crosses]) / step[crosses]
    least = float(fraction.min())
    return np.where(crosses & (fraction <= least), ends, start + least * step)
