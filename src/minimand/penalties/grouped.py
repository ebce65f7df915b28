"""The bound form of sums over groups: Σ normg‖w_g‖₂ + Σ l1ⱼ|wⱼ| + ½ Σ l2ⱼwⱼ².

Every coefficient belongs to one group. A subgradient splits as v = p + q + r, with |pⱼ| ≤ l1ⱼ,
‖q_g‖ ≤ norm_g and rⱼ the slope that the squares take. The conjugate is the least Σ rⱼ²/(2 l2ⱼ)
over all such splits, and with c = soft(v, l1) it is found group by group:

    p = v − c,   q = c where ‖c_g‖ ≤ norm_g,   else q the nearest point of the ball.

Whatever split is used, its value is an upper bound of Ω*(v): rounding cannot make it unsound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.typing import Array, BoolArray, IntArray
from .base import BoundPenalty
from .partition import Groups, RowGroups, divided
from .separable import Separable

_NEWTON = 60  # steps of a scalar equation; safeguard, five are usual
_INSIDE = 1.0 - 1e-14  # factor; safeguard: scaled points stay inside with rounding


@dataclass(frozen=True, eq=False)
class Grouped(BoundPenalty):
    """Σ norm_g‖w_g‖₂ + Σ l1ⱼ|wⱼ| + ½ Σ l2ⱼwⱼ²; ``norm`` by group, the others by coefficient."""

    groups: Groups
    norm: Array
    l1: Array
    l2: Array

    def __add__(self, other: Any) -> Grouped:
        if isinstance(other, Separable) and not other.has_constraints:
            return replace(self, l1=self.l1 + other.l1, l2=self.l2 + other.l2)
        if isinstance(other, Grouped) and self.groups.same_as(other.groups):
            l1, l2 = self.l1 + other.l1, self.l2 + other.l2
            return Grouped(self.groups, self.norm + other.norm, l1, l2)
        return NotImplemented

    __radd__ = __add__

    def times(self, factor: float) -> Grouped:
        """Every part times the factor."""
        return Grouped(self.groups, factor * self.norm, factor * self.l1, factor * self.l2)

    def value(self, w: Array) -> float:
        """Σ norm_g‖w_g‖₂ + Σ l1|w| + ½ Σ l2 w²."""
        return float(self.norm @ self.groups.norms(w)) + self._rest.value(w)

    @cached_property
    def _rest(self) -> Separable:
        """The penalty without the norms."""
        return Separable(self.l1, self.l2)

    # The conjugate ---------------------------------------------------------------------------

    def by_feature(self, w: Array, v: Array) -> Array:
        """The Fenchel-Young terms, one per group, each a sum of numbers that are never negative.

        With v = p + q + r a group's term is [norm‖w‖ − q·w] + Σ [l1|w| − p·w] + Σ (r − l2·w)²/2l2.
        """
        groups = self.groups
        p = np.clip(v, -self.l1, self.l1)
        c = v - p
        q, edge, outside = self._within_balls(c)
        size, length = groups.norms(w), groups.norms(q)
        # ‖q‖‖w‖ − q·w is ‖q‖‖w‖ times half the squared distance of the two directions.
        apart = divided(w, groups.to_members(size)) - divided(q, groups.to_members(length))
        left = np.where(edge, 0.0, np.maximum(self.norm - length, 0.0))
        terms = size * left + 0.5 * length * size * groups.sums(apart * apart)
        r = c - q
        curved = self.l2 > 0
        missing = np.where(curved, r - self.l2 * w, 0.0)
        slack = np.maximum(self.l1 - np.sign(w) * p, 0.0)
        own = np.abs(w) * slack + missing * (missing / np.where(curved, 2.0 * self.l2, 1.0))
        return np.where(outside, np.inf, terms + groups.sums(own))

    def _within_balls(self, c: Array) -> tuple[Array, BoolArray, BoolArray]:
        """q for c = soft(v, l1), the groups where ‖q‖ = norm, and those outside the domain."""
        groups = self.groups
        length = groups.norms(c)
        edge = length > self.norm
        if not edge.any():
            return c, edge, edge
        stiff = np.where(self.l2 == 0, c, 0.0)  # no square takes these: q must be equal to them
        fixed = groups.norms(stiff)
        outside = edge & (fixed > self.norm)
        room = np.sqrt(np.maximum((self.norm - fixed) * (self.norm + fixed), 0.0))
        loose = np.where(self.l2 > 0, c, 0.0)
        moved = loose * groups.to_members(divided(room, groups.norms(loose)))
        uneven = edge & ~outside & self._uneven & (room > 0)
        if uneven.any():
            level = self._level(np.where(groups.to_members(uneven), loose, 0.0), room, self.l2)
            gone = loose / (1.0 + groups.to_members(divided(level, room)) * self.l2)
            gone = gone * groups.to_members(divided(room, groups.norms(gone)))
            moved = np.where(groups.to_members(uneven), gone, moved)
        return np.where(groups.to_members(edge), stiff + moved, c), edge, outside

    def _level(self, c: Array, base: Array, bend: Array) -> Array:
        """The τ > 0 with Σ (cⱼ/(base + τ·bendⱼ))² = 1 in each group with ‖c‖ > base > 0.

        1/√Σ is concave and rises with τ, so that Newton's steps from below never pass the root.
        """
        groups = self.groups
        active = groups.norms(c) > base
        base, steep = np.where(active, base, 1.0), np.where(c != 0, bend, 0.0)
        most = -groups.least(-steep)
        level = np.where(active, (groups.norms(c) - base) / np.where(most > 0, most, 1.0), 0.0)
        for _ in range(_NEWTON):
            under = groups.to_members(base) + groups.to_members(level) * bend
            share = np.where(under > 0, c / np.where(under > 0, under, 1.0), 0.0)
            square = groups.sums(share * share)
            fall = groups.sums(share * share * bend / np.where(under > 0, under, 1.0))
            size = np.sqrt(np.where(active, square, 1.0))
            step = square * (size - 1.0) / np.where(fall > 0, fall, np.inf)
            level = level + np.where(active, np.maximum(step, 0.0), 0.0)
            if not (step > 1e-15 * level).any():  # share of the root: rounding; safeguard
                break
        return level

    @cached_property
    def _uneven(self) -> BoolArray:
        """Groups whose squares have different factors, zeros left aside."""
        l2 = np.where(self.l2 > 0, self.l2, np.nan)
        least = self.groups.least(np.where(np.isnan(l2), np.inf, l2))
        most = -self.groups.least(np.where(np.isnan(l2), np.inf, -l2))
        return np.isfinite(least) & (most > least)

    # The domain of the conjugate ---------------------------------------------------------------

    def shrink(self, v: Array) -> float:
        """The largest s ≤ 1 with ‖soft(s·v, l1)‖ ≤ norm on the coefficients without squares."""
        return self._shrink(np.where(self.l2 > 0, 0.0, v))

    def shrink_into_box(self, v: Array) -> float:
        """The scale s of `shrink` on all coefficients that have another part than squares."""
        bounded = (self.groups.to_members(self.norm) > 0) | (self.l1 > 0)
        return self._shrink(np.where(bounded, v, 0.0))

    def _shrink(self, v: Array) -> float:
        """The largest s ≤ 1 with ‖soft(s·v, l1)‖ ≤ norm in every group; free ones are left out.

        The length of soft(s·v, l1) is convex in s, so that Newton's steps from above stay above.
        """
        groups, s = self.groups, 1.0
        v = np.where(self.free, 0.0, v)
        alone = groups.to_members(self.norm) == 0
        if alone.any():
            s = Separable(self.l1, np.zeros_like(self.l1)).shrink(np.where(alone, v, 0.0))
            v = np.where(alone, 0.0, v)
        size = np.abs(v)
        for _ in range(_NEWTON):
            c = np.maximum(s * size - self.l1, 0.0)
            length = groups.norms(c)
            over = np.flatnonzero(length > self.norm)
            if not over.size:
                return float(s)
            rise = groups.sums(divided(c, groups.to_members(length)) * size)[over]
            step = float(np.max((length[over] - self.norm[over]) / rise))
            s = min(s - step, s * _INSIDE)
        return 0.0  # rounding at the edge did not settle: θ = 0 is always allowed

    def shares(self, v: Array) -> set[float]:
        """Also the largest scale at which no square is needed: beyond it Ω* may be huge."""
        largest = self.shrink(v)
        return {largest, self.shrink_into_box(v)} if self.mixed else {largest}

    @cached_property
    def mixed(self) -> bool:
        """Whether some coefficient has a square beside a norm or an l1 part."""
        kinked = (self.groups.to_members(self.norm) > 0) | (self.l1 > 0)
        return bool(((self.l2 > 0) & kinked).any())

    # The prox ------------------------------------------------------------------------------------

    def prox(self, w: Array, step: float) -> Array:
        """x·(step·norm/‖x‖ + 1 + step·l2) = c, c = soft(w, step·l1); 0 where ‖c_g‖ ≤ step·norm."""
        groups, norm, bend = self.groups, step * self.norm, 1.0 + step * self.l2
        c = np.copysign(np.maximum(np.abs(w) - step * self.l1, 0.0), w)
        length = groups.norms(c)
        kept = length > norm
        if not self._uneven_squares.any():
            share = np.where(kept, 1.0 - divided(norm, length), 0.0)
            return c * groups.to_members(share) / bend
        level = self._level(np.where(groups.to_members(norm > 0), c, 0.0), norm, bend)
        under = groups.to_members(divided(norm, level)) + bend
        return np.where(groups.to_members(kept), c / under, 0.0)

    @cached_property
    def _uneven_squares(self) -> BoolArray:
        """Groups whose squares have different factors, zeros included."""
        least, most = self.groups.least(self.l2), -self.groups.least(-self.l2)
        return most > least

    def slope_along(self, w: Array, step: Array, *, leaving: bool) -> float:
        """That of the squares and the l1 part, plus Σ norm_g·(w_g·step_g)/‖w_g‖, or ±‖step_g‖."""
        groups = self.groups
        size, length = groups.norms(w), groups.norms(step)
        along = divided(groups.sums(w * step), size)
        norms = np.where(size > 0, along, length if leaving else -length)
        return float(self.norm @ norms) + self._rest.slope_along(w, step, leaving=leaving)

    # What selects groups -------------------------------------------------------------------------

    def gauges(self, v: Array) -> Array:
        """The least t of each group with ‖soft(v_g, t·l1)‖ ≤ t·norm_g: above 1, it is not zero.

        Infinite for groups without norm and l1 part, unless v vanishes there.
        """
        groups = self.groups
        if groups.count == groups.label.size:
            return self._single_gauges(v)
        length = groups.norms(v)
        if not self.l1.any():
            return np.where(length > 0, divided(length, self.norm, np.inf), 0.0)
        # t = 1/s with ‖soft(s·v, l1)‖ = norm: Newton's steps from above, where ‖s·v‖ is as long as
        # norm and l1 together.
        s = divided(self.norm + groups.norms(self.l1), length, 0.0)
        size = np.abs(v)
        for _ in range(_NEWTON):
            c = np.maximum(groups.to_members(s) * size - self.l1, 0.0)
            reach = groups.norms(c)
            rise = groups.sums(divided(c, groups.to_members(reach)) * size)
            step = np.where(reach > self.norm, divided(reach - self.norm, rise), 0.0)
            s = s - step
            if not (step > 1e-12 * s).any():  # share of s: enough for a choice; safeguard
                break
        return np.where(length > 0, divided(np.ones_like(s), s, np.inf), 0.0)

    def _single_gauges(self, v: Array) -> Array:
        """The gauges of groups that have one coefficient each."""
        found = np.zeros(self.groups.count)
        bounds = self.l1 + self.groups.to_members(self.norm)
        found[self.groups.label] = np.where(v != 0, divided(np.abs(v), bounds, np.inf), 0.0)
        return found

    def reached(self, slope: Array, w: Array, share: float) -> BoolArray:
        """Features of groups in the model, and of those whose gauge is this share at least."""
        return feature_gauges(self, slope, w) >= share

    def take(self, features: IntArray) -> Grouped:
        """The same penalty on some features only."""
        names, label = np.unique(self.groups.label[features], return_inverse=True)
        label = label.reshape(self.groups.label[features].shape)
        groups = Groups(label, len(names))
        return Grouped(groups, self.norm[names], self.l1[features], self.l2[features])

    def dual_norm(self, v: Array) -> float | None:
        """The largest gauge; None if some coefficient has neither a norm nor an l1 part."""
        if ((self.groups.to_members(self.norm) == 0) & (self.l1 == 0)).any():
            return None
        return float(self.gauges(v).max(initial=0.0))

    @cached_property
    def by_rows(self) -> RowGroups | None:
        """The same groups as sets of features with all their scores; None if they are not such.

        Features without a norm are groups by themselves, whatever group their coefficients have.
        """
        d = len(self.groups.label)
        if self.groups.label.ndim == 1 and (self.norm > 0).all():  # the usual case
            return RowGroups(self.groups.label, self.norm)
        if self.groups.are_rows and (self.norm > 0).all():
            return RowGroups(np.arange(d), self.norm)
        label = self.groups.label.reshape(d, -1)
        normed = self.norm[label] > 0
        first = label[:, 0]
        whole = (label == label[:, :1]).all(axis=1)
        if (normed.any(axis=1) & ~whole).any():
            return None
        own = np.where(normed[:, 0], first, self.groups.count + np.arange(d))
        names, found = np.unique(own, return_inverse=True)
        real = names < self.groups.count
        norm = np.where(real, self.norm[np.where(real, names, 0)], 0.0)
        return RowGroups(found.reshape(d), norm)

    # Answers -------------------------------------------------------------------------------------

    @cached_property
    def free(self) -> BoolArray:
        """Coefficients without any part."""
        return (self.groups.to_members(self.norm) == 0) & (self.l1 == 0) & (self.l2 == 0)

    @property
    def row_sizes(self) -> tuple[Array, Array] | None:
        """The norm and l2 of every row of W, if the rows are the groups and nothing else counts."""
        l2 = self.l2
        if self.l1.any() or not self.groups.are_rows or (l2 != l2[:, :1]).any():
            return None
        row = self.norm, l2[:, 0]
        return row if ((row[0] > 0) | (row[1] > 0)).all() else None

    @property
    def sum_over_groups(self) -> Grouped:
        """The penalty itself."""
        return self

    @property
    def function_of_norm(self) -> Separable | None:
        """norm·‖w‖ + ½ l2‖w‖², if all coefficients are one group."""
        single = self.groups.count == 1 and not self.l1.any()
        if not single or not self.l2.size or (self.l2 != self.l2.flat[0]).any():
            return None
        return Separable(self.norm, self.l2.reshape(-1)[:1])

    @property
    def makes_zeros(self) -> bool:
        """Whether there is a norm or an l1 part."""
        return bool(self.norm.any() or self.l1.any())


def grouped(groups: Groups, norm: Array, l1: Array, l2: Array) -> BoundPenalty:
    """The form of such a sum: one over features if no norm joins several coefficients."""
    if groups.count < groups.label.size and norm.any():
        return Grouped(groups, norm, l1, l2)
    return Separable(l1 + groups.to_members(norm), l2)


def feature_gauges(form: Grouped, slope: Array, w: Array) -> Array:
    """How much the slopes of a feature's groups exceed their norms; infinite where w is not zero.

    Also infinite for coefficients with neither a norm nor an l1 part, which are never left out.
    """
    gauges = form.gauges(slope)[form.groups.label]
    open_ended = (form.groups.to_members(form.norm) == 0) & (form.l1 == 0)
    gauges = np.where((w != 0) | open_ended, np.inf, gauges)
    found = gauges.reshape(len(w), -1).max(axis=1)
    groups = form.by_rows
    if groups is None:
        return np.asarray(found)
    most = np.zeros(groups.norm.size)  # a group is selected as a whole
    np.maximum.at(most, groups.label, found)
    return most[groups.label]
