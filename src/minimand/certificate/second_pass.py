"""An estimate of the optimum from sums over one pass, where a second pass takes its dual points.

The gradient at a roughly trained model proves little if the penalty is weak, since its slope must
cancel that of the penalty. The minimiser of the quadratic model

    ½(v − w)ᵀH(v − w) + slopeᵀ(v − w) + Ω(v),   H = Σ mass·ℓ''·xxᵀ, the intercept eliminated,

is a Newton step nearer to the optimum, and the gap that gradients there prove is off by the square
of the step's error. Every dual point is valid, so the certificate does not depend on the step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from ..canonical import Quadratic
from ..design import Design
from ..losses import Loss
from ..penalties import BoundPenalty

MOST_COLUMNS = 1000  # columns; safeguard of memory: d×d numbers
_ROUNDS = 50  # rounds of sweeps and a Newton step on the support; safeguard
_SWEEPS = 20  # sweeps per round; safeguard


class Aim(NamedTuple):
    """A model near which the optimum is expected."""

    w: Array
    b: float


class Curve:
    """The second derivative of the loss at a model, summed over a pass."""

    def __init__(self, loss: Loss, d: int) -> None:
        self._loss = loss
        self._gram, self._first, self._total = np.zeros((d, d)), np.zeros(d), 0.0

    def add(self, design: Design, z: Array, y: Array, weight: Array) -> None:
        """Add rows, at their scores."""
        h = weight * self._loss.curvature(z, y)
        self._gram += design.gram(h)
        self._first += design.rmatvec(h)
        self._total += float(h.sum())

    def aim(
        self, w: Array, b: float, slope: Array, balance: float, penalty: BoundPenalty, weight: float
    ) -> Aim | None:
        """The minimiser of the quadratic model, for Σ weight·(slopes in w, and in b if it is free).

        None if the penalty is no sum over features, or the sums are not finite.
        """
        form = penalty.sum_over_features
        gram, first, slope = self._gram / weight, self._first / weight, slope / weight
        total, balance = self._total / weight, balance / weight
        if form is None or not np.isfinite(gram).all() or not np.isfinite(slope).all():
            return None
        free = balance != 0 and total > 0
        if free:
            gram = gram - np.outer(first, first) / total
            slope = slope - first * (balance / total)
        model, v = Quadratic(gram, slope - gram @ w), w.copy()
        for _ in range(_ROUNDS):
            done = model.descend(form, v, _SWEEPS, 0.0)
            if not (model.polish(form, v) and done.decrease > 0):
                break
        shift = -(balance + float(first @ (v - w))) / total if free else 0.0
        return Aim(v, b + shift) if np.isfinite(v).all() and np.isfinite(shift) else None
