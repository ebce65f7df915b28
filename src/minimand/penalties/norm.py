"""The bound form of a norm of which only the value and the proximal point are known.

A norm Ω is convex with Ω(t·w) = t·Ω(w) for t ≥ 0. Its conjugate is 0 where Ω°(v) ≤ 1, and infinite
elsewhere, Ω° its dual norm. The proximal point tells the two cases apart:

    prox of t·Ω at v is 0   ⇔   v is a subgradient of t·Ω at 0   ⇔   Ω°(v) ≤ t

So the dual norm is the smallest step that takes v to zero, found by bisection, and a certificate
needs nothing else. For functions that are not norms, prox and value do not give the conjugate.

Ω may have an l2 part added to it: the conjugate of Ω + ½λ‖w‖² at v is the least ‖v − a‖²/(2λ) over
Ω°(a) ≤ 1, attained at v − a = prox of Ω at v; any other a gives an upper bound.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.typing import Array, BoolArray
from .base import BoundPenalty
from .separable import Separable

if TYPE_CHECKING:
    from .base import Penalty

_MARGIN = 1e-12  # share by which a dual point is shrunk; safeguard, above the bisection's error
_BISECTIONS = 60  # halvings; safeguard: an interval [t, 2t] has 52 bits
_PROBES = 9  # random points at which a user's penalty is checked; convention
_STEPS = (0.1, 1.0, 0.5)  # step sizes of the prox at these points; convention
_ROUNDING = 1e-9  # share of values and proximal points; safeguard: rounding of a user's code
_ENDLESS = 1e300  # a step; safeguard: beyond it none is taken to bring v to zero
_FAR = 1e30  # a step; safeguard: takes points of size 1 to zero in every penalised direction


@dataclass(frozen=True, eq=False)
class Norm(BoundPenalty):
    """alpha·Ω + ½·l2·‖w‖², Ω a norm; Ω may leave some columns free."""

    penalty: Penalty
    alpha: float
    n_features: Any  # d, or (d, k)
    l2: float = 0.0

    def __add__(self, other: Separable) -> Norm:
        form = other.function_of_norm if isinstance(other, Separable) else None
        if form is None:
            return NotImplemented  # the conjugate of such a sum is not known
        return replace(self, l2=self.l2 + float(form.l2[0]))

    __radd__ = __add__

    def value(self, w: Array) -> float:
        """α·Ω(w) + ½·l2·‖w‖²."""
        return self._size(w) + 0.5 * self.l2 * float(np.vdot(w, w))

    def prox(self, w: Array, step: float) -> Array:
        """The prox of Ω at w and the step, both divided by 1 + step·l2."""
        shrunk = 1.0 / (1.0 + self.l2 * step)
        return self._prox(shrunk * w, shrunk * step)

    def _size(self, w: Array) -> float:
        return self.alpha * float(self.penalty.value(w))

    def _prox(self, w: Array, step: float) -> Array:
        return np.asarray(self.penalty.prox(w, self.alpha * step), float)

    def dual_norm(self, v: Array) -> float:
        """The smallest t for which prox of t·αΩ at v is 0 on penalised columns; never less."""
        v = np.where(self.unseen, 0.0, v)
        if not v.any():
            return 0.0
        high = float(np.abs(v).max()) / self.alpha
        while not self._vanishes(v, high):
            high *= 2.0
            if high > _ENDLESS:
                return np.inf  # no step takes v to zero: only θ = 0 is in the domain
        while self._vanishes(v, 0.5 * high):
            high *= 0.5
        low = 0.5 * high
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (low, middle) if self._vanishes(v, middle) else (middle, high)
        return high

    def _vanishes(self, v: Array, step: float) -> bool:
        return not self._prox(v, step).any()

    def by_feature(self, w: Array, v: Array) -> Array:
        """An equal share of Ω(w) − v·w for every feature; inf if Ω°(v) > 1.

        With an l2 part, v = a + c with Ω°(a) ≤ 1, and the term is Ω(w) − a·w + ½λ‖w − c/λ‖².
        """
        a = self._inside(v) if self.l2 > 0 else v
        inside = not a[self.unseen].any() and (not a.any() or self._vanishes(a, 1.0))
        term = max(self._size(w) - float(np.vdot(a, w)), 0.0) if inside else np.inf
        if self.l2 > 0:
            rest = np.sqrt(self.l2) * w - (v - a) / np.sqrt(self.l2)
            term += 0.5 * float(np.vdot(rest, rest))
        return np.full(w.shape, term / max(w.size, 1))

    def _inside(self, v: Array) -> Array:
        """v minus its proximal point: the nearest point with Ω°(a) ≤ 1, also with rounding."""
        a = np.where(self.unseen, 0.0, v - self._prox(v, 1.0)) * (1.0 - _MARGIN)
        return a if self._vanishes(a, 1.0) else self._scale(a) * a

    def shrink(self, v: Array) -> float:
        """1/Ω°(v), at most 1; 1 with an l2 part, whose conjugate is finite everywhere."""
        return 1.0 if self.l2 > 0 else self._scale(v)

    def _scale(self, v: Array) -> float:
        size = self.dual_norm(v)
        if size < 1.0 or (size == 1.0 and self._vanishes(np.where(self.unseen, 0.0, v), 1.0)):
            return 1.0
        return (1.0 - _MARGIN) / size

    def unscalable(self, v: Array) -> BoolArray:
        """Free columns with v ≠ 0."""
        return self.free & (v != 0)

    @property
    def free(self) -> BoolArray:
        """Columns that neither the norm nor the l2 part penalises."""
        return np.zeros_like(self.unseen) if self.l2 > 0 else self.unseen

    @cached_property
    def unseen(self) -> BoolArray:
        """Columns that the norm does not penalise: its prox leaves them unchanged."""
        w = np.random.default_rng(0).uniform(1.0, 2.0, self.n_features)
        moved = self._prox(w, _FAR / self.alpha)
        return moved == w

    def times(self, factor: float) -> Norm:
        """factor·(αΩ + ½·l2·‖w‖²)."""
        new = replace(self, alpha=factor * self.alpha, l2=factor * self.l2)
        new.__dict__["unseen"] = self.unseen
        return new

    def project(self, w: Array) -> Array:
        """w: a norm is finite everywhere."""
        return w

    def relaxed(self, w: Array) -> None:
        """None: there are no constraints."""
        return None

    @property
    def makes_zeros(self) -> bool:
        """True: every norm has a kink at w = 0."""
        return True


def _values(norm: Norm, points: list[Array]) -> list[float]:
    """Ω at these points; an error of the user's code as a sentence."""
    try:
        return [float(norm.penalty.value(w)) for w in points]
    except (IndexError, TypeError, ValueError) as error:  # those of axis and shape are such
        name, shape = type(norm.penalty).__name__, np.shape(points[0])
        hint = "; a norm of the matrix W of all outputs says couples_scores = True"
        raise ValueError(
            f"value of {name} fails for coefficients of shape {shape} ({error}), which it must "
            f"take{hint if len(shape) == 1 else ''}."
        ) from error


