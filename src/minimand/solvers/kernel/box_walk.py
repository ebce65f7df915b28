"""Mehrotra's predictor and corrector for a quadratic over a box with given sums."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ..._base.typing import AnyArray, Array
from ..._base.watch import look

_SYSTEMS = 60  # safeguard: ten to fifteen do
_INSIDE = 0.01  # share of a range between the start and a bound; safeguard
_CENTRE = 0.1  # share of the size of slopes that the first products are; safeguard
_SHORT = 0.995  # share of the way to the nearest bound; convention
_STRONG = 10.0  # how often a multiplier outweighs the curvature of what is left of the way to its
# bound, where that bound is taken; safeguard
_ROUNDING = 1e-10  # of the sum of ranges: what sums may lack; safeguard


class BoxWalk:
    """Minimises ½ dᵀK d − slope·d over low ≤ d ≤ high, where the sum of d in each group is zero.

    Parameters
    ----------
    gram : array of shape (m, m)
        K, symmetric and positive semidefinite.
    slope, low, high : arrays of shape (m,)
        With low ≤ 0 ≤ high and low < high.
    groups : array of shape (m,), optional
        Without it no sum is given.

    Examples
    --------
    >>> import numpy as np
    >>> from minimand.solvers.kernel.box_walk import BoxWalk
    >>> slope, ends = np.array([3.0, 0.5, -2.0]), np.ones(3)
    >>> BoxWalk(np.eye(3), slope, -ends, ends).to(1e-12).round(6) + 0.0
    array([ 1. ,  0.5, -1. ])
    """

    def __init__(
        self, gram: Array, slope: Array, low: Array, high: Array, groups: AnyArray | None = None
    ) -> None:
        self._gram, self._slope, self._low, self._high = gram, slope, low, high
        self._range = high - low
        kinds = () if groups is None else np.unique(groups)
        self._ones = np.array([groups == kind for kind in kinds], float).reshape(-1, slope.size)
        self._live = np.arange(slope.size)  # those that no bound has taken

    def to(self, gap: float) -> Array:
        """The point whose gap is at most ``gap``, or the last one before systems are singular.

        Where a bound is clearly active the point is exactly there.
        """
        self._begin(gap)
        taken = False
        for _ in range(_SYSTEMS):
            look()
            if self._gap() <= gap:
                if taken or not self._take_bounds():
                    break
                taken = True
            elif not self._step():
                break
        return self._with_sums()

    def _begin(self, gap: float) -> None:
        """The same share of the range of every number of a group, so that the sums are right."""
        share = np.full(self._slope.size, 0.5)
        for one in self._ones:
            wanted = -float(one @ self._low) / float(one @ self._range)
            share[one > 0] = min(max(wanted, _INSIDE), 1 - _INSIDE)
        self._d = self._low + share * self._range
        slopes = self._gram @ self._d - self._slope
        self._levels = np.array([np.median(slopes[one > 0]) for one in self._ones])
        size = float(np.abs(slopes - self._levels @ self._ones) @ self._range)
        product = max(_CENTRE * size, gap) / self._d.size
        self._lower = product / (self._d - self._low)
        self._upper = product / (self._high - self._d)

    def _gap(self) -> float:
        """What the point and its multipliers leave; infinite while the sums are not zero."""
        live = self._live
        ones, image = self._ones[:, live], (self._gram @ self._d)[live]
        self._room = self._d[live] - self._low[live], self._high[live] - self._d[live]
        self._missing = -(self._ones @ self._d)
        self._rest = image - self._slope[live] - self._levels @ ones - self._lower + self._upper
        if np.abs(self._missing).max(initial=0.0) > _ROUNDING * float(self._range.sum()):
            return np.inf
        products = float(self._room[0] @ self._lower + self._room[1] @ self._upper)
        return products + float(np.abs(self._rest) @ self._range[live])

    def _take_bounds(self) -> bool:
        """Move to the bounds whose multipliers outweigh the curvature on the way there.

        Whether steps have to follow.
        """
        live, (below, above) = self._live, self._room
        curvature = _STRONG * self._gram[live, live]
        down, up = self._lower > curvature * below, self._upper > curvature * above
        self._d[live[down]], self._d[live[up]] = self._low[live[down]], self._high[live[up]]
        kept = ~(down | up)
        if kept.all() or not kept.any():
            return False
        self._live, self._lower, self._upper = live[kept], self._lower[kept], self._upper[kept]
        return True

    def _step(self) -> bool:
        """A predictor and a corrector by one factor; False if there is none."""
        live, (below, above), (lower, upper) = self._live, self._room, (self._lower, self._upper)
        whole = live.size == self._slope.size
        # The transpose of a copy, as K is symmetric, is in the order of LAPACK.
        system = (self._gram.copy() if whole else self._gram[np.ix_(live, live)]).T
        system[np.diag_indices(live.size)] += lower / below + upper / above
        factor, failed = lapack.dpotrf(system, lower=1, overwrite_a=1, clean=0)
        if failed:
            return False
        ones = self._ones[:, live]
        images = lapack.dpotrs(factor, ones.T, lower=1)[0] if ones.size else ones.T
        still = -self._rest - lower + upper

        def solved(aims: tuple[Array, Array] | None) -> tuple[Array, Array, Array, Array]:
            """What d, the levels and both multipliers change by; products go to zero, or aims."""
            right = still if aims is None else still + aims[0] - aims[1]
            step, turn = lapack.dpotrs(factor, right, lower=1)[0], np.empty(0)
            if ones.size:
                wanted = self._missing - ones @ step
                turn = np.linalg.lstsq(ones @ images, wanted, rcond=None)[0]
                step += images @ turn
            fall, rise = -lower - lower / below * step, -upper + upper / above * step
            if aims is not None:
                fall, rise = fall + aims[0], rise + aims[1]
            return step, turn, fall, rise

        def length(step: Array, fall: Array, rise: Array) -> float:
            moves = ((below, step), (above, -step), (lower, fall), (upper, rise))
            return min(_length(value, change) for value, change in moves)

        step, _, fall, rise = solved(None)
        t, before = length(step, fall, rise), float(below @ lower + above @ upper)
        after = float((below + t * step) @ (lower + t * fall))
        after += float((above - t * step) @ (upper + t * rise))
        product = (after / before) ** 3 * before / (2 * live.size)
        aims = (product - step * fall) / below, (product + step * rise) / above
        step, turn, fall, rise = solved(aims)
        if not np.isfinite(step).all():
            return False
        t = _SHORT * length(step, fall, rise)
        self._d[live] += t * step
        self._levels = self._levels + t * turn
        self._lower, self._upper = lower + t * fall, upper + t * rise
        return True

    def _with_sums(self) -> Array:
        """The point without what the sum of each group lacks, which its freest number takes."""
        d = np.clip(self._d, self._low, self._high)
        for one in self._ones:
            here = np.flatnonzero(one)
            freest = here[np.argmax(np.minimum(d - self._low, self._high - d)[here])]
            rest = d[freest] - float(d[here].sum())
            d[freest] = min(max(rest, self._low[freest]), self._high[freest])
        return d


def _length(values: Array, changes: Array) -> float:
    """How much of the changes positive values allow, at most one."""
    falling = changes < 0
    return float(np.min(values[falling] / -changes[falling], initial=1.0))
