"""The dual of a kernel machine with a piecewise linear loss: a quadratic over a box.

    minimise   ½ aᵀK a − Σ gainᵢ(aᵢ)     over   low ≤ a ≤ high

gainᵢ(t) is above·t for t ≥ 0 and below·t for t ≤ 0. With a free level b the sum of a over each
group is fixed. The primal problem is, with f = K a and the level of the group of i,

    ½ aᵀK a + Σ lossᵢ(fᵢ + b) + Σ_groups b·(sum of a),    lossᵢ(z) = max over t of gainᵢ(t) − t·z,

and the gap of any a in the box is the sum of lossᵢ(fᵢ + b) − gainᵢ(aᵢ) + aᵢ·(fᵢ + b), which are
Fenchel-Young terms, none of them negative.

Where all gains are zero the losses are as many times as large for a multiple of f and b. A model
that is divided by its margin stands for all its multiples, so that its gap is that of the best:
with T the sum of the terms at f itself and q = aᵀK a, the multiple is max(0, 1 − T/q), and the gap
T·(1 − T/2q), or q/2 if the multiple is zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._base.typing import AnyArray, Array

_CROSSING = 1e-12  # share of the sum of weights: a slope that counts as zero; safeguard


class BoxSteps(NamedTuple):
    """What a run of `Box.steps` did."""

    violation: float  # of the positions that may move, in units of the scores
    steps: int
    blocks: int


class Box(NamedTuple):
    """Bounds and slopes of every position, with low ≤ 0 ≤ high and above ≤ below.

    Examples
    --------
    The hinge loss of one positive and one negative sample:

    >>> import numpy as np
    >>> from minimand.canonical import Box
    >>> y, zeros = np.array([1.0, -1.0]), np.zeros(2)
    >>> box = Box(np.minimum(y, 0), np.maximum(y, 0), y, y, np.zeros(2, np.uint8), True)
    >>> a, f = np.zeros(2), np.zeros(2)
    >>> box.steps(np.eye(2), a, f, 1e-9).violation <= 1e-9
    True
    >>> a, box.gap(a, f, box.levels(a, f))
    (array([ 1., -1.]), 0.0)
    """

    low: Array
    high: Array
    below: Array
    above: Array
    group: AnyArray  # 0 or 1, uint8
    balanced: bool  # whether there is a free level, one for every group
    scaled: bool = False  # whether gaps are those of the best multiple; all gains must be zero

    def steps(
        self, rows: AnyArray, a: Array, f: Array, goal: float, block: int = 256, most: int = 10**9
    ) -> BoxSteps:
        """Move the first positions, whose rows of K are given, until they violate at most goal."""
        return BoxSteps(*_core.box_steps(rows, self[:5], self.balanced, a, f, goal, block, most))

    def slopes(self, a: Array, f: Array) -> tuple[Array, Array]:
        """By how much the objective falls per unit if aᵢ grows, and rises if it shrinks.

        Where aᵢ cannot move they are −inf and inf.
        """
        up = np.where(a < 0, self.below, self.above) - f
        down = np.where(a > 0, self.above, self.below) - f
        up[a >= self.high] = -np.inf
        down[a <= self.low] = np.inf
        return up, down

    def losses(self, z: Array) -> Array:
        """lossᵢ(zᵢ)."""
        lines = np.maximum(self.high * (self.above - z), self.low * (self.below - z))
        return np.maximum(lines, 0.0, out=lines)

    def gains(self, a: Array) -> Array:
        """gainᵢ(aᵢ)."""
        return a * np.where(a > 0, self.above, self.below)

    def gap(self, a: Array, f: Array, levels: Array) -> float:
        """The gap of f and the given level of each group, or of their best multiple."""
        found = float(self.terms(a, f, levels).sum())
        return float(self.best_multiple(np.array(found), np.array(a @ f))) if self.scaled else found

    @staticmethod
    def best_multiple(terms: Array, square: Array) -> Array:
        """The gap of the best multiple, from the sum of the terms and aᵀK a."""
        with np.errstate(divide="ignore", invalid="ignore"):
            partly = terms * (1.0 - 0.5 * terms / square)
        return np.where(terms < square, partly, 0.5 * np.maximum(square, 0.0))

    def terms(self, a: Array, f: Array, levels: Array) -> Array:
        """The Fenchel-Young terms of all positions."""
        z = f + levels[self.group]
        own = a * (np.where(a > 0, self.above, self.below) - z)
        return np.maximum(self.losses(z) - own, 0.0)

    def rounding(self, a: Array, f: Array) -> float:
        """An estimate of the rounding of the gap: 8 ulp (safeguard) of the size of its terms."""
        return float(self.roundings(a, f).sum())

    def roundings(self, a: Array, f: Array) -> Array:
        """The rounding of every term of the gap."""
        sizes = np.abs(f) + np.maximum(np.abs(self.above), np.abs(self.below))
        return 8 * float(np.finfo(float).eps) * np.maximum(self.high, -self.low) * sizes

    def levels(self, a: Array, f: Array) -> Array:
        """The level b of each group that minimises its losses exactly; 0 without a free level."""
        if not self.balanced:
            return np.zeros(2)
        if not self.group.any():
            return np.array([self._level(a, f, slice(None)), 0.0])
        groups = (self.group == 0, self.group == 1)
        return np.array([self._level(a, f, here) if here.any() else 0.0 for here in groups])

    def _level(self, a: Array, f: Array, here: Any) -> float:
        """Where the slope of Σ lossᵢ(fᵢ + b) + b·Σa crosses zero: the middle of all such b."""
        high, low = self.high[here], -self.low[here]
        points = np.concatenate([self.above[here] - f[here], self.below[here] - f[here]])
        weights = np.concatenate([high, low])
        points, weights = points[weights > 0], weights[weights > 0]
        if not points.size:
            return 0.0
        order = np.argsort(points)
        points, passed = points[order], np.cumsum(weights[order])
        wanted, slack = float(high.sum() - a[here].sum()), _CROSSING * float(passed[-1])
        first = int(np.searchsorted(passed, wanted - slack))
        last = int(np.searchsorted(passed, wanted + slack, side="right"))
        ends = [points[k] for k in (first, last) if k < points.size]
        if wanted <= slack:  # the losses never fall: any b up to the first point is best
            return float(points[0])
        return float(sum(ends) / len(ends)) if ends else float(points[-1])

    def taken(self, order: AnyArray) -> Box:
        """The same positions in another order."""
        low, high, below, above, group = (np.ascontiguousarray(part[order]) for part in self[:5])
        return Box(low, high, below, above, group, self.balanced, self.scaled)

    def with_sums(self, a: Array, sums: tuple[float, float] = (0.0, 0.0)) -> Array:
        """The coefficients without what rounding has added to the sum of each group, in place."""
        for g in (0, 1) if self.balanced else ():
            here = np.flatnonzero(self.group == g)
            if here.size:
                free = here[np.argmax(np.minimum(a - self.low, self.high - a)[here])]
                rest = a[free] - (float(a[here].sum()) - sums[g])
                a[free] = min(max(rest, self.low[free]), self.high[free])
        return a
