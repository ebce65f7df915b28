"""The forms of problems that compiled kernels take: quadratic models and a dual.

    Quadratic   ½ wᵀG w + qᵀw                    the Gram of some columns
    Weighted    Σ qᵢtᵢ + ½ hᵢtᵢ²,  t = X_c δ + b    the columns themselves; b free or absent
    RowDual     Σ massᵢψ(tᵢ) + ½ Σ l2ⱼwⱼ²        through its dual, a slope of ψ for every row

The first two have the gradient as a linear term, not a working response, so that curvature may be
zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .. import _core
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
    _newton: _core.SupportNewton = field(default_factory=_core.SupportNewton, repr=False)

    def descend(self, penalty: Separable, w: Array, sweeps: int, tol: float) -> Descent:
        """Coordinate descent in place over w."""
        done, decrease = _core.cd_gram(
            self.gram, self.q, w, penalty.l1, penalty.l2, sweeps, tol, penalty.bounds
        )
        return Descent(0.0, done, decrease)

    def slope(self, w: Array) -> Array:
        """G w + q."""
        return _core.dense_matvec(self.gram, w) + self.q

    def polish(self, penalty: Separable, w: Array) -> bool:
        """One Newton step on the support; True if there is one. `_core.SupportNewton` has the rule.

        With fixed signs the problem is a linear system. A full step that keeps the signs and the
        bounds solves it exactly; coefficients that would overshoot are put at zero or at their
        bound, as far along the step as the objective falls. The factor of the system is kept for
        the next step.
        """
        return self._newton.step(self.gram, self.q, w, penalty.l1, penalty.l2, penalty.bounds)

    def minimise(self, penalty: Separable, w: Array, tol: float) -> None:
        """Sweeps and Newton steps in turn, in place, until a sweep gains no more than ``tol``.

        Up to 300 columns an active set then makes the minimiser exact.
        """
        _core.minimise_gram(self.gram, self.q, w, penalty.l1, penalty.l2, tol, penalty.bounds)


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
        rows = (self.loss.sign, self.loss.shift, self.mass, self.squares)
        problem = AscentProblem(
            self.loss.psi.parts, rows, self.inverse, (self.intercept, self.reach)
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
