"""Piecewise linear-quadratic functions for an interior-point method: the risers of ψ'.

ψ' starts with the slope of one piece and rises from there: by a jump at a kink, linearly along a
curved piece, without limit at a bound. Each such rise is a *riser*. So

    ψ'(t) = base + Σ side·v,   0 ≤ v ≤ height,   side·(t − knot) − bend·v = p − q,

with p, q ≥ 0, q·v = 0 and p·s = 0 for s = height − v: a sum of risers, each with one number v
between bounds. An interior point keeps v, s and the slacks positive and lets their products shrink
together.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ...losses import Pieces
from ...penalties import Separable


class Rises:
    """Many functions ψ of one form, ψ' = base + Σ of their risers, and their part in a step.

    Along the first axis of all arrays are risers, those that have an end before those that have
    none. Every riser has a pair (v, q), and one with an end a pair (s, p) too: ``_dual`` holds all
    v and then all s, ``_primal`` all q and then all p.

    Parameters
    ----------
    base : the slope from which ψ' rises.
    side : 1.0 where ψ' rises to the right of the knot, −1.0 where it falls to the left of it.
    knot, height : where a riser begins, and how far it rises (inf: without end).
    bend : 1/curvature of a curved piece; 0 at a kink.
    weight : the weight of the products of a function in the gap.
    share : the product that a pair aims at, in units of μ.
    where : which function every riser belongs to; None if each function has all of them.
    """

    def __init__(
        self,
        base: float | Array,
        side: Array,
        knot: Array,
        height: Array,
        bend: Array,
        *,
        weight: float | Array = 1.0,
        share: float = 1.0,
        where: IntArray | None = None,
    ) -> None:
        self.base, self.side, self.knot, self.bend = base, side, knot, bend
        self.weight, self.share, self.where = weight, share, where
        self.count = len(side)
        self._ended = int(np.isfinite(height).sum())  # the first so many have an end
        self._height = height[: self._ended]

    def begin(self, t: Array, width: Array, size: Array) -> None:
        """Start well inside: slacks ≥ ``width``, v in the middle (``size`` if height is inf)."""
        if not self.count:
            self._width = self._size = np.empty(0)
            self._dual, self._primal = np.empty(0), np.empty(0)
            return
        tau, ended = self._tau(t), self._ended
        self._width = width = self._mine(width) + np.zeros_like(tau)
        self._size = self._mine(size) + np.zeros_like(tau)
        middle = 0.5 * self._height + np.zeros_like(tau[:ended])
        left = tau[:ended] - self.bend[:ended] * middle
        p, q = (np.maximum(part, 0.0) + width[:ended] for part in (left, -left))
        if ended == self.count:
            self._dual, self._primal = np.concatenate([middle, middle]), np.concatenate([q, p])
            return
        tau, width, bend = tau[ended:], width[ended:], self.bend[ended:]
        curved = bend > 0
        along = (np.maximum(tau, 0.0) + width) / np.where(curved, bend, 1.0)
        endless = np.where(curved, along, self._size[ended:])
        slack = np.where(curved, bend * along - tau, np.maximum(-tau, width))
        self._dual = np.concatenate([middle, endless, middle])
        self._primal = np.concatenate([q, slack, p])

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What `_core.interior_walk` takes: the constants, and the pairs, which it changes."""
        base = np.atleast_1d(np.asarray(self.base, dtype=float))
        one = np.ndim(self.weight) == 0
        return (
            base,
            self.side.ravel(),
            self.knot.ravel(),
            self.bend.ravel(),
            self._height.ravel(),
            np.empty(0, dtype=np.int64) if self.where is None else self.where,
            np.empty(0) if one else self.weight,
            self.share,
            self._dual,
            self._primal,
        )

    @property
    def v(self) -> Array:
        """How far every riser has gone."""
        return self._dual[: self.count]

    @property
    def measure(self) -> float:
        """The sum of the products at μ = 1."""
        return float(np.sum(self.weight)) * self.share * len(self._dual)

    @property
    def products(self) -> float:
        """Σ weight·(v·q + s·p): their part of the gap, if everything else agrees."""
        return self._gap(self._dual * self._primal)

    def slope(self, t: Array) -> Array:
        """ψ' as the risers represent it."""
        return self._summed(self.v, t)

    def stays(self) -> BoolArray:
        """Where both slacks vanish before v reaches an end: t stops on the knot."""
        ended, count = self._ended, self.count
        near, far = self.v / self._size, self._primal[:count].copy()
        near[:ended] = np.minimum(self.v[:ended], self._dual[count:]) / self._height
        far[:ended] = np.maximum(far[:ended], self._primal[count:])
        return near > far / self._width

    def ahead(self, t: Array) -> tuple[Array, BoolArray, BoolArray]:
        """The v that risers are heading for; which follow a curve at t; at which kinks t stops.

        At a kink where t does not stop, v goes to one of its ends.
        """
        ended, count = self._ended, self.count
        stops = self.stays() & (self.bend == 0)
        v = np.where(stops, self.v, 0.0)
        to_the_top = ~stops[:ended] & (self._primal[count:] > self._primal[:ended])
        v[:ended] += np.where(to_the_top, self._height, 0.0)
        along = np.zeros(v.shape, dtype=bool)
        curved = np.flatnonzero(self.bend > 0)
        if not curved.size:
            return v, along, stops
        height = np.full_like(self.bend, np.inf)
        height[:ended] = self._height
        at = self._tau(t)[curved] / self.bend[curved]
        v[curved] = np.clip(at, 0.0, height[curved])
        along[curved] = (at > 0) & (at < height[curved])
        return v, along, stops

    def system(self, t: Array) -> tuple[Array, Array]:
        """Newton's equations at μ = 0, reduced to Δv = rate·(side·Δt + pull).

        Returns Σ rates, and Σ side·(v + rate·pull) + base: the slope after a step with Δt = 0.
        """
        if not self.count:
            return np.zeros(t.size), self.base + np.zeros(t.size)
        ended, count = self._ended, self.count
        ratio = self._primal / self._dual
        stiff = ratio[:count]
        stiff[:ended] += ratio[count:]
        self._rate = 1.0 / (stiff + self.bend)
        self._pull = self._lag = self._tau(t) - self.bend * self.v
        self._goal = -self._dual * self._primal
        return self._over_functions(self._rate, t), self.pulled(t)

    def pulled(self, t: Array) -> Array:
        """Σ side·(v + rate·pull) + base."""
        if not self.count:
            return self.base + np.zeros(t.size)
        return self._summed(self.v + self._rate * self._pull, t)

    def follow(self, dt: Array) -> None:
        """The change of v, s and the slacks due to a step of t."""
        dv = self._rate * (self.side * self._mine(dt) + self._pull)
        self._d_dual = np.concatenate([dv, -dv[: self._ended]])
        self._d_primal = (self._goal - self._primal * self._d_dual) / self._dual

    def recentre(self, mu: float) -> None:
        """The same equations at a given μ, with the second-order terms of the predictor step."""
        ended, count = self._ended, self.count
        goal = self.share * mu - self._dual * self._primal - self._d_dual * self._d_primal
        towards = goal / self._dual
        pull = self._lag + self._primal[:count] + towards[:count]
        pull[:ended] -= self._primal[count:] + towards[count:]
        self._goal, self._pull = goal, pull

    def room(self) -> tuple[float, float]:
        """How far v and s, and the slacks p and q, can move along the step."""
        return largest_step(self._dual, self._d_dual), largest_step(self._primal, self._d_primal)

    def products_after(self, dual: float, primal: float) -> float:
        """The products after a step of these lengths."""
        return self._gap(
            (self._dual + dual * self._d_dual) * (self._primal + primal * self._d_primal)
        )

    def move(self, dual: float, primal: float) -> None:
        """Take the step."""
        self._dual += dual * self._d_dual
        self._primal += primal * self._d_primal
        s = self._dual[self.count :]
        np.maximum(s, 0.0, out=s)

    def _gap(self, products: Array) -> float:
        """Σ weight·products over all pairs."""
        by_riser = products[: self.count]
        by_riser[: self._ended] += products[self.count :]
        return float((self.weight * by_riser).sum())

    def _mine(self, values: Array) -> Array:
        """Values of the functions, as the risers have them."""
        return values if self.where is None else values[self.where]

    def _tau(self, t: Array) -> Array:
        return self.side * (self._mine(t) - self.knot)

    def _over_functions(self, values: Array, t: Array) -> Array:
        """Sums of the values of risers, one for every function."""
        if self.where is None:
            return values.sum(axis=0)
        return np.asarray(np.bincount(self.where, values, minlength=t.size), dtype=float)

    def _summed(self, v: Array, t: Array) -> Array:
        return self._over_functions(self.side * v, t) + self.base


