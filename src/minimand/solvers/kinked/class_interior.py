"""Interior points for the largest class margin: one simplex of multipliers for every row.

ℓ = a·(max_c h_c − h_y), h_c = Δ(y, c) + z_c, is the least a·(top − h_y) with slacks
q_c = top − h_c ≥ 0. Its multipliers p ≥ 0 add up to a, and p_c·q_c = 0 at the optimum. An interior
point keeps p and q positive and lets their products shrink together. With D = p/q, Newton's
equations of a row reduce to Δp = (diag(D) − DDᵀ/ΣD) Δz + …, the curvature of a softmax, so that the
system in W and b is that of Newton's method for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ...losses.curvature import Simplex
from ...losses.joint.class_margins import ClassMargins, class_numbers
from ...penalties import Separable
from ...problem.objective import Objective, Point
from ..base import Control
from ..smooth.newton_scores import ScoresCholesky
from .slope_rises import largest_step

_NEAREST = 0.9995  # share of the way to the boundary that a step may go; convention
_NARROWEST = 1e-2  # slacks of a warm start, in units of the loss of the null model; safeguard
_LEAST = 1e-290  # least multiplier, slack and width; safeguard: their ratios are finite


class _Step(NamedTuple):
    """A step of everything."""

    dw: Array
    db: Array
    dz: Array
    dp: Array
    dq: Array


class ClassInteriorPoint:
    """A point strictly inside all bounds, and the step that moves it along the central path."""

    def __init__(
        self, objective: Objective, form: Separable, start: Point, control: Control
    ) -> None:
        assert isinstance(objective.loss, ClassMargins)
        k = objective.n_scores
        self._objective, self._form = objective, form
        self._system = ScoresCholesky(objective, form, control)
        labels = class_numbers(objective.y)
        self._own = labels[:, None] == np.arange(k)
        self._cost = objective.loss.costs(k)[labels]
        self._height = float(objective.loss.order_weights(k)[0])  # a
        self.w, self.b = start.w.copy(), np.array(start.b, dtype=float)
        self._z = start.z.copy()
        reached = self._cost + self._z
        highest = reached.max(axis=1)
        # Slacks of the size of the loss at the start, multipliers all alike.
        lost = objective.mean(highest - reached[self._own])
        width = max(lost, _NARROWEST * objective.null_loss / self._height, _LEAST)
        self._q = (highest + width)[:, None] - reached
        self._p = np.full_like(self._q, self._height / k)

    @property
    def products(self) -> float:
        """Σ mass·p·q: the gap that is left once the slopes of the dual agree."""
        return self._total(self._p * self._q)

    @property
    def theta(self) -> Array:
        """Multipliers of the samples."""
        return np.where(self._own, self._p - self._height, self._p)

    @property
    def point(self) -> Point:
        """The model, its scores computed anew."""
        return self._objective.point(self.w.copy(), self.b - self.b.mean())

    def step(self) -> float:
        """One predictor and one corrector step; returns the length of the step."""
        rate = self._p / self._q
        total = rate.sum(axis=1)
        law = rate / total[:, None]
        curvature = Simplex(law, total)
        solve = self._system.solver(curvature.weighted(self._objective.mass))
        before = self.products

        def towards(goal: Array) -> _Step:
            """Newton's step for products p·q + goal."""
            pull = goal / self._q
            pull -= law * pull.sum(axis=1, keepdims=True)
            u = self._objective.weigh(self.theta + pull)
            gradient = self._objective.backward(u) + self._form.l2 * self.w
            dw, db, dz = solve(gradient, u.sum(axis=0))
            dp = pull + curvature.times(dz)
            # From p·Δq + q·Δp = goal: accurate where p is large.
            return _Step(dw, db, dz, dp, (goal - self._q * dp) / self._p)

        ahead = towards(-self._p * self._q)
        length = min(1.0, *self._room(ahead))
        after = self._total((self._p + length * ahead.dp) * (self._q + length * ahead.dq))
        centring = (max(after, 0.0) / before) ** 3
        mu = centring * before / (self._p.shape[1] * float(self._objective.mass.sum()))
        step = towards(mu - self._p * self._q - ahead.dp * ahead.dq)
        length = min(1.0, *(_NEAREST * room for room in self._room(step)))
        self._move(step, length)
        return length

    def _room(self, step: _Step) -> tuple[float, float]:
        return largest_step(self._p, step.dp), largest_step(self._q, step.dq)

    def _move(self, step: _Step, length: float) -> None:
        self.w += length * step.dw
        self.b += length * step.db
        self._z += length * step.dz
        self._p = np.maximum(self._p + length * step.dp, _LEAST)
        self._p *= self._height / self._p.sum(axis=1, keepdims=True)
        self._q = np.maximum(self._q + length * step.dq, _LEAST)

    def _total(self, products: Array) -> float:
        return self._objective.mean(products.sum(axis=1))
