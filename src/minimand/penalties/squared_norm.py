"""The bound form of half a squared norm: ½·factor·(Σ norm_g‖w_g‖₂)² + ½·l2·‖w‖².

Its conjugate at v is the least level²/(2·factor) + Σ (‖v_g‖ − norm_g·level)₊²/(2·l2) over all
levels ≥ 0. Without an l2 part the level is the dual norm, max ‖v_g‖/norm_g. Whatever it is, the
value is an upper bound of Ω*(v): rounding cannot make it unsound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.typing import Array, BoolArray
from .base import BoundPenalty
from .grouped import Grouped
from .partition import Groups, divided
from .separable import Separable


@dataclass(frozen=True, eq=False)
class SquaredNorm(BoundPenalty):
    """½·factor·N(w)² + ½·l2·‖w‖², N(w) = Σ norm_g‖w_g‖₂; groups with a norm of 0 are free."""

    groups: Groups
    norm: Array
    factor: float
    l2: float = 0.0

    def __add__(self, other: Any) -> SquaredNorm:
        form = other.function_of_norm if isinstance(other, Separable) else None
        if form is None or form.has_constraints:
            return NotImplemented
        return replace(self, l2=self.l2 + float(form.l2[0]))

    __radd__ = __add__

    def times(self, factor: float) -> SquaredNorm:
        """Both parts times the factor."""
        return replace(self, factor=factor * self.factor, l2=factor * self.l2)

    def size(self, w: Array) -> float:
        """N(w)."""
        return float(self.norm @ self.groups.norms(w))

    def value(self, w: Array) -> float:
        """½·factor·N(w)² + ½·l2·‖w‖²."""
        most = float(np.linalg.norm(w))
        return 0.5 * self.factor * self.size(w) ** 2 + 0.5 * self.l2 * most**2

    @property
    def quadratic_floor(self) -> float:
        """factor·min norm² + l2, as N(w) ≥ min norm·‖w‖."""
        return self.factor * float(self.norm.min(initial=np.inf)) ** 2 + self.l2

    def with_multiplier(self, multiplier: float) -> Grouped:
        """multiplier·N + ½·l2·‖w‖²: the problem with the same solution where N(w) fits."""
        shape = self.groups.label.shape
        l2 = np.full(shape, self.l2)
        return Grouped(self.groups, multiplier * self.norm, np.zeros(shape), l2)

    def by_feature(self, w: Array, v: Array) -> Array:
        """The terms by group; that of N² is shared equally.

        (factor·N − level)²/(2·factor) + Σ [norm·level·‖w_g‖ − q·w] + Σ (r − l2·w)²/(2·l2), with
        v = q + r and ‖q_g‖ ≤ norm_g·level.
        """
        groups, size, length = self.groups, self.groups.norms(w), self.groups.norms(v)
        bounded = self.norm > 0
        loose = (length > 0) & ~bounded & (self.l2 == 0)
        level = self._level(np.where(bounded, length, 0.0))
        radius = np.minimum(length, self.norm * level)
        apart = divided(w, groups.to_members(size)) - divided(v, groups.to_members(length))
        left = np.maximum(self.norm * level - radius, 0.0)
        terms = size * left + 0.5 * radius * size * groups.sums(apart * apart)
        if self.l2 > 0:
            rest = (
                divided(v, groups.to_members(length)) * groups.to_members(length - radius)
                - self.l2 * w
            )
            terms = terms + groups.sums(rest * rest) / (2.0 * self.l2)
        miss = self.factor * float(self.norm @ size) - level
        terms = terms + 0.5 * miss * (miss / self.factor) / max(groups.count, 1)
        return np.where(loose, np.inf, terms)

    def _level(self, length: Array) -> float:
        """The level that makes the conjugate least, of groups with these lengths."""
        ratios = length[self.norm > 0] / self.norm[self.norm > 0]
        if self.l2 == 0 or not ratios.size:
            return float(ratios.max(initial=0.0))
        return self._balance(ratios, self.factor / self.l2)

    def _balance(self, ratios: Array, pull: float) -> float:
        """The T ≥ 0 with T = pull·Σ norm_g²(ratio_g − T)₊, exactly: the ratios are sorted."""
        square = self.norm[self.norm > 0] ** 2
        order = np.argsort(-ratios)
        ratios, square = ratios[order], square[order]
        found = pull * np.cumsum(square * ratios) / (1.0 + pull * np.cumsum(square))
        # T grows while the next ratio exceeds it: the last one that does is in the sum.
        return float(found.max(initial=0.0))

    def prox(self, w: Array, step: float) -> Array:
        """Groups shortened by step·factor·N(x)·norm_g, divided by 1 + step·l2."""
        shrunk = 1.0 + step * self.l2
        length = self.groups.norms(w)
        ratios = length[self.norm > 0] / self.norm[self.norm > 0]
        # With x_g = (‖w_g‖ − t·norm_g)₊/shrunk and t = step·factor·N(x).
        t = self._balance(ratios, step * self.factor / shrunk) if ratios.size else 0.0
        kept = np.maximum(length - t * self.norm, 0.0)
        return divided(w, self.groups.to_members(length)) * self.groups.to_members(kept) / shrunk

    def shrink(self, v: Array) -> float:
        """1: the conjugate is finite wherever v vanishes on free coefficients."""
        return 1.0

    @cached_property
    def free(self) -> BoolArray:
        """Coefficients of groups with a norm of 0, without an l2 part."""
        return (self.groups.to_members(self.norm) == 0) & (self.l2 == 0)

    @property
    def makes_zeros(self) -> bool:
        """True: N has a kink where a group is zero."""
        return True