def of_pieces(pieces: Pieces, mass: Array) -> Rises:
    """The risers of a loss: its kinks and its curved pieces, from left to right."""
    knots, curvatures = pieces.knots.tolist(), pieces.curvatures.tolist()
    ended, endless = [], []
    if curvatures[0] > 0:
        endless.append((-1.0, knots[0], np.inf, 1 / curvatures[0]))
    widths = [right - left for left, right in pairwise(knots)] + [math.inf]
    for knot, jump, curvature, width in zip(knots, pieces.jumps.tolist(), curvatures[1:], widths):
        if jump > 0:
            ended.append((1.0, knot, jump, 0.0))
        if curvature > 0:
            curve = (1.0, knot, curvature * width, 1 / curvature)
            (ended if math.isfinite(width) else endless).append(curve)
    numbers = np.reshape([*ended, *endless], (-1, 4)).T[:, :, None]
    return Rises(float(pieces.left[0]), *numbers, weight=mass)


def of_penalty(form: Separable, share: float) -> Rises:
    """The risers of l1|w| and of bounds; what l2 adds is not among them."""
    kinked = np.flatnonzero(form.l1 > 0)
    if form.bounds is None and not kinked.size:
        none = np.empty(0)
        return Rises(-form.l1, none, none, none, none, share=share, where=kinked)
    where, side, knot = [kinked], [np.ones(kinked.size)], [np.zeros(kinked.size)]
    if form.bounds is not None:
        lo, hi = form.bounds
        for sign, bound in ((-1.0, lo), (1.0, hi)):
            bounded = np.flatnonzero(np.isfinite(bound) & (lo < hi))
            where.append(bounded)
            side.append(np.full(bounded.size, sign))
            knot.append(bound[bounded])
    owners = np.concatenate(where)
    height = np.full(owners.size, np.inf)
    height[: kinked.size] = 2 * form.l1[kinked]
    return Rises(
        -form.l1,
        np.concatenate(side),
        np.concatenate(knot),
        height,
        np.zeros(owners.size),
        share=share,
        where=owners,
    )


def largest_step(x: Array, dx: Array) -> float:
    """The largest step that keeps x ≥ 0; 0/0, at an end where nothing moves, is no limit."""
    fastest = float(np.fmin.reduce(dx / x, axis=None, initial=0.0))
    return -1.0 / fastest if fastest < 0 else np.inf
