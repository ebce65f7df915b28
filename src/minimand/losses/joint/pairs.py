"""Losses of pairs of items: within a query, an item of higher relevance should have a higher score.

    ℓ = mean of ψ(zᵢ − zⱼ) over the pairs of a query with yᵢ > yⱼ, ψ(m) = max(0, 1 − m), or squared

The unit is a query, a run of rows. All sums over pairs come from Q(z; c) = Σ ½max(0, c − m)²: see
`pair_sums`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ... import _core
from ..._base.typing import Array
from ..base import Loss, Terms, Unit, runs_of
from .pair_sums import Hinges, Items, Laplacian, hinges, levels, pair_counts

_HALVED = range(30)  # widths 1, ½, ¼, … of a smoothed hinge that are recognised; safeguard
_ROWS_TO_TELL = 1000  # rows of the queries that tell the width; safeguard: all widths are tried
_SAME = 1e-12  # share of the largest multiplier: rounding of a slope; safeguard


class Pairwise(Loss):
    """The mean of ψ(zᵢ − zⱼ) over the pairs of a query; a query without pairs costs nothing."""

    unit: ClassVar[Unit] = "run"

    def items(self, z: Array, y: Array) -> Items:
        """The rows, sorted, with scores relative to the median of their query.

        Sums over pairs are then rounded by differences of scores, not by a constant in them.
        """
        units = np.ascontiguousarray(runs_of(self))
        level = levels(y, units)
        z = np.ascontiguousarray(z, dtype=float)
        order = np.empty(z.size, dtype=np.uint32)
        _core.pair_order(z, units, order)
        median = z[order[(units[:-1] + units[1:]) // 2]]
        z = z - np.repeat(median, np.diff(units))
        return Items(z, level, units, order, np.maximum(pair_counts(level, units), 1.0))

    def value(self, z: Array, y: Array) -> Array:
        """The mean over the pairs of every query."""
        return self.terms(z, y).value

    def gradient(self, z: Array, y: Array) -> Array:
        """Its slope."""
        return self.terms(z, y).gradient

    def curvature(self, z: Array, y: Array) -> Any:
        """The Laplacian of the pairs, weighted by the curvatures of ψ."""
        return self.terms(z, y).curvature

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """0 if u is the slope at z, up to rounding; a bound if it is a share of it; else inf."""
        value, slope, _ = self.terms(z, y)
        s = share_of(u, slope)
        return bounded_by_slopes(self, u, value, [(slope, s, self.shrunk(s, value, z, y))])

    def shrunk(self, s: float, value: Array, z: Array, y: Array) -> Array:
        """A bound of ℓ(z) + ℓ*(s·θ) − s·θ·z for the slope θ at z and 0 ≤ s ≤ 1.

        The multipliers of all pairs shrink by s. As ℓ* is convex, and 0 at 0, it is at most
        s·ℓ*(θ), and the sum at most (1 − s)·ℓ(z).
        """
        return (1.0 - s) * value

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(runs_of(self).size - 1)

    def conjugate(self, u: Array, y: Array) -> Array:
        """0 for u = 0; elsewhere no bound is known without the scores: see `fenchel_young`."""
        largest = np.maximum.reduceat(np.abs(u), runs_of(self)[:-1])
        return np.where(largest == 0, 0.0, np.inf)


class PairwiseSquaredHinge(Pairwise):
    """Mean of max(0, 1 − (zᵢ − zⱼ))² over the pairs of a query with yᵢ > yⱼ: RankSVM, smooth.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> loss = mm.losses.PairwiseSquaredHinge().bind(np.array([0, 3]))
    >>> loss.value(np.array([2.0, 1.5, 0.0]), np.array([1.0, 0.0, 0.0]))
    array([0.125])
    """

    smoothness = 4.0

    def shrunk(self, s: float, value: Array, z: Array, y: Array) -> Array:
        """(1 − s)²·ℓ(z): the multipliers −2h of pairs with h = 1 − m > 0 become −2s·h."""
        return (1.0 - s) ** 2 * value

    def terms(self, z: Array, y: Array) -> Terms:
        """All three from one sweep."""
        items = self.items(z, y)
        found = hinges(items, 1.0)
        curvature = replace(found.laplacian, factors=(2.0,))
        return Terms(2.0 * found.value, 2.0 * found.slope, curvature)


class SmoothedPairwiseHinge(Pairwise):
    """The pairwise hinge with its corner replaced by a parabola of a width from 1 − μ to 1.

    ψ(m) = ½(1 − m)²/μ there, and 1 − m − ½μ below: (Q(z; 1) − Q(z; 1 − μ))/μ. Its slopes are legal
    multipliers of the hinge itself.
    """

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """2/μ."""
        return 2.0 / self.width

    def terms(self, z: Array, y: Array) -> Terms:
        """All three from two sweeps."""
        upper, lower, items = self._both(z, y)
        inverse = 1.0 / self.width
        curvature = Laplacian(
            items, (1.0, 1.0 - self.width), (inverse, -inverse), items.share,
            upper.laplacian.degrees,
        )  # fmt: skip
        value = inverse * (upper.value - lower.value)
        return Terms(value, inverse * (upper.slope - lower.slope), curvature)

    def to_hinge(self, z: Array, y: Array) -> tuple[Array, Array]:
        """The slope, and its Fenchel-Young terms for the hinge itself.

        With p = min((1 − m)/μ, 1) on active pairs they are Σ (1 − p)(1 − m), which vanishes except
        on the parabola: Σ h − h²/μ there, h = 1 − m.
        """
        upper, lower, _ = self._both(z, y)
        mu = self.width
        # Over m < 1 − μ with g = 1 − μ − m, h = g + μ, and (h − h²/μ) = −(g + g²/μ) cancels there.
        terms = upper.linear - 2.0 * upper.value / mu + lower.linear + 2.0 * lower.value / mu
        slope = (upper.slope - lower.slope) / mu
        return slope, np.maximum(terms, 0.0)

    def _both(self, z: Array, y: Array) -> tuple[Hinges, Hinges, Items]:
        items = self.items(z, y)
        return hinges(items, 1.0), hinges(items, 1.0 - self.width), items


class PairwiseHinge(Pairwise):
    """Mean of max(0, 1 − (zᵢ − zⱼ)) over the pairs of a query with yᵢ > yⱼ: RankSVM.

    Its multipliers are flows of at most 1 from item to item. The referee recognises those of a
    smoothed hinge (`SmoothedPairwiseHinge`) whose width is a power of ½.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> loss = mm.losses.PairwiseHinge().bind(np.array([0, 3]))
    >>> loss.value(np.array([2.0, 1.5, 0.0]), np.array([1.0, 0.0, 0.0]))
    array([0.25])
    """

    @property
    def smooth(self) -> bool:
        """No: pairs that differ by exactly 1 are at a kink."""
        return False

    def smoothed(self, width: float) -> SmoothedPairwiseHinge:
        """The hinge with a parabola of this width in its corner."""
        return SmoothedPairwiseHinge(width).bind(runs_of(self))

    def terms(self, z: Array, y: Array) -> Terms:
        """All three from one sweep."""
        found = hinges(self.items(z, y), 1.0)
        return Terms(found.linear, found.balance, self.curvature(z, y))

    def curvature(self, z: Array, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(z))

    def best_shift(self, z: Array, y: Array, mass: Array) -> float:
        """0: an intercept changes no difference."""
        return 0.0

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """The terms of a smoothed hinge whose slope at z is u, or of which u is a share."""
        items = self.items(z, y)
        z, found = items.z, hinges(items, 1.0)
        zero = np.zeros_like(found.linear)
        known = [self._known(u, found.balance, zero, found.linear)]
        for width in self._widths(u, z, y):
            slope, terms = self.smoothed(width).to_hinge(z, y)
            known.append(self._known(u, slope, terms, found.linear))
            if _alike(u, known[-1][1] * slope):
                break
        return bounded_by_slopes(self, u, found.linear, known)

    def _known(self, u: Array, slope: Array, terms: Array, value: Array) -> _Known:
        """With a share s of the multipliers of all pairs, the terms are s·terms + (1 − s)·ℓ."""
        s = share_of(u, slope)
        return slope, s, s * terms + (1.0 - s) * value

    def _widths(self, u: Array, z: Array, y: Array) -> list[float]:
        """Widths to try: those whose slopes are nearest to a share of u in some queries first."""
        units = runs_of(self)
        end = min(int(np.searchsorted(units, _ROWS_TO_TELL)), units.size - 1)
        rows, few = slice(0, int(units[end])), self.bind(units[: end + 1])
        left = [few.remainder(0.5**halved, u[rows], z[rows], y[rows]) for halved in _HALVED]
        return [0.5**halved for halved in np.argsort(left, kind="stable")]

    def remainder(self, width: float, u: Array, z: Array, y: Array) -> float:
        """What is left of u without its share of the slope of the smoothed hinge, as a square."""
        slope = self.smoothed(width).gradient(z, y)
        rest = u - share_of(u, slope) * slope
        return float(rest @ rest)


_Known = tuple[Array, float, Array]  # a slope, the share of it that u may be, and the terms


def _alike(u: Array, slope: Array) -> bool:
    size = float(np.abs(slope).max(initial=0.0))
    return bool((np.abs(u - slope) <= _SAME * size).all())


def share_of(u: Array, slope: Array) -> float:
    """The s in [0, 1] for which s·slope is nearest to u."""
    square = float(slope @ slope)
    s = float(u @ slope) / square if square > 0 else 1.0
    return 1.0 if abs(s - 1.0) <= _SAME else min(max(s, 0.0), 1.0)


def bounded_by_slopes(loss: Loss, u: Array, value: Array, known: list[_Known]) -> Array:
    """The terms of the known shares of slopes where u is one, ℓ(z) for queries where it is 0."""
    starts = runs_of(loss)[:-1]
    best = np.where(np.maximum.reduceat(np.abs(u), starts) == 0, value, np.inf)
    for slope, s, terms in known:
        size = np.repeat(np.maximum.reduceat(np.abs(slope), starts), np.diff(runs_of(loss)))
        alike = np.logical_and.reduceat(np.abs(u - s * slope) <= _SAME * size, starts)
        best = np.where(alike, np.minimum(best, terms), best)
    return np.asarray(best)
