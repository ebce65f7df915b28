"""Sound upper bounds of ψ*(v) = sup_s v·s − ψ(s) for a convex ψ known by value and slope only.

What is bounded is the Fenchel-Young term

    F = sup_s g(s),   g(s) = v·(s − t) − (ψ(s) − ψ(t)),

which is concave with g(t) = 0. Two bounds are taken, and the smaller one is the answer.

*Tangents.* If ψ'(lo) ≤ v ≤ ψ'(hi), the supremum is attained between lo and hi, and g lies below its
tangents at both ends. For *every* m between them, F ≤ max(tangent of lo at m, tangent of hi at m):
left of m the first one rises up to m, right of m the second one falls from m on. The bound holds
for any m; m is taken near where the tangents cross, where the bound is best.

*Rectangles.* F is also the integral of v − ψ' from t to the point where ψ' = v, and v − ψ' is
decreasing there. So rectangles from a few nodes bound F from above by slopes alone. This bound is
useful where F is smaller than the rounding of ψ, so that differences of ψ are meaningless.

*Rounding.* A computed ψ̂(s) is ψ at an argument that is off by a few ulps, times one plus a few
ulps; so is ψ̂'. To first order this changes ψ by ulps of |ψ| + |s·ψ'|, and moves the point where a
tangent touches by ulps of s. Each sum below has an error term with ulps of *every* number that is
added or subtracted, also of much larger ones that cancel, plus the further rounding of the formula
of ψ (`Noise`). The bounds are sound for every ψ for which these terms hold, whatever the bracket: a
wide bracket gives a looser bound, not a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from .noise import EPS, FEW, Noise

RowFunction = Callable[[Array, IntArray], Array]
_FAR = 1e300  # |s| up to which a slope v is searched; safeguard
_NOTHING = 1e-250  # slope; safeguard: closer ones are equal, as formulas are clipped at overflow
_BEYOND = 1.1  # Newton steps from t to the first end of a bracket; safeguard
_PATIENCE = 12  # steps, after which the factor by which they grow is squared; safeguard
_ROUNDS = 400  # halvings of a bracket; safeguard: 2000 would take 1e300 to one ulp of 1e-300
_HALVINGS = 8  # halvings of a bracket in which ψ is lost in rounding; safeguard
_TIGHT = 1e-13  # relative distance of the two bounds at which a bracket is done; safeguard
_NODES = 32  # rectangles; safeguard: their sum is too large by a share of about 1/32
_ULPS = FEW * EPS


def young_gap(
    psi: Callable[..., Array],
    dpsi: Callable[..., Array],
    t: Array,
    v: Array,
    *rowwise: Array,
    noise: Noise | None = None,
    ddpsi: Callable[..., Array] | None = None,
) -> Array:
    """Upper bound of the Fenchel-Young term ψ(t) + ψ*(v) − v·t, elementwise; inf outside dom ψ*.

    Further arguments of ψ, one number per entry of t each, are passed on to it. ψ'' says how far
    from t the bracket probably ends; the bound does not depend on it.
    """
    t, v = np.broadcast_arrays(np.asarray(t, float), np.asarray(v, float))
    shape = t.shape
    t, v = t.ravel(), v.ravel()
    columns = [np.broadcast_to(column, shape).ravel() for column in rowwise]
    psi, dpsi = _vectorised(psi, columns), _vectorised(dpsi, columns)
    with np.errstate(all="ignore"):
        reach = None if ddpsi is None else _vectorised(ddpsi, columns)(t, np.arange(t.size))
        lo, hi, inside = _bracket(dpsi, t, v, reach)
        gap = np.full(t.shape, np.inf)
        rows = np.flatnonzero(inside)
        if rows.size:
            terms = _Terms.at(psi, dpsi, noise, rows, t[rows], v[rows])
            gap[rows] = _shrink(terms, lo[rows], hi[rows])
    return gap.reshape(shape)


def _vectorised(f: Callable[..., Array], columns: list[Array]) -> RowFunction:
    """f of the given rows, with a result of the shape of t, also if f is a constant."""

    def at(t: Array, rows: IntArray) -> Array:
        value = f(t, *(column[rows] for column in columns))
        return np.broadcast_to(np.asarray(value, float), t.shape)

    return at


def _bracket(
    dpsi: RowFunction, t: Array, v: Array, bend: Array | None
) -> tuple[Array, Array, BoolArray]:
    """Points with ψ'(lo) ≤ v ≤ ψ'(hi), found by growing steps from t.

    The first step is a little longer than Newton's, where that is short.
    """
    slope = dpsi(t, np.arange(t.size))
    lo, hi = t.copy(), t.copy()
    need_hi, need_lo = slope < v, slope > v
    step = np.maximum(1.0, np.abs(t)) * 1e-3
    if bend is not None:
        newton = _BEYOND * np.abs(v - slope) / bend
        # Not so short that it is lost in the rounding of t; safeguard.
        step = np.where(newton < step, np.maximum(newton, 16 * EPS * np.abs(t)), step)
        step = np.maximum(step, 1e-300)
    factor, turn = 8.0, 0
    while (need_hi | need_lo).any() and step.min() < _FAR:
        idx = np.flatnonzero(need_hi)
        if idx.size:
            trial = np.minimum(hi[idx] + step[idx], _FAR)
            reached = ~(dpsi(trial, idx) < v[idx] - _NOTHING)
            lo[idx] = np.where(reached, lo[idx], trial)
            hi[idx] = trial
            need_hi[idx[reached]] = False
        idx = np.flatnonzero(need_lo)
        if idx.size:
            trial = np.maximum(lo[idx] - step[idx], -_FAR)
            reached = ~(dpsi(trial, idx) > v[idx] + _NOTHING)
            hi[idx] = np.where(reached, hi[idx], trial)
            lo[idx] = trial
            need_lo[idx[reached]] = False
        step, turn = np.minimum(step * factor, 2 * _FAR), turn + 1
        if turn % _PATIENCE == 0:  # far away, orders of magnitude are all that matters
            factor = min(factor * factor, 1e30)  # safeguard
    return lo, hi, ~(need_hi | need_lo)


class _End(NamedTuple):
    """An end of the bracket: the point s, ψ'(s), g(s), and a bound of the error of g(s)."""

    place: Array
    slope: Array
    height: Array
    error: Array

    def at(self, chosen: IntArray) -> _End:
        return _End(*(values[chosen] for values in self))


