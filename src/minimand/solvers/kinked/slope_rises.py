"""Piecewise linear-quadratic functions for an interior-point method: the risers of ψ'.

ψ' starts with the slope of one piece and rises from there: by a jump at a kink, linearly along a
curved piece, without limit at a bound. Each such rise is a *riser*. So

    ψ'(t) = base + Σ side·v,   0 ≤ v ≤ height,   side·(t − knot) − bend·v = p − q,

with p, q ≥ 0, q·v = 0 and p·(height − v) = 0: a sum of risers, each with one number v between
bounds. An interior point keeps v and the slacks positive and lets their products shrink together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ...losses import Pieces
from ...penalties import Separable


class Riser:
    """One riser of many functions at once, with its slacks and its part of Newton's system.

    Parameters
    ----------
    side : 1.0 where ψ' rises to the right of the knot, −1.0 where it falls to the left of it.
    knot, height : where it begins, and how far it rises (inf: without end).
    bend : 1/curvature of a curved piece; 0 at a kink.
    weight : the weight of its products in the gap.
    share : the product that it aims at, in units of μ.
    where : which functions have it; None if all have.
    """

    def __init__(
        self,
        side: float,
        knot: float | Array,
        height: float | Array,
        *,
        bend: float = 0.0,
        weight: Array | float = 1.0,
        share: float = 1.0,
        where: IntArray | None = None,
    ) -> None:
        self.side, self.knot, self.height, self.bend = side, knot, height, bend
        self.weight, self.share, self.where = weight, share, where
        self.ends = bool(np.all(np.isfinite(height)))

    def begin(self, t: Array, width: Array, size: Array) -> None:
        """Start well inside: slacks ≥ ``width``, v in the middle (``size`` if height is inf)."""
        tau = self._tau(t)
        self.width = width = self._mine(width)
        self.size = self._mine(size)
        if self.ends:
            self.v = 0.5 * self.height + np.zeros_like(tau)
            self.s = self.v.copy()
            left = tau - self.bend * self.v
            self.p = np.maximum(left, 0.0) + width
            self.q = np.maximum(-left, 0.0) + width
        elif self.bend:
            self.v = (np.maximum(tau, 0.0) + width) / self.bend
            self.q = self.bend * self.v - tau
        else:
            self.v = self.size.copy()
            self.q = np.maximum(-tau, width)

    def _mine(self, values: Array) -> Array:
        return values if self.where is None else values[self.where]

    def _tau(self, t: Array) -> Array:
        return self.side * (self._mine(t) - self.knot)

    def add_to(self, total: Array, values: Array) -> None:
        """total += side·values, for the functions that have this riser."""
        if self.side < 0:
            values = -values
        if self.where is None:
            total += values
        else:
            total[self.where] += values

    def stays(self) -> BoolArray:
        """Where both slacks vanish before v reaches an end: t stops on the knot."""
        if self.ends:
            share = np.minimum(self.v, self.s) / self.height
            return share > np.maximum(self.p, self.q) / self.width
        return self.v / self.size > self.q / self.width

    def followed(self, t: Array) -> tuple[Array, BoolArray]:
        """v of a curved piece at t, and where it lies between the ends."""
        v = self._tau(t) / self.bend
        return np.clip(v, 0.0, self.height), (v > 0) & (v < self.height)

    @property
    def products(self) -> float:
        """Σ weight·(v·q + (height − v)·p): its part of the gap, if everything else agrees."""
        total = self.v * self.q
        if self.ends:
            total += self.s * self.p
        return float((self.weight * total).sum())

    @property
    def measure(self) -> float:
        """The sum of the products at μ = 1."""
        count = 1.0 + self.ends
        return float(np.sum(self.weight + np.zeros_like(self.v))) * self.share * count

    def linearise(self, t: Array) -> None:
        """Newton's equations at μ = 0, reduced to Δv = rate·(side·Δt + pull)."""
        stiff = self.q / self.v
        if self.ends:
            stiff += self.p / self.s
        if self.bend:
            stiff += self.bend
        self.rate = 1.0 / stiff
        self.lag = self._tau(t)
        if self.bend:
            self.lag -= self.bend * self.v
        self.pull = self.lag
        self.goal_q = -self.v * self.q
        self.goal_p = -self.s * self.p if self.ends else None

    def recentre(self, mu: float) -> None:
        """The same at a given μ, with the second-order terms of the predictor step."""
        self.goal_q = self.share * mu - self.v * self.q - self.dv * self.dq
        self.pull = self.lag + self.q + self.goal_q / self.v
        if self.ends:
            self.goal_p = self.share * mu - self.s * self.p + self.dv * self.dp
            self.pull -= self.p + self.goal_p / self.s

    def follow(self, dt: Array) -> None:
        """The change of v and the slacks due to a step of t."""
        self.dv = self.rate * (self.side * self._mine(dt) + self.pull)
        self.dq = (self.goal_q - self.q * self.dv) / self.v
        if self.ends:
            assert self.goal_p is not None
            self.dp = (self.goal_p + self.p * self.dv) / self.s

    def room(self) -> tuple[float, float]:
        """How far v, and the slacks p and q, can move along the step."""
        dual, primal = _room(self.v, self.dv), _room(self.q, self.dq)
        if self.ends:
            dual = min(dual, _room(self.s, -self.dv))
            primal = min(primal, _room(self.p, self.dp))
        return dual, primal

    def products_after(self, dual: float, primal: float) -> float:
        """The products after a step of these lengths."""
        total = (self.v + dual * self.dv) * (self.q + primal * self.dq)
        if self.ends:
            total += (self.s - dual * self.dv) * (self.p + primal * self.dp)
        return float((self.weight * total).sum())

    def move(self, dual: float, primal: float) -> None:
        """Take the step."""
        self.v += dual * self.dv
        self.q += primal * self.dq
        if self.ends:
            self.s = np.maximum(self.s - dual * self.dv, 0.0)
            self.p += primal * self.dp


