"""A sum over features restricted to a ball, written with a multiplier.

Ω(w) = S(w) where size(w) ≤ room, with S separable and size(w) either ‖w‖₁ or ½‖w‖². For every
multiplier λ ≥ 0

    Ω*(v) ≤ λ·room + (S + λ·size)*(v),

with equality for the best λ, so that a ball needs no other formulas than those of `Separable`: its
Fenchel-Young term is that of S + λ·size plus the slack λ·(room − size(w)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import optimize

from .._base.typing import Array, BoolArray
from .base import BoundPenalty
from .bounds import pulled
from .separable import Separable

Norm = Literal["l1", "l2"]
_MARGIN = 1.0 - 4e-15  # share of the radius; safeguard: stays inside in every order of summation


@dataclass(frozen=True, eq=False)
class Size:
    """How a ball measures w: by its norm, and as a penalty with a multiplier.

    ``units`` u are factors of the features, None for ones: the norm is ‖u∘w‖. A feature with the
    factor zero is not in the ball.
    """

    norm: Norm
    units: Array | None = None

    def radius(self, w: Array) -> float:
        """‖u∘w‖₁ or ‖u∘w‖₂."""
        if self.units is not None:
            w = self.units * w
        if self.norm == "l1":
            return float(np.abs(w).sum())
        most = float(np.abs(w).max(initial=0.0))
        if most == 0 or np.isinf(most):
            return most
        return most * float(np.sqrt(((w / most) ** 2).sum()))

    def times(self, multiplier: float, shape: tuple[int, ...]) -> Separable:
        """multiplier·‖u∘w‖₁ or multiplier·½‖u∘w‖²."""
        factor, none = np.full(shape, multiplier), np.zeros(shape)
        if self.units is not None:
            factor = factor * (self.units if self.norm == "l1" else self.units**2)
        return Separable(factor, none) if self.norm == "l1" else Separable(none, factor)

    def per_unit(self, v: Array) -> Array:
        """v/u: numbers whose dual norm matters to the ball; zero for features outside it."""
        if self.units is None:
            return v
        return np.where(self.units > 0, v / np.where(self.units > 0, self.units, 1.0), 0.0)

    def loose(self, shape: tuple[int, ...]) -> BoolArray:
        """Features that are not in the ball."""
        return np.zeros(shape, dtype=bool) if self.units is None else self.units == 0

    def slack(self, multiplier: float, radius: float, w: Array) -> float:
        """multiplier·(room − size(w)) ≥ 0, room the size of the sphere."""
        left = radius - self.radius(w)
        return multiplier * left * (1.0 if self.norm == "l1" else 0.5 * (radius + self.radius(w)))


absolute, square = Size("l1"), Size("l2")


@dataclass(frozen=True, eq=False)
class Ball(BoundPenalty):
    """S(w) where ‖w‖ ≤ radius, S a sum over features whose bounds, if any, contain zero."""

    rest: Separable
    radius: float
    size: Size

    def __add__(self, other: Separable) -> Ball:
        if not isinstance(other, Separable):
            return NotImplemented
        rest = self.rest + other
        if rest.bounds is not None and ((rest.bounds[0] > 0) | (rest.bounds[1] < 0)).any():
            raise ValueError("a ball can be combined with bounds only if these contain zero.")
        return replace(self, rest=rest)

    __radd__ = __add__

    def with_multiplier(self, multiplier: float) -> Separable:
        """S + multiplier·size: the penalised problem that has the constrained one's solution."""
        return self.rest + self.size.times(multiplier, self.rest.l1.shape)

    def times(self, factor: float) -> Ball:
        """factor·S inside the same ball."""
        return replace(self, rest=self.rest.times(factor))

    def value(self, w: Array) -> float:
        """S(w); inf outside the ball."""
        return self.rest.value(w) if self.size.radius(w) <= self.radius else np.inf

    def by_feature(self, w: Array, v: Array) -> Array:
        """The terms of S + λ·size, and an equal share of the slack for every feature."""
        if self.size.radius(w) > self.radius:
            return np.full(w.shape, np.inf)
        if self.radius == 0:
            return np.where(self._loose, self.rest.by_feature(w, v), 0.0)
        multiplier = min(self.multiplier(v), 1e300)  # safeguard: λ = inf would make products NaN
        slack = self.size.slack(multiplier, self.radius, w)
        return self.with_multiplier(multiplier).by_feature(w, v) + slack / max(w.size, 1)

    def multiplier(self, v: Array) -> float:
        """The λ ≥ 0 that makes λ·room + (S + λ·size)*(v) least: there ‖_pull‖ is the radius."""
        rest = self.rest
        excess = self.size.per_unit(np.maximum(np.abs(v) - rest.l1, 0.0))
        if rest.bounds is not None:  # a feature at its bound cannot move in that direction
            lo, hi = rest.bounds
            excess = np.where(np.where(v > 0, hi, lo) == 0, 0.0, excess)
        if self.size.norm == "l1":
            endless = rest.l2 == 0
            if rest.bounds is not None:
                endless &= np.isinf(np.where(v > 0, *rest.bounds[::-1]))
            least, most = float(np.max(excess[endless], initial=0.0)), float(excess.max(initial=0))
        else:
            least, most = 0.0, square.radius(excess) / self.radius
        return self._root(least, most, lambda penalty: _pull(penalty, v))

    def _root(self, least: float, most: float, at: Callable[[Separable], Array]) -> float:
        """The smallest multiplier in [least, most] for which ``at(penalty)`` is in the ball."""

        def outside(multiplier: float) -> float:
            radius = self.size.radius(at(self.with_multiplier(multiplier)))
            return min(radius, 1e300) / self.radius - 1.0  # safeguard against inf

        if not least < most or outside(least) <= 0:
            return least
        if outside(most) >= 0:  # equal up to rounding
            return most
        # rtol is near the rounding of a multiplier, 200 steps are a safeguard: brentq bisects.
        return float(optimize.brentq(outside, least, most, xtol=1e-300, rtol=1e-15, maxiter=200))

    @property
    def _loose(self) -> BoolArray:
        return self.size.loose(self.rest.l1.shape)

    def shrink(self, v: Array) -> float:
        """1, because the conjugate of a bounded set is finite; of features outside that of S."""
        return self.rest.shrink(np.where(self._loose, v, 0.0))

    def unscalable(self, v: Array) -> BoolArray:
        """No feature that the ball bounds: Ω* is finite there."""
        return self._loose & self.rest.unscalable(v)

    @property
    def free(self) -> BoolArray:
        """No feature that the ball bounds."""
        return self._loose & self.rest.free

    def in_units(self, units: Array) -> Ball:
        """The ball as a function of x, w = units∘x."""
        before = 1.0 if self.size.units is None else self.size.units
        size = replace(self.size, units=before * units)
        return replace(self, rest=self.rest.in_units(units), size=size)

    def faint(self, reach: Array, slope: Array, share: float) -> BoolArray:
        """Also so small that the feature takes no more than that share of the radius."""
        part = self.size.times(1.0, reach.shape)
        unit = part.l1 if self.size.norm == "l1" else np.sqrt(part.l2)
        small = (unit > 0) & (unit * reach <= share * self.radius)
        return small & (self.rest.faint(reach, slope, share) | self.rest.free)

    def without(self, features: BoolArray) -> Ball:
        """Some features are neither in the ball nor penalised."""
        units = np.ones(features.shape) if self.size.units is None else self.size.units
        size = replace(self.size, units=np.where(features, 0.0, units))
        return replace(self, rest=self.rest.without(features), size=size)

    @property
    def function_of_norm(self) -> Separable | None:
        """The function of S, up to the radius, if the ball is one of the 2-norm."""
        form = self.rest.function_of_norm
        if form is None or self.size.norm != "l2" or self.size.units is not None:
            return None
        end = np.array([self.radius])
        return replace(form, bounds=(-end, end))

    @property
    def makes_zeros(self) -> bool:
        """Whether the ball has corners (1-norm) or S has an l1 part."""
        return self.size.norm == "l1" or self.rest.makes_zeros

    @property
    def has_constraints(self) -> bool:
        """True: the ball is a constraint."""
        return True

    def relaxed(self, w: Array) -> Separable | None:
        """S alone, if w lies strictly inside the ball (by a share of 1e-9, a safeguard)."""
        return self.rest if self.size.radius(w) < self.radius * (1 - 1e-9) else None

    def prox(self, w: Array, step: float) -> Array:
        """prox of S + λ·size with the λ that brings it into the ball."""
        if self.radius == 0:
            return np.where(self._loose, self.rest.prox(w, step), 0.0)
        wide = self.size.per_unit(w)
        if self.size.norm == "l1":
            most = float(np.abs(wide).max(initial=0.0)) / step
        else:
            most = square.radius(wide) / (step * self.radius)
        multiplier = self._root(0.0, most, lambda penalty: penalty.prox(w, step))
        found = self.with_multiplier(multiplier).prox(w, step)
        radius = self.size.radius(found)
        if multiplier > 0 and radius > 0:  # back on the sphere: w − λ may have lost digits
            found = self.rest.project(self._times(found, self.radius / radius))
        return self.inside(found)

    def project(self, w: Array) -> Array:
        """The nearest point of the ball, within the bounds of S."""
        if self.value(w) < np.inf:
            return w
        none = np.zeros_like(w)
        return replace(self, rest=Separable(none, none, self.rest.bounds)).prox(w, 1.0)

    def inside(self, w: Array) -> Array:
        """w shrunk towards zero so that its norm, with rounding, does not exceed the radius."""
        radius = self.size.radius(w)
        if radius <= self.radius * _MARGIN:
            return w
        return self._times(w, self.radius / radius * _MARGIN)

    def _times(self, w: Array, factor: float) -> Array:
        return w * factor if self.size.units is None else np.where(self._loose, w, w * factor)


def _pull(penalty: Separable, v: Array) -> Array:
    """argmax of v·t − penalty(t) per feature; ±inf where there is no maximum."""
    lo, hi = penalty.bounds or (np.full(v.shape, -np.inf), np.full(v.shape, np.inf))
    return pulled(penalty.l1, penalty.l2, lo, hi, v)