class _Terms(NamedTuple):
    """ψ and ψ' of some rows, with t, v, ψ(t) and ψ'(t)."""

    psi: RowFunction
    dpsi: RowFunction
    noise: Noise | None
    rows: IntArray
    t: Array
    v: Array
    base: Array  # ψ(t)
    slope: Array  # ψ'(t)

    @classmethod
    def at(
        cls,
        psi: RowFunction,
        dpsi: RowFunction,
        noise: Noise | None,
        rows: IntArray,
        t: Array,
        v: Array,
    ) -> _Terms:
        return cls(psi, dpsi, noise, rows, t, v, psi(t, rows), dpsi(t, rows))

    def some(self, chosen: IntArray) -> _Terms:
        rows, t, v, base, slope = self.rows, self.t, self.v, self.base, self.slope
        return self._replace(
            rows=rows[chosen], t=t[chosen], v=v[chosen], base=base[chosen], slope=slope[chosen]
        )

    def end(self, place: Array) -> _End:
        """g and its slope at a point; at t itself g is exactly 0."""
        value, slope = self.psi(place, self.rows), np.array(self.dpsi(place, self.rows))
        moved = place != self.t
        climb = self.v * (place - self.t)
        height = np.where(moved, climb - (value - self.base), 0.0)
        size = np.abs(climb) + np.abs(value) + np.abs(self.base) + np.abs(self.t * self.slope)
        size = size + np.abs(place) * (np.abs(slope) + np.abs(self.v))
        error = _ULPS * size
        if self.noise is not None:
            error = error + self.noise.of_value(place) + self.noise.of_value(self.t)
        touching = _ULPS * np.abs(place) * np.abs(slope - self.v)
        return _End(place, slope, height, np.where(moved, error, touching))

    def slope_error(self, place: Array, slope: Array) -> Array:
        """A bound of the error of v − ψ', apart from that of the point."""
        error = _ULPS * (np.abs(slope) + np.abs(self.v))
        return error if self.noise is None else error + self.noise.of_slope(place)

    def rectangles(self, lo: Array, hi: Array) -> Array:
        """An upper bound of the integral of |v − ψ'| from t to the farther end of the bracket."""
        for _ in range(_HALVINGS):
            middle = 0.5 * lo + 0.5 * hi
            below = self.dpsi(middle, self.rows) < self.v
            lo, hi = np.where(below, middle, lo), np.where(below, hi, middle)
        upwards = self.slope < self.v
        near, far = np.where(upwards, lo, hi), np.where(upwards, hi, lo)
        share = np.linspace(0.0, 1.0, _NODES + 1)[:, None]
        nodes = np.concatenate([self.t + share * (near - self.t), far[None]])
        rows = np.broadcast_to(self.rows, nodes[:-1].shape)
        slopes = self.dpsi(nodes[:-1].ravel(), rows.ravel()).reshape(rows.shape)
        height = np.abs(self.v - self.slope)
        drop = np.clip(np.abs(self.v - slopes), 0.0, height)
        drop = np.where((slopes < self.v) == upwards, drop, 0.0)
        length = np.abs(np.diff(nodes, axis=0))
        reach = np.maximum(np.abs(self.t), np.abs(far))
        error = self.slope_error(self.t, self.slope)
        if self.noise is not None:
            error = np.maximum(error, self.slope_error(far, self.v))
        return (drop * length).sum(axis=0) + error * length.sum(axis=0) + _ULPS * reach * height


