"""Quadratic models that compiled coordinate descent takes.

    Quadratic   ½ wᵀG w + qᵀw                    the Gram of some columns
    Weighted    Σ qᵢtᵢ + ½ hᵢtᵢ²,  t = X_c δ + b    the columns themselves; b free or absent

Both have the gradient as a linear term, not a working response, so that curvature may be zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import _core
from .._base.typing import Array, BoolArray, IntArray
from ..design import Design, kernel_for
from ..penalties import Separable


class DescentProblem(NamedTuple):
    """Σ qᵢtᵢ + ½hᵢtᵢ² + Σ l1ⱼ|wⱼ| + ½ l2ⱼwⱼ² over t = X_c(w − w₀) + b, for the compiled descent."""

    columns: IntArray
    h: Array
    l1: Array
    l2: Array
    centre: bool  # whether b is free
    bounds: tuple[Array, Array] | None = None  # bounds of w, which must start within them


class Descent(NamedTuple):
    """The result of a run of coordinate descent: the intercept's move, sweeps, last decrease."""

    shift: float
    sweeps: int
    decrease: float


def descend(
    design: Design,
    problem: DescentProblem,
    q: Array,
    w: Array,
    sweeps: int,
    tol: float,
    moments: Array | None = None,
) -> Descent:
    """Coordinate descent over some columns, which changes w and q; see `Weighted`.

    Columns that are not contiguous are copied first, only these. ``moments`` (two numbers for every
    column, NaN at first) are kept from call to call, if the design is sparse.
    """
    lines, places = design.column_lines(problem.columns)
    kernel = kernel_for(lines, _core.cd_columns, _core.cd_columns_dense)
    _, h, l1, l2, centre, bounds = problem
    kept = (moments,) if kernel is _core.cd_columns else ()
    return Descent(*kernel(lines, places, h, q, w, l1, l2, centre, sweeps, tol, bounds, *kept))


@dataclass(frozen=True, eq=False)
class Weighted:
    """Σ qᵢtᵢ + ½ hᵢtᵢ² over t = X_c (w − w₀) + b; `q` is kept up to date as w moves."""

    design: Design
    columns: IntArray
    h: Array
    q: Array
    centre: bool

    @cached_property
    def _moments(self) -> Array:
        return np.full(2 * self.columns.size, np.nan)

    def descend(self, penalty: Separable, w: Array, sweeps: int, tol: float) -> Descent:
        """Coordinate descent in place over w (|columns| long) and the intercept."""
        problem = DescentProblem(
            self.columns, self.h, penalty.l1, penalty.l2, self.centre, penalty.bounds
        )
        return descend(self.design, problem, self.q, w, sweeps, tol, self._moments)

    @property
    def moments(self) -> Array:
        """Σhᵢxᵢⱼ and the curvature along every column: a row each, NaN if descent left it out."""
        return self._moments.reshape(-1, 2)

    @property
    def slope(self) -> Array:
        """X_cᵀq, along every column."""
        return self.design.rmatvec_on(self.columns, self.q)

    def change(self, before: Array, scores: Array | None = None) -> float:
        """The change of the sum since q was ``before``.

        q moves by h∘t; the scores t must be given if some h is zero, since q does not tell them.
        """
        if scores is None:
            scores = (self.q - before) / self.h
        return 0.5 * _core.dot(self.q + before, scores)


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


def movable(penalty: Separable, w: Array) -> BoolArray:
    """Coefficients around which the penalty is quadratic: neither zero nor at a bound."""
    inner = (w != 0) | (penalty.l1 == 0)
    return inner if penalty.bounds is None else inner & ~penalty.at_bound(w)