class Rises(NamedTuple):
    """Many functions of one form: ψ' = base + Σ of their risers."""

    base: float | Array
    risers: list[Riser]

    def slope(self, size: int) -> Array:
        """ψ' as the risers represent it."""
        total = np.zeros(size) + self.base
        for riser in self.risers:
            riser.add_to(total, riser.v)
        return total

    def system(self, t: Array) -> tuple[Array, Array]:
        """Σ rates, and Σ side·(v + rate·pull) + base: the slope after a step with Δt = 0."""
        for riser in self.risers:
            riser.linearise(t)
        rate = np.zeros(t.size)
        for riser in self.risers:
            if riser.where is None:
                rate += riser.rate
            else:
                rate[riser.where] += riser.rate
        return rate, self.pulled(t.size)

    def pulled(self, size: int) -> Array:
        """Σ side·(v + rate·pull) + base."""
        total = np.zeros(size) + self.base
        for riser in self.risers:
            riser.add_to(total, riser.v + riser.rate * riser.pull)
        return total


def of_pieces(pieces: Pieces, mass: Array) -> Rises:
    """The risers of a loss: its kinks and curved pieces, from left to right."""
    knots, curvatures = pieces.knots, pieces.curvatures
    risers = []
    if curvatures[0] > 0:
        risers.append(Riser(-1.0, float(knots[0]), np.inf, bend=1 / curvatures[0], weight=mass))
    ends = np.append(np.diff(knots), np.inf)
    for knot, jump, curvature, width in zip(knots, pieces.jumps, curvatures[1:], ends):
        if jump > 0:
            risers.append(Riser(1.0, float(knot), float(jump), weight=mass))
        if curvature > 0:
            height = float(curvature * width)
            risers.append(Riser(1.0, float(knot), height, bend=1 / curvature, weight=mass))
    return Rises(float(pieces.left[0]), risers)


def of_penalty(form: Separable, share: float) -> Rises:
    """The risers of l1|w| and of bounds; the l2 part is not among them."""
    risers = []
    kinked = np.flatnonzero(form.l1 > 0)
    if kinked.size:
        risers.append(Riser(1.0, 0.0, 2 * form.l1[kinked], share=share, where=kinked))
    if form.bounds is not None:
        lo, hi = form.bounds
        for side, bound in ((-1.0, lo), (1.0, hi)):
            bounded = np.flatnonzero(np.isfinite(bound) & (lo < hi))
            if bounded.size:
                risers.append(Riser(side, bound[bounded], np.inf, share=share, where=bounded))
    return Rises(-form.l1, risers)


def _room(x: Array, dx: Array) -> float:
    """The largest step that keeps x ≥ 0."""
    fastest = float((dx / x).min(initial=0.0))
    return -1.0 / fastest if fastest < 0 else np.inf