def _shrink(terms: _Terms, lo: Array, hi: Array) -> Array:
    """Narrow the bracket until the tangent bound is close to a lower bound, or within rounding."""
    left, right = terms.end(lo), terms.end(hi)
    best, least = np.full(lo.shape, np.inf), np.zeros(lo.shape)
    active, before = np.arange(lo.size), np.full(lo.shape, np.inf)
    for turn in range(_ROUNDS):
        a, b = left.at(active), right.at(active)
        upper, lower, drowned = _bounds(terms.some(active), a, b)
        best[active] = np.fmin(best[active], upper)
        least[active] = np.fmax(least[active], lower)
        wide = b.place - a.place > 4 * EPS * np.maximum(np.abs(a.place), np.abs(b.place))
        open_ = np.flatnonzero(wide & ~drowned & ~(upper - lower <= _TIGHT * lower))
        active = active[open_]
        if not active.size:
            break
        some, a, b = terms.some(active), a.at(open_), b.at(open_)
        if turn % 2 == 0:
            place = _straight(some, a, b)
            before[active] = np.fmin(some.v - a.slope, b.slope - some.v)
        else:  # interpolation that gains no digit is not to be trusted
            gained = np.fmin(some.v - a.slope, b.slope - some.v) <= 0.1 * before[active]
            place = np.where(gained, _beyond(some, a, b), midpoint(a.place, b.place))
        new = some.end(place)
        below = new.slope < some.v
        for ends, where in ((left, below), (right, ~below)):
            for values, found in zip(ends, new):
                values[active[where]] = found[where]
    unclear = np.flatnonzero(~(best - least <= 0.05 * least) & (terms.slope != terms.v))
    if unclear.size:
        bound = terms.some(unclear).rectangles(left.place[unclear], right.place[unclear])
        best[unclear] = np.fmin(best[unclear], np.where(np.isnan(bound), np.inf, bound))
    return np.maximum(best, 0.0)


def _straight(terms: _Terms, lo: _End, hi: _End) -> Array:
    """The point where ψ' = v by linear interpolation, or the midpoint."""
    share = (terms.v - lo.slope) / (hi.slope - lo.slope)
    return _inside(lo.place + share * (hi.place - lo.place), lo, hi)


def _beyond(terms: _Terms, lo: _End, hi: _End) -> Array:
    """Twice as far from the nearer end, to the other side of that point.

    Interpolation moves one end only; so that both ends approach the point, as in the method of
    Alefeld, Potra and Shi.
    """
    share = (terms.v - lo.slope) / (hi.slope - lo.slope)
    share = np.where(share < 0.5, 2.0 * share, 1.0 - 2.0 * (1.0 - share))
    return _inside(lo.place + share * (hi.place - lo.place), lo, hi)


def _inside(place: Array, lo: _End, hi: _End) -> Array:
    """The point, or the midpoint where it is not between the ends."""
    inside = (place > lo.place) & (place < hi.place)
    return np.where(inside, place, midpoint(lo.place, hi.place))


def midpoint(lo: Array, hi: Array) -> Array:
    """The arithmetic mean, or the geometric one if the ends differ by orders of magnitude."""
    middle = 0.5 * lo + 0.5 * hi
    small, large = np.minimum(np.abs(lo), np.abs(hi)), np.maximum(np.abs(lo), np.abs(hi))
    apart = (lo * hi > 0) & (large > 1e3 * small)
    return np.where(apart, np.sign(middle) * np.sqrt(small) * np.sqrt(large), middle)


def _bounds(terms: _Terms, lo: _End, hi: _End) -> tuple[Array, Array, BoolArray]:
    """(upper, lower) bounds of sup g from the ends, and whether errors are most of their width."""
    width = hi.place - lo.place
    rise_lo, rise_hi = np.maximum(terms.v - lo.slope, 0.0), np.maximum(hi.slope - terms.v, 0.0)
    span = rise_lo + rise_hi
    x = np.where(span > 0, (hi.height - lo.height + rise_hi * width) / span, 0.0)
    x = np.clip(np.where(np.isfinite(x), x, width), 0.0, width)
    rest = width - x
    from_lo = lo.height + rise_lo * x + lo.error + terms.slope_error(lo.place, lo.slope) * x
    from_hi = hi.height + rise_hi * rest + hi.error + terms.slope_error(hi.place, hi.slope) * rest
    # With m at one end of the bracket, the tangent of the other end covers all of it.
    upper = np.where(rest == 0, from_lo, np.where(x == 0, from_hi, np.maximum(from_lo, from_hi)))
    upper = np.where(width == 0, np.fmin(from_lo, from_hi), upper)
    lower = np.fmax(
        np.where(np.isfinite(lo.height), lo.height - lo.error, 0.0),
        np.where(np.isfinite(hi.height), hi.height - hi.error, 0.0),
    )
    usable = np.isfinite(upper) & ~np.isnan(lo.slope) & ~np.isnan(hi.slope)
    slack = np.minimum(rise_lo, rise_hi) * width
    drowned = usable & (slack <= 0.1 * np.minimum(lo.error, hi.error))
    return np.where(usable, upper, np.inf), np.fmax(lower, 0.0), drowned
