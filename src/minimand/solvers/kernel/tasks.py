"""Kernel machines on libsvm's scale as box problems: SVC and SVR, ν-SVC and ν-SVR, one class.

In those with a share ν of support vectors the sum of coefficients in each group is given, so that
there are two free levels (an intercept and a margin or a tube) or one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ...canonical import Box


@dataclass(frozen=True, eq=False)
class BoxTask:
    """A box problem, where its solution begins, and the unit of its gap."""

    box: Box
    start: Array
    rows: IntArray  # of the machine's samples, for every position
    words: str  # the objective
    unit: float
    share: float = 0.0  # of ½‖f‖², which is the unit if it is more than ``unit``
    bounds: Array | None = None  # of the coefficients, for multipliers of the samples

    def scale(self, a: Array, f: Array) -> float:
        """The unit of the gap at a point."""
        return max(self.unit, self.share * 0.5 * abs(float(a @ f))) if self.share else self.unit

    def dual_point(self, a: Array) -> Array:
        """The multipliers, −a over the bounds where a sample has one."""
        if self.bounds is None:
            return -a
        return np.divide(-a, self.bounds, out=np.zeros(a.size), where=self.bounds > 0)


def classes(y: Array, bounds: Array) -> BoxTask:
    """SVC with y = ±1: min ½‖f‖² + Σ boundsᵢ·max(0, 1 − yᵢ(f(xᵢ) + b)); the level is b."""
    group, words = np.zeros(y.size, np.uint8), "½‖f‖² + C·Σ s·max(0, 1 − y(f + b))"
    signed = bounds * y
    box = Box(np.minimum(signed, 0.0), np.maximum(signed, 0.0), y, y, group, True)
    # The loss of f = 0: b = ±1 is best, for the class that weighs more.
    unit = 2.0 * float(min(box.high.sum(), -box.low.sum()))
    return BoxTask(box, np.zeros(y.size), np.arange(y.size), words, unit, bounds=bounds)


def regression(y: Array, bounds: Array, epsilon: float) -> BoxTask:
    """SVR: min ½‖f‖² + Σ boundsᵢ·max(0, |yᵢ − f(xᵢ) − b| − ε); the level is b."""
    box = Box(-bounds, bounds, y + epsilon, y - epsilon, np.zeros(y.size, np.uint8), True)
    zero, words = np.zeros(y.size), "½‖f‖² + C·Σ s·max(0, |y − f − b| − ε)"
    unit = box.gap(zero, zero, box.levels(zero, zero))  # the loss of f = 0
    return BoxTask(box, zero, np.arange(y.size), words, unit, bounds=bounds)


def nu_classes(y: Array, weights: Array, nu: float, lengths: Array) -> BoxTask:
    """ν-SVC with y = ±1: min ½‖f‖² − ν·W·ρ + Σ sᵢ·max(0, ρ − yᵢ(f(xᵢ) + b)), W = Σs.

    The levels of the groups, y = 1 and y = −1, are b − ρ and b + ρ. ``lengths`` are k(xᵢ, xᵢ).
    As the model is divided by ρ, its gap is that of its best multiple.
    """
    low, high = np.minimum(weights * y, 0.0), np.maximum(weights * y, 0.0)
    group, zero = (y < 0).astype(np.uint8), np.zeros(y.size)
    half = 0.5 * nu * float(weights.sum())
    start = y * _filled(weights, [y < 0, y > 0], [half, half])
    words = "½‖f‖² − ν·Σs·ρ + Σ s·max(0, ρ − y(f + b))"
    box, unit = Box(low, high, zero, zero, group, True, True), _least(lengths, weights, nu)
    return BoxTask(box, start, np.arange(y.size), words, unit, share=1.0)


def one_class(weights: Array, nu: float, lengths: Array) -> BoxTask:
    """The one-class machine: min ½‖f‖² − ν·W·ρ + Σ sᵢ·max(0, ρ − f(xᵢ)); the level is −ρ."""
    zero, group = np.zeros(weights.size), np.zeros(weights.size, np.uint8)
    start = _filled(weights, [weights > 0], [nu * float(weights.sum())])
    words = "½‖f‖² − ν·Σs·ρ + Σ s·max(0, ρ − f)"
    box, unit = Box(zero, weights, zero, zero, group, True), _least(lengths, weights, nu)
    return BoxTask(box, start, np.arange(weights.size), words, unit, share=1.0)


def nu_regression(y: Array, weights: Array, nu: float) -> BoxTask:
    """ν-SVR: min ½‖f‖² + ν·W·ε + Σ sᵢ·max(0, |yᵢ − f(xᵢ) − b| − ε), with weights sᵢ = C·sample's.

    Every sample has two coefficients, for residuals above and below the tube; a has the first of
    all samples before the second. The levels are b + ε and b − ε.
    """
    n = y.size
    twice, zero = np.tile(y, 2), np.zeros(n)
    group = np.repeat(np.array([0, 1], np.uint8), n)
    box = Box(np.append(zero, -weights), np.append(weights, zero), twice, twice, group, True)
    a = _filled(weights, [weights > 0], [0.5 * nu * float(weights.sum())])
    start, null = np.append(a, -a), np.zeros(2 * n)  # f = 0
    levels = box.levels(start, null)
    unit = float(box.losses(levels[group]).sum() + levels @ np.array([a.sum(), -a.sum()]))
    words = "½‖f‖² + ν·Σs·ε + Σ s·max(0, |y − f − b| − ε)"
    return BoxTask(box, start, np.tile(np.arange(n), 2), words, unit)


def _least(lengths: Array, weights: Array, nu: float) -> float:
    """½‖f‖² of orthogonal features, the least unit of a gap.

    The unit is ½‖f‖², which is what f = 0 is from the optimum; but f vanishes at the optimum where
    no margin is possible, and is no unit then.
    """
    sizes = float(weights.max()) * float(lengths.max())
    return 0.5 * nu * float(weights.sum()) * sizes


def _filled(weights: Array, groups: list[BoolArray], sums: list[float]) -> Array:
    """Coefficients up to the weights that sum to what each group needs, from the first on."""
    a = np.zeros(weights.size)
    for here, total in zip(groups, sums):
        passed = np.cumsum(weights[here])
        a[here] = np.clip(total - (passed - weights[here]), 0.0, weights[here])
    return a