def check_norm(norm: Norm) -> None:
    """Refuse, in one sentence, a function that is not a norm or whose prox is not its own."""
    name, penalty, d = type(norm.penalty).__name__, norm.penalty, norm.n_features
    rng = np.random.default_rng(1)
    # 0.7: share of nonzeros; convention.
    points = [rng.standard_normal(d) * (rng.uniform(size=d) < 0.7) for _ in range(_PROBES)]
    values = _values(norm, points)
    for w, value in zip(points, values):
        twice = float(penalty.value(2.0 * w))
        if not (np.isfinite(value) and value >= 0) or abs(twice - 2 * value) > _ROUNDING * value:
            raise ValueError(
                f"{name} has value and prox alone, which is enough for a norm, but it is none "
                f"(Ω(2w) is {twice:g} where 2Ω(w) is {2 * value:g}): write bind(n_features, alpha) "
                "that returns a Separable, or an object with the methods of "
                "minimand.penalties.BoundPenalty."
            )
    for w, step in zip(points, itertools.cycle(_STEPS)):
        p = np.asarray(penalty.prox(w, step), float)
        if p.shape != w.shape:
            raise ValueError(f"prox of {name} must return an array of shape {w.shape}.")
        # v = (w − p)/step is a subgradient at p: v·x ≤ Ω(x) everywhere, with equality at p.
        v = (w - p) / step
        pairs = [*zip(points, values), (p, float(penalty.value(p))), (v, float(penalty.value(v)))]
        slack = _ROUNDING * (1.0 + float(np.vdot(v, v)))
        below = all(np.vdot(v, x) <= value + slack for x, value in pairs)
        if not below or abs(float(np.vdot(v, p)) - pairs[-2][1]) > slack + _ROUNDING * pairs[-2][1]:
            where = np.array2string(w, precision=3, threshold=8)
            raise ValueError(
                f"prox of {name} is not the minimiser of step·Ω(x) + ½‖x − w‖², or its value is "
                f"not convex: see w = {where}, step = {step:g}."
            )
    far = np.random.default_rng(0).uniform(1.0, 2.0, d)
    if norm.prox(far, _FAR / norm.alpha)[~norm.unseen].any():
        raise ValueError(
            f"{name} is zero along a direction that is not a column, and such a norm has no "
            "certificate: add what it leaves free, or write bind(n_features, alpha)."
        )
