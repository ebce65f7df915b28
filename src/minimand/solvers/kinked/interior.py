"""Mehrotra's predictor-corrector method for piecewise linear-quadratic problems.

minimise Σ massᵢ·ψ(tᵢ) + pull·(w, b) + Ω(w),   t = sign∘(offset + X w + b) − shift

With the risers of ψ and Ω (see `slope_rises`) Newton's equations reduce to a system in w and b,

    (Xᵀdiag(mass∘rate)X + diag(l2 + rates of Ω)) Δw = −gradient,

the intercept eliminated exactly; with fewer rows than columns, to the equivalent n×n system.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.linear_system import factorise, pseudo_inverse
from ..._base.typing import Array, BoolArray
from ..._base.watch import reason
from ...design import DenseDesign
from ...losses import PLQ
from ...penalties import Separable
from ...problem.objective import EPS, Objective, Point, dot
from ..costs import walks_compiled
from ..shape import rows_suffice_for_kinks
from .central_path import CentralPath, Course, Limits, Walked
from .slope_rises import of_penalty, of_pieces

_ROOM = 10.0  # slacks of a cold start, in units of |t|; measured: wider is safer and slower
_NARROWEST = 1e-2  # slacks of a warm start, in units of those at w = 0; safeguard
_STEADY = 1e-12  # share of a column's curvature, added to the diagonal; safeguard
_PINNED = 1e200  # curvature of a coefficient whose two bounds are equal; safeguard
_PASSES = 5  # over the rows in a step; definition: the Hessian, and two products for each half


class Pull(NamedTuple):
    """A linear term of the objective: slopes by coefficient and of the intercept."""

    w: Array
    b: float


class Step(NamedTuple):
    """A step of the coefficients, of the intercept and of t."""

    dw: Array
    db: float
    dt: Array


class Settled(NamedTuple):
    """Expected slopes of the samples at the optimum, and which samples stay on a knot."""

    slope: Array
    curvature: Array  # of samples on a curved piece
    on: BoolArray
    miss: Array  # t − knot of samples that stay on a knot


Solve = Callable[[Array, float], Step]
_Columns = tuple[Array, Array, Array, Array, Any]
_Arrays = tuple[Any, Array, Array, _Columns, float, bool, bool, Any, Any]


class InteriorPoint(CentralPath[Solve, Step]):
    """A point strictly inside all bounds, and the step that moves it along the central path.

    The masses of ``rows`` need not sum to 1, and ``pull`` may stand for rows that are left out: see
    `row_reduction`.
    """

    def __init__(
        self,
        rows: Objective,
        plq: PLQ,
        form: Separable,
        start: Point,
        pull: Pull | None = None,
        *,
        room: float = 1.0,
        by_rows: bool | None = None,
    ) -> None:
        self.rows, self.plq, self.form = rows, plq, form
        self._pull = pull or Pull(np.zeros(rows.n_features), 0.0)
        self.w, self.b = form.project(start.w).copy(), start.b
        self.t = plq.at(rows.scores(self.w, self.b))
        self._samples = of_pieces(plq.pieces, rows.mass)
        self._features = of_penalty(form, 1.0 / rows.n_samples)
        self._parts = [part for part in (self._samples, self._features) if part.count]
        self._signed_mass = rows.mass * plq.sign
        self._by_rows = rows_suffice_for_kinks(rows, form) if by_rows is None else by_rows
        self.all_lines = not form.l2.any() and plq.pieces.linear
        self._pinned = form.bounds is not None and (form.bounds[0] == form.bounds[1])
        self._begin(room)

    def _begin(self, room: float) -> None:
        """Slacks of the size of t, multipliers of the size of the slopes.

        A model that interpolates has t at kinks: then a share of the size of t at w = 0 is used.
        At w = 0 the samples still have far to move: much smaller slacks would vanish on the way and
        leave no room for steps. ``room`` is a factor by which slacks are wider.
        """
        rows, pieces = self.rows, self.plq.pieces
        total = float(rows.mass.sum())
        middle = pieces.middle
        width = dot(rows.mass, np.abs(self.t - middle)) / total
        if self.w.any():
            at_zero = self.plq.at(rows.scores(np.zeros_like(self.w), self.b))
            width = max(width, _NARROWEST * dot(rows.mass, np.abs(at_zero - middle)) / total)
        else:
            width *= _ROOM
        # 1e-6: share of the largest knot, for t = 0; safeguard.
        width = room * max(width, 1e-6 * float(np.abs(pieces.knots).max()), 1e-300)
        ones, self._width = np.ones(self.t.size), 0.5 * width
        self._samples.begin(self.t, self._width * ones, ones)
        steep = float((self._samples.v @ rows.mass).sum()) / total
        size = np.sqrt(rows.spread / total)
        size[size == 0] = 1.0
        self._features.begin(self.w, width / size, steep * size * total)
        self._begin_path()

    @property
    def slope(self) -> Array:
        """ψ'(t), as the risers represent it."""
        return self._samples.slope(self.t)

    @property
    def theta(self) -> Array:
        """Multipliers of the samples: slopes in z."""
        return self.plq.sign * self.slope

    def walk(self, limits: Limits) -> Walked:
        """The same in compiled code where columns are few and dense.

        If Newton's equations are singular there, one step is taken here, by a pseudo-inverse.
        """
        if not self._compiled:
            return super().walk(limits)
        steps, stuck = 0, False
        while steps < limits.most:
            left = limits._replace(most=limits.most - steps)
            taken, stuck, singular = self._walk_compiled(left)
            steps += taken
            if not singular:
                break
            _, stuck = super().walk(limits._replace(most=1))
            steps += 1
            if stuck or self.products <= limits.near or reason():
                break
        return Walked(steps, stuck)

    @cached_property
    def _compiled(self) -> bool:
        return walks_compiled(self.rows) and bool(self._parts) and not self._by_rows

    @cached_property
    def _arrays(self) -> _Arrays:
        """The problem, and the pairs of its risers, which compiled code changes."""
        rows, form, design = self.rows, self.form, self.rows.design
        assert isinstance(design, DenseDesign)
        pinned = np.zeros(rows.n_features, dtype=np.uint8)
        pinned[:] = self._pinned
        centre = design.centre if rows.intercept else np.zeros(rows.n_features)
        return (
            design.x,
            rows.mass,
            self.plq.sign,
            (form.l2, rows.spread, centre, self._pull.w, pinned),
            float(self._pull.b),
            rows.intercept,
            self.all_lines,
            self._samples.arrays,
            self._features.arrays,
        )

    def _walk_compiled(self, limits: Limits) -> tuple[int, bool, bool]:
        """Steps in compiled code; whether they are stuck, and whether a system was singular."""
        self.b, taken, _, self.products, stuck, singular, course = _core.interior_walk(
            self._arrays,
            self.w,
            self.t,
            float(self.b),
            (limits.near, limits.far, limits.most, limits.patience, limits.centred),
            self._course,
        )
        self._course = Course(*course)
        self.rows.meter.passes += _PASSES * taken
        return taken, stuck, singular

    def corner(self) -> tuple[Array, float, Array] | None:
        """The corner of `vertex` and its multipliers in compiled code, where coefficients are free.

        None if they have kinks or bounds, or if it cannot be told which corner it is.
        """
        if not self._compiled or self._features.count or np.any(self._pinned):
            return None
        w, theta, pieces = self.w.copy(), np.empty(self.t.size), self.plq.pieces
        scale = self._width, 1.0, pieces.lowest, pieces.highest
        b, found = _core.interior_corner(self._arrays, w, self.t, float(self.b), scale, theta)
        return (w, b, theta) if found else None

    def _system(self) -> Solve:
        rate, _ = self._samples.system(self.t)
        stiff, _ = self._features.system(self.w)
        return self._equations(self.rows.mass * rate, stiff)

    def _move(self, step: Step, primal: float) -> None:
        self.w += primal * step.dw
        self.b += primal * step.db
        self.t += primal * step.dt

    def refresh(self) -> Array:
        """z and t, recomputed from the coefficients."""
        z = self.rows.scores(self.w, self.b)
        self.t = self.plq.at(z)
        return z

    def _solve(self, system: Solve) -> Step:
        """From the slopes of samples and features after a step with Δt = 0."""
        gradient, balance = self.gradient(self._samples.pulled(self.t))
        gradient += self.form.l2 * self.w + self._features.pulled(self.w)
        gradient[self._pinned] = 0.0
        step = system(gradient, balance)
        for part in self._parts:
            part.follow(step.dt if part is self._samples else step.dw)
        return step

    def gradient(self, slope: Array) -> tuple[Array, float]:
        """Slopes in w and b of the loss and of the linear term, for given slopes in t."""
        u = self._signed_mass * slope
        balance = float(u.sum()) + self._pull.b if self.rows.intercept else 0.0
        return self.rows.backward(u) + self._pull.w, balance

    def snapped(self) -> tuple[Array, BoolArray]:
        """w with the coefficients that stop at zero or at a bound set there, and which they are."""
        w, settled = self.w.copy(), np.zeros(self.w.size, dtype=bool) | self._pinned
        features = self._features
        if features.count:
            assert features.where is not None
            stops = features.stays()
            stopped = features.where[stops]
            w[stopped] = features.knot[stops]
            settled[stopped] = True
        return w, settled

    def settled_samples(self) -> Settled:
        """The samples' expected slopes at the optimum."""
        samples, t = self._samples, self.t
        v, along, stops = samples.ahead(t)
        slope = samples.base + (samples.side * v).sum(axis=0)
        curvature = np.zeros(t.size)
        if along.any():
            curvature = (along / np.where(samples.bend > 0, samples.bend, 1.0)).sum(axis=0)
        stopped = stops.any(axis=0)
        knot = np.where(stops, samples.knot, -np.inf).max(axis=0, initial=-np.inf)
        miss = np.where(stopped, t - knot, 0.0)
        return Settled(slope, curvature, stopped & (self.rows.mass > 0), miss)

    def _equations(self, h: Array, stiff: Array) -> Solve:
        """The system of Newton's equations, on the smaller of both sides."""
        rows = self.rows
        d = rows.n_features
        diagonal = self.form.l2 + stiff
        diagonal[self._pinned] = _PINNED
        if self._by_rows:
            return self._system_of_rows(np.maximum(h, 1e-200), diagonal)  # safeguard: 1/h is finite
        matrix, mean = rows.hessian(h)
        steady = _STEADY * np.diag(matrix) + EPS * float(h.sum()) * rows.spread
        matrix.flat[:: d + 1] += diagonal + steady
        inverse = factorise(matrix) or pseudo_inverse(matrix)
        total = float(h.sum())

        def solve(gradient: Array, balance: float) -> Step:
            dw = -inverse(gradient - mean * balance)
            db = -balance / total - dot(mean, dw) if rows.intercept and total > 0 else 0.0
            return Step(dw, db, self.plq.sign * (rows.forward(dw) + db))

        return solve

    def _system_of_rows(self, h: Array, diagonal: Array) -> Solve:
        """(1/h + X D⁻¹ Xᵀ) y = Δb − X D⁻¹ gradient, Δw = −D⁻¹(gradient + Xᵀy), X centred.

        y = h∘(X Δw + Δb) is the step of the multipliers. Near the end h and D differ by many orders
        of magnitude, and a solution is wrong by more than the slacks that are left: it is corrected
        once, by what the scores of Δw show of the error.
        """
        rows, centre = self.rows, self._centre
        kernel = rows.design.row_gram(1.0 / diagonal, centre if rows.intercept else None)
        kernel.flat[:: h.size + 1] += 1.0 / h
        inverse = factorise(kernel, 0.0) or pseudo_inverse(kernel)
        ones = inverse(np.ones(h.size)) if rows.intercept else np.zeros(h.size)
        total = float(ones.sum())

        def bordered(right: Array, balance: float) -> tuple[Array, float]:
            y = inverse(right)
            db = (balance - float(y.sum())) / total if rows.intercept else 0.0
            return y + db * ones, db

        def forward(v: Array) -> Array:
            return rows.forward(v) - dot(centre, v)

        def backward(y: Array) -> Array:
            return rows.backward(y) - float(y.sum()) * centre

        def solve(gradient: Array, balance: float) -> Step:
            gradient = gradient - balance * centre
            y, db = bordered(-forward(gradient / diagonal), -balance)
            dw = -(gradient + backward(y)) / diagonal
            miss = forward(dw) + db - y / h
            more, extra = bordered(miss, -balance - float(y.sum()))
            y, dw = y + more, dw - backward(more) / diagonal
            db += extra - dot(centre, dw)
            return Step(dw, db, self.plq.sign * (y / h))  # accurate where h is large

        return solve

    @cached_property
    def _centre(self) -> Array:
        """Means of the columns if there is an intercept, else zero."""
        rows = self.rows
        if not rows.intercept:
            return np.zeros(rows.n_features)
        return rows.backward(rows.mass) / float(rows.mass.sum())
