"""Newton's method for the coefficients, the intercept and the scale of the Huber loss together.

For F of `joint_scale`, with t = r/σ and the samples inside, |t| ≤ ε,

    ∂F/∂r = mass·2·clip(t, ±ε),   ∂F/∂σ = 1 − mean min(t², ε²),
    d²F = Σ inside (2/σ)·mass·(dr − t·dσ)² + 2c·dw²,   Ω(w) = Σ c·w²,

so that σ is one more column, −t, of a weighted least-squares problem. F is smooth in all of them,
with curvature that jumps where a sample crosses |t| = ε: steps with a line search end after a few.
After each, σ becomes the best one for its residuals, so that some samples are always inside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.linear_system import solver_for
from ..._base.typing import Array
from ...design.base import Covariance
from ...problem.objective import EPS, Objective, Point, dot
from ..base import Control
from .joint_scale import Scaled, best_scale

_STEPS = 50  # Newton steps; safeguard
_HALVINGS = 40  # of a step; safeguard
_ARMIJO = 1e-4  # share of the promised decrease that a step must bring; convention
_SHRINK = 0.1  # share of σ that a step leaves at least; safeguard


class Place(NamedTuple):
    """A model, its scale, and F there."""

    point: Point
    sigma: float
    value: float
    settled: bool = False  # whether Newton's equations promise nothing more than rounding


class _Step(NamedTuple):
    dw: Array
    db: float
    dsigma: float
    slope: float  # of F along the step


class JointNewton:
    """Steps in w, b and σ; in b and σ alone with ``fixed``."""

    def __init__(self, scaled: Scaled, *, fixed: bool = False) -> None:
        form = scaled.objective.penalty.sum_over_features
        assert form is not None
        self._objective: Objective = scaled.objective
        self._epsilon, self._fixed = scaled.epsilon, fixed
        self._c = form.l2 / scaled.sigma

    def best_from(self, point: Point, sigma: float, control: Control | None = None) -> Place:
        """The last point of the steps; F never rises, and σ stays positive."""
        place = self._at_best_scale(point, sigma)
        for _ in range(_STEPS):
            step = self._step(place)
            if step is None:
                break
            if not -step.slope > 4 * EPS * abs(place.value):
                return place._replace(settled=True)
            moved = self._moved(place, step)
            if moved is None or (control is not None and control.expired):
                break
            place = moved
        return place

    def _at_best_scale(self, point: Point, sigma: float) -> Place:
        """A model with the better of a given scale and the best one for its residuals."""
        r = self._residual(point.z)
        place = Place(point, sigma, self._value(point.w, r, sigma))
        best = best_scale(r, self._objective.mass, self._epsilon)
        if not best > 0:
            return place
        other = Place(point, best, self._value(point.w, r, best))
        return other if other.value <= place.value else place

    def _residual(self, z: Array) -> Array:
        return z - self._objective.y

    def _value(self, w: Array, r: Array, sigma: float) -> float:
        t, epsilon = np.abs(r) / sigma, self._epsilon
        inside = np.minimum(t, epsilon)
        huber = inside * (2.0 * t - inside)
        return sigma * (1.0 + self._objective.mean(huber)) + dot(self._c * w, w)

    def _step(self, place: Place) -> _Step | None:
        """The solution of Newton's equations; None if no sample is inside."""
        objective, (w, _, z), sigma = self._objective, place.point, place.sigma
        mass, t = objective.mass, self._residual(z) / sigma
        clipped = np.clip(t, -self._epsilon, self._epsilon)
        h = np.where(clipped == t, (2.0 / sigma) * mass, 0.0)
        total = float(h.sum())
        if not total > 0:
            return None
        u = 2.0 * mass * clipped
        balance = float(u.sum()) if objective.intercept else 0.0
        slope_sigma = 1.0 - dot(mass, clipped * clipped)
        ht = h * t
        level = float(ht.sum()) / total if objective.intercept else 0.0
        whole = dot(ht, t)
        bend = whole - total * level * level
        if self._fixed:
            dw, gradient, mean, cross = (np.zeros_like(w) for _ in range(4))
            dsigma = _quotient(-slope_sigma - level * balance, bend, whole)
        else:
            matrix, mean = self._hessian(h)
            gradient = objective.backward(u) + 2.0 * self._c * w
            cross = total * level * mean - objective.backward(ht)
            inverse = solver_for(matrix)
            both = inverse(np.column_stack([gradient - mean * balance, cross]))
            right = slope_sigma + level * balance - dot(cross, both[:, 0].copy())
            dsigma = _quotient(-right, bend - dot(cross, both[:, 1].copy()), whole)
            dw = -both[:, 0] - both[:, 1] * dsigma
        db = 0.0
        if objective.intercept:
            db = -balance / total - dot(mean, dw) + level * dsigma
        slope = dot(gradient, np.ascontiguousarray(dw)) + balance * db + slope_sigma * dsigma
        return _Step(np.ascontiguousarray(dw), db, dsigma, slope)

    def _hessian(self, h: Array) -> Covariance:
        matrix, mean = self._objective.hessian(h)
        matrix.flat[:: matrix.shape[0] + 1] += 2.0 * self._c
        return Covariance(matrix, mean)

    def _moved(self, place: Place, step: _Step) -> Place | None:
        """The longest of some halved steps along which F falls enough; None if none does."""
        objective, (w, b, z), sigma = self._objective, place.point, place.sigma
        dz = objective.forward(step.dw) + step.db if not self._fixed else step.db
        length = 1.0
        if step.dsigma < (_SHRINK - 1.0) * sigma:
            length = (_SHRINK - 1.0) * sigma / step.dsigma
        for _ in range(_HALVINGS):
            scores, new = z + length * dz, sigma + length * step.dsigma
            moved = w + length * step.dw
            value = self._value(moved, self._residual(scores), new)
            if value <= place.value + _ARMIJO * length * step.slope:
                return self._at_best_scale(Point(moved, b + length * step.db, scores), new)
            length *= 0.5
        return None


def _quotient(slope: float, bend: float, whole: float) -> float:
    """slope/bend; 0 where σ has no curvature of its own, up to rounding of the whole."""
    return slope / bend if bend > 16 * EPS * whole else 0.0
