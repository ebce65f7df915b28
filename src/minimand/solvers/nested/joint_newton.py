"""Newton's method for the coefficients, the intercept and the scale of the Huber loss together.

For F of `joint_scale`, with t = r/σ and the samples inside, |t| ≤ ε,

    ∂F/∂r = mass·2·clip(t, ±ε),   ∂F/∂σ = 1 − mean min(t², ε²),
    d²F = Σ inside (2/σ)·mass·(dr − t·dσ)² + 2c·dw²,   Ω(w) = Σ c·w²,

so that σ is one more column, −t, of a weighted least-squares problem. F is smooth in all of them,
with curvature that jumps where a sample crosses |t| = ε: steps with a line search end after a few.
Trial steps are compared at the best σ for their residuals, so that some samples are always inside.

Where columns outnumber rows, the step follows from its multipliers: with S = X (2c)⁻¹ Xᵀ, which is
computed once unless X is sparse, and p the derivative of F in the scores after the step,

    w + dw = −(2c)⁻¹ Xᵀ p,   p = u outside,   (S p)ᵢ + pᵢ/hᵢ = b − yᵢ + db − tᵢ·dσ inside,
    Σ p = 0,   Σ inside t·p = ∂F/∂σ + Σ inside t·u.

Samples outside have no curvature, so Newton's step may carry them far beyond y, and min over σ of F
without Ω is a norm of r, which has no curvature towards r = 0. So the first step, and any other
where Newton's does not lower F as much, is *cautious*: it keeps σ, and samples outside get the
curvature of the parabola in r that touches σH(r/σ) and lies above it. Such a step never raises F.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._base.linear_system import solver_for
from ..._base.typing import Array
from ..._core import KeptHessian, joint_steps
from ...design import Covariance, DenseDesign
from ...problem.objective import EPS, Objective, Point, dot
from ..base import Control
from ..costs import walks_compiled
from .joint_scale import Scaled, best_scale
from .row_kernel import RowKernel

_STEPS = 50  # Newton steps; safeguard
_HALVINGS = 40  # of a cautious step; safeguard
_BOLD = 2  # of Newton's step, after which others are tried; safeguard
_ARMIJO = 1e-4  # share of the promised decrease that a step must bring; convention
_FAILURES = 4  # of Newton's step, after which other methods take over; safeguard
_PASSES = 4.0  # over the data in a step; definition: the Hessian, three products
_SHRINK = 0.1  # share of σ that a step leaves, before σ is adapted; safeguard


class Place(NamedTuple):
    """A model, its scale, and F there."""

    point: Point
    sigma: float
    value: float
    settled: bool = False  # whether Newton's equations promise nothing more than rounding
    near: bool = False  # whether a bound says that F is near its minimum
    theta: Array | None = None  # multipliers that the last step aimed at


class _Step(NamedTuple):
    dw: Array
    db: float
    dsigma: float
    dz: Array | float
    slope: float  # of F along the step
    aim: Array  # w + dw
    p: Array | None = None  # the derivative of F in the scores that the whole step aims at


class _Slopes(NamedTuple):
    """Derivatives of F in the scores and in σ; t, but 0 outside; the curvature of samples."""

    u: Array
    sigma: float
    t: Array
    rates: Array  # the curvature in units of 2/σ: mass inside, whatever σ is
    unit: float  # 2/σ

    @property
    def h(self) -> Array:
        """The curvature of samples."""
        return self.unit * self.rates


class JointNewton:
    """Steps in w, b and σ; in b and σ alone with ``fixed``."""

    def __init__(self, scaled: Scaled, *, fixed: bool = False) -> None:
        form = scaled.objective.penalty.sum_over_features
        assert form is not None
        self._objective: Objective = scaled.objective
        self._epsilon, self._fixed = scaled.epsilon, fixed
        self._c = form.l2 / scaled.sigma

    def best_from(
        self, point: Point, sigma: float, control: Control | None = None, near: float = 0.0
    ) -> Place:
        """The last point of the steps; F never rises, and σ stays positive.

        They end as soon as a bound says that F is within ``near`` > 0 of its minimum. On few dense
        columns they are compiled; a system that is singular there is solved here.
        """
        if self._fixed or (walks_compiled(self._objective) and not self._wide):
            place, singular = self._compiled(point, sigma, near)
            if not singular:
                return place
            point, sigma = place.point, place.sigma
        return self.steps_from(point, sigma, control, near)

    def _compiled(self, point: Point, sigma: float, near: float) -> tuple[Place, bool]:
        """Steps in compiled code, and whether they ended at a singular system."""
        objective, design, y = self._objective, self._objective.design, self._objective.y
        x, w, free = np.empty((objective.n_samples, 0)), np.empty(0), objective.intercept
        centre = w
        if not self._fixed:
            assert isinstance(design, DenseDesign)
            x, w = design.x, point.w.copy()
            centre = design.centre if free else np.zeros(w.size)
        target = y if objective.offset is None else y - objective.offset
        z, theta = point.z.copy(), np.empty(y.size)
        b, sigma, value, steps, settled, close, aimed, singular = joint_steps(
            x, (y, target, objective.mass), self._c[: w.size], centre, self._epsilon,
            free, w, z, theta, float(point.b), sigma, near, _STEPS,
        )  # fmt: skip
        objective.meter.passes += 0.0 if self._fixed else _PASSES * steps
        found = Point(point.w if self._fixed else w, b, z)
        return Place(found, sigma, value, settled, close, theta if aimed else None), singular

    def steps_from(
        self, point: Point, sigma: float, control: Control | None = None, near: float = 0.0
    ) -> Place:
        """The same steps in NumPy."""
        place, bold, failures = self._at_best_scale(point, sigma), self._fixed, 0
        for _ in range(_STEPS):
            step = self._step(place, bold=bold)
            if step is None:
                break
            if bold and not -step.slope > 4 * EPS * abs(place.value):
                return place._replace(settled=True)
            moved = self._moved(place, step, _BOLD if bold and not self._fixed else _HALVINGS)
            if moved is None and bold and failures < _FAILURES and not self._fixed:
                failures += 1
                moved, step = self._instead(place, step)
            if moved is None or (control is not None and control.expired):
                break
            place, bold = moved, True
            if step.p is not None:
                place = place._replace(theta=_quotients(step.p, self._objective.mass))
                if near > 0 and place.value - self._bound(step) <= near:
                    return place._replace(near=True)
        return place

    def _instead(self, place: Place, step: _Step) -> tuple[Place | None, _Step]:
        """The better one of a cautious step and of a shorter Newton's step, which keeps σ large."""
        careful = self._step(place, bold=False)
        shorter = self._moved(place, step, _HALVINGS, least=_SHRINK)
        if careful is None:
            return shorter, step
        moved = self._moved(place, careful, _HALVINGS)
        if moved is None or (shorter is not None and shorter.value < moved.value):
            return shorter, step
        return moved, careful

    def _bound(self, step: _Step) -> float:
        """A lower bound of F by the multipliers that a step aims at, up to rounding.

        These solve Xᵀp = −2c·(w + dw), so Ω*(−Xᵀp) is Ω(w + dw); they are shrunk to the domain.
        """
        assert step.p is not None
        objective, aim = self._objective, step.aim
        theta = _quotients(step.p, objective.mass)
        largest = float(np.abs(theta).max(initial=0.0)) / (2.0 * self._epsilon)
        share = 1.0 / max(1.0, largest, 0.5 * np.sqrt(objective.mean(theta * theta)))
        y = objective.y if objective.offset is None else objective.y - objective.offset
        return max(-share * dot(step.p, y) - share**2 * dot(self._c * aim, aim), 0.0)

    def _at_best_scale(self, point: Point, sigma: float) -> Place:
        """A model with the best scale for its residuals; with a given one if that is 0."""
        r = self._residual(point.z)
        best, least = best_scale(r, self._objective.mass, self._epsilon)
        if best > 0:
            return Place(point, best, least + dot(self._c * point.w, point.w))
        return Place(point, sigma, self._value(point.w, r, sigma))

    def _residual(self, z: Array) -> Array:
        return z - self._objective.y

    def _value(self, w: Array, r: Array, sigma: float) -> float:
        t, epsilon = np.abs(r) / sigma, self._epsilon
        inside = np.minimum(t, epsilon)
        huber = inside * (2.0 * t - inside)
        return sigma * (1.0 + self._objective.mean(huber)) + dot(self._c * w, w)

    def _step(self, place: Place, *, bold: bool) -> _Step | None:
        """The solution of Newton's equations, or of cautious ones; None if no sample is inside."""
        objective, sigma = self._objective, place.sigma
        mass, t = objective.mass, self._residual(place.point.z) / sigma
        clipped = np.clip(t, -self._epsilon, self._epsilon)
        inside, u = clipped == t, 2.0 * mass * clipped
        rates = np.where(inside, mass, 0.0)
        if not rates.any():
            return None
        slope_sigma = 1.0 - dot(mass, clipped * clipped)
        if bold:
            slopes = _Slopes(u, slope_sigma, np.where(inside, t, 0.0), rates, 2.0 / sigma)
        else:  # without t, no step of σ
            np.divide(mass * clipped, t, out=rates, where=~inside)
            slopes = _Slopes(u, 0.0, np.zeros_like(t), rates, 2.0 / sigma)
        if self._fixed:
            return self._in_scale(slopes, place.point)
        return (self._by_rows if self._wide else self._by_columns)(slopes, place.point)

    @cached_property
    def _wide(self) -> bool:
        """Whether systems of rows are smaller than those of columns, and exist."""
        n, d = self._objective.design.shape
        return n < d and bool((self._c > 0).all())

    def _in_scale(self, slopes: _Slopes, point: Point) -> _Step:
        """The step of b and σ alone."""
        total, balance, level, whole, bend = self._moments(slopes)
        dsigma = _quotient(-slopes.sigma - level * balance, bend, whole)
        db = level * dsigma - balance / total if self._objective.intercept else 0.0
        slope = balance * db + slopes.sigma * dsigma
        return _Step(np.zeros_like(point.w), db, dsigma, db, slope, point.w)

    def _moments(self, slopes: _Slopes) -> tuple[float, float, float, float, float]:
        """Σh and Σu, the h-mean of t, Σht², and the same with t centred."""
        t, h = slopes.t, slopes.h
        total, ht = float(h.sum()), h * t
        whole = dot(ht, t)
        if not self._objective.intercept:
            return total, 0.0, 0.0, whole, whole
        level = float(ht.sum()) / total
        return total, float(slopes.u.sum()), level, whole, whole - total * level * level

    def _by_columns(self, slopes: _Slopes, point: Point) -> _Step:
        """The step by the Hessian in w."""
        objective, (u, slope_sigma, t, _, _), h = self._objective, slopes, slopes.h
        total, balance, level, whole, bend = self._moments(slopes)
        matrix, mean = self._hessian(slopes)
        gradient = objective.backward(u) + 2.0 * self._c * point.w
        cross = total * level * mean - objective.backward(h * t)
        both = solver_for(matrix)(np.column_stack([gradient - mean * balance, cross]))
        right = slope_sigma + level * balance - dot(cross, both[:, 0].copy())
        dsigma = _quotient(-right, bend - dot(cross, both[:, 1].copy()), whole)
        dw = np.ascontiguousarray(-both[:, 0] - both[:, 1] * dsigma)
        db = 0.0
        if objective.intercept:
            db = -balance / total - dot(mean, dw) + level * dsigma
        slope = dot(gradient, dw) + balance * db + slope_sigma * dsigma
        dz = objective.forward(dw) + db
        return _Step(dw, db, dsigma, dz, slope, point.w + dw, u + h * (dz - t * dsigma))

    def _by_rows(self, slopes: _Slopes, point: Point) -> _Step:
        """The step by the multipliers p of the samples that have curvature."""
        objective, (u, slope_sigma, t, _, _), h = self._objective, slopes, slopes.h
        curved = h > 0
        t = t[curved]
        p = np.where(curved, 0.0, u)
        shift = point.b if objective.offset is None else point.b + objective.offset
        right = shift - objective.y - self._kernel.times(p)
        sides = np.column_stack([right[curved], np.ones_like(t), -t])
        each = self._kernel.solutions(curved, 1.0 / h[curved], sides)
        first, level, scale = (np.ascontiguousarray(column) for column in each.T)
        # Two equations for db and dσ; that of db is used up first.
        wanted, whole = slope_sigma + dot(t, u[curved]) - dot(t, first), -dot(t, scale)
        ones = float(level.sum()) if objective.intercept else np.inf
        missing, skew = float(p.sum() + first.sum()), float(scale.sum())
        db, by_sigma = -missing / ones, -skew / ones
        dsigma = _quotient(-wanted - skew * db, whole + skew * by_sigma, whole)
        db += by_sigma * dsigma
        p[curved] = first + db * level + dsigma * scale
        aim = -objective.backward(p) / (2.0 * self._c)
        dw = aim - point.w
        dz = shift - point.z - self._kernel.times(p)
        slope = dot(u, dz) + dot(2.0 * self._c * point.w, dw)
        slope += (float(u.sum()) if objective.intercept else 0.0) * db + slope_sigma * dsigma
        return _Step(dw, db, dsigma, dz + db, slope, aim, p)

    @cached_property
    def _kernel(self) -> RowKernel:
        """S."""
        return RowKernel(self._objective, 0.5 / self._c)

    def _hessian(self, slopes: _Slopes) -> Covariance:
        """The Hessian in w; of dense columns from the last one and the samples that crossed ε."""
        if self._kept is None:
            matrix, mean = self._objective.hessian(slopes.h)
        else:
            self._objective.meter.passes += 1
            matrix, mean = self._kept.at(slopes.rates)
            matrix *= slopes.unit
        matrix.flat[:: matrix.shape[0] + 1] += 2.0 * self._c
        return Covariance(matrix, mean)

    @cached_property
    def _kept(self) -> KeptHessian | None:
        design, free = self._objective.design, self._objective.intercept
        if not isinstance(design, DenseDesign):
            return None
        return KeptHessian(design.x, design.centre if free else np.zeros(design.shape[1]), free)

    def _moved(self, place: Place, step: _Step, halvings: int, least: float = 0.0) -> Place | None:
        """The longest of some halved steps along which F falls enough; None if none does.

        The first one leaves a share ``least`` of σ, if that is positive.
        """
        (w, b, z), sigma, length = place.point, place.sigma, 1.0
        if least > 0 and step.dsigma < (least - 1.0) * sigma:
            length = (least - 1.0) * sigma / step.dsigma
        for _ in range(1 + halvings):
            point = Point(w + length * step.dw, b + length * step.db, z + length * step.dz)
            scale = max(sigma + length * step.dsigma, _SHRINK * sigma)
            moved = self._at_best_scale(point, scale)
            if moved.value <= place.value + _ARMIJO * length * step.slope:
                return moved
            length *= 0.5
        return None


def _quotient(slope: float, bend: float, whole: float) -> float:
    """slope/bend; 0 where σ has no curvature of its own, up to rounding of the whole."""
    return slope / bend if bend > 16 * EPS * whole else 0.0


def _quotients(p: Array, mass: Array) -> Array:
    """p/mass; 0 for samples of mass 0."""
    return np.divide(p, mass, out=np.zeros_like(p), where=mass > 0)
