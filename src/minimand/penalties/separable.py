"""Penalties that are sums over features: Σ l1ⱼ|wⱼ| + ½ l2ⱼ wⱼ², with or without bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._base.typing import Array, ArrayLike, BoolArray, IntArray
from .base import BoundPenalty, Penalty, number
from .bounds import young_within

if TYPE_CHECKING:
    from .grouped import Grouped


@dataclass(frozen=True, eq=False)
class Separable(BoundPenalty):
    """Σ l1ⱼ|wⱼ| + ½ l2ⱼ wⱼ² where loⱼ ≤ wⱼ ≤ hiⱼ: the canonical form that compiled kernels see.

    ``bounds`` holds lo and hi, infinite where a side is open; None if no feature is bounded.
    With k scores the arrays are of shape (d, k), and every coefficient counts as a feature.
    """

    l1: Array
    l2: Array
    bounds: tuple[Array, Array] | None = None

    def __add__(self, other: Separable) -> Separable:
        if not isinstance(other, Separable):
            return NotImplemented
        bounds = _intersection(self.bounds, other.bounds)
        return Separable(self.l1 + other.l1, self.l2 + other.l2, bounds)

    def times(self, factor: float) -> Separable:
        """factor·(Σ l1|w| + ½ l2 w²) within the same bounds."""
        return Separable(factor * self.l1, factor * self.l2, self.bounds)

    def value(self, w: Array) -> float:
        """Σ l1|w| + ½ l2 w²; inf outside the bounds."""
        if self.bounds is not None and ((w < self.bounds[0]) | (w > self.bounds[1])).any():
            return np.inf
        return _core.separable_value(self.l1.ravel(), self.l2.ravel(), w.ravel())

    def project(self, w: Array) -> Array:
        """The nearest point within the bounds."""
        return w if self.bounds is None else np.clip(w, *self.bounds)

    def at_bound(self, w: Array) -> BoolArray:
        """Features that lie on a bound."""
        if self.bounds is None:
            return np.zeros(w.shape, dtype=bool)
        return (w <= self.bounds[0]) | (w >= self.bounds[1])

    def relaxed(self, w: Array) -> Separable | None:
        """The same penalty without the bounds that w does not touch: ≤ Ω, and equal at w.

        A lower bound of the relaxed problem therefore holds for Ω too. None if no bound can go.
        """
        if self.bounds is None:
            return None
        lo, hi = self.bounds
        open_below, open_above = (w > lo) & np.isfinite(lo), (w < hi) & np.isfinite(hi)
        if not (open_below | open_above).any():
            return None
        lo, hi = np.where(open_below, -np.inf, lo), np.where(open_above, np.inf, hi)
        return replace(self, bounds=(lo, hi))

    def by_feature(self, w: Array, v: Array) -> Array:
        """l1|w| + ½ l2 w² + (|v| − l1)₊²/(2 l2) − v·w, written so that nothing cancels.

        With c = soft(v, l1), the slope that is left for the quadratic part, it is
        (c − l2·w)²/(2 l2) + |w|·(l1 − sign(w)·(v − c)): two terms that are never negative.
        """
        if self.bounds is not None:
            return young_within(self.l1, self.l2, *self.bounds, w, v)
        l1, l2 = self.l1.ravel(), self.l2.ravel()  # contiguous vectors, as the core takes them
        return _core.separable_young(l1, l2, w.ravel(), v.ravel()).reshape(w.shape)

    def shrink(self, v: Array) -> float:
        """The least l1ⱼ/|vⱼ| of unbounded features with an l1 part only, at most 1."""
        limits = self._limits if self.bounds is None else self._beside(self._limits, v)
        return _core.largest_scale(v.ravel(), limits.ravel())

    def dual_norm(self, v: Array) -> float | None:
        """max |vⱼ|/l1ⱼ; None if some feature has no l1 part, or bounds."""
        if self.bounds is not None or (self.l1 == 0).any():
            return None
        return float((np.abs(v) / self.l1).max(initial=0.0))

    def shrink_into_box(self, v: Array) -> float:
        """The largest s ≤ 1 with |s·vⱼ| ≤ l1ⱼ wherever l1ⱼ > 0."""
        limits = self._box if self.bounds is None else self._beside(self._box, v)
        return _core.largest_scale(v.ravel(), limits.ravel())

    def _beside(self, limits: Array, v: Array) -> Array:
        """The same limits, but none for a feature that a bound stops where v pulls it."""
        return np.where(self._runs_away(v), limits, np.inf)

    @cached_property
    def _limits(self) -> Array:
        """Within these Ω* is finite: l1 of features without an l2 part."""
        return np.where(self.l1_only, self.l1, np.inf)

    @cached_property
    def _box(self) -> Array:
        """The l1 box: l1 of all features that have one."""
        return np.where(self.l1 > 0, self.l1, np.inf)

    def shares(self, v: Array) -> set[float]:
        """Also the largest scale within the l1 box: beyond it Ω* is finite but may be huge."""
        largest = self.shrink(v)
        return {largest, self.shrink_into_box(v)} if self.mixed else {largest}

    def unscalable(self, v: Array) -> BoolArray:
        """Unpenalised features without a bound in the direction of v."""
        if self.bounds is None:
            return self.free & (v != 0)
        return (self.l1 == 0) & (self.l2 == 0) & (v != 0) & self._runs_away(v)

    def _runs_away(self, v: Array) -> BoolArray | bool:
        """Whether a feature has no bound in the direction of v."""
        if self.bounds is None:
            return True
        return np.isinf(np.where(v > 0, self.bounds[1], self.bounds[0]))

    @cached_property
    def mixed(self) -> bool:
        """Whether some feature has both an l1 and an l2 part."""
        return bool(((self.l1 > 0) & (self.l2 > 0)).any())

    @cached_property
    def l1_only(self) -> BoolArray:
        """Features with a bounded dual: l1 > 0 and l2 = 0."""
        return (self.l1 > 0) & (self.l2 == 0)

    @cached_property
    def free(self) -> BoolArray:
        """Unpenalised features without a bound on either side."""
        free = (self.l1 == 0) & (self.l2 == 0)
        if self.bounds is None:
            return free
        return free & np.isinf(self.bounds[0]) & np.isinf(self.bounds[1])

    @property
    def sum_over_features(self) -> Separable:
        """The penalty itself."""
        return self

    @property
    def row_sizes(self) -> tuple[Array, Array] | None:
        """l1 and l2, if there are no bounds and every coefficient is its own row."""
        plain = self.l1.ndim == 1 and self.bounds is None
        return (self.l1, self.l2) if plain and ((self.l1 > 0) | (self.l2 > 0)).all() else None

    @cached_property
    def sum_over_groups(self) -> Grouped | None:
        """The penalty with every coefficient as a group of its own, if there are no bounds."""
        from .grouped import Grouped
        from .partition import Groups

        if self.bounds is not None:
            return None
        size = self.l1.size
        alone = Groups(np.arange(size).reshape(self.l1.shape), size)
        return Grouped(alone, np.zeros(size), self.l1, self.l2)

    @cached_property
    def function_of_norm(self) -> Separable | None:
        """½ l2‖w‖², if there is no other part and l2 is the same for every feature.

        The length of a single coefficient is its absolute value.
        """
        if self.l1.size == 1 and self.bounds is None:
            return Separable(self.l1.reshape(-1), self.l2.reshape(-1))
        ridge = self.ridge
        if ridge is None or not ridge.size or (ridge != ridge.flat[0]).any():
            return None
        return Separable(np.zeros(1), ridge.reshape(-1)[:1])

    @cached_property
    def ridge(self) -> Array | None:
        """l2, if there is no l1 part and no bound."""
        return None if self.makes_zeros or self.has_constraints else self.l2

    @cached_property
    def l2_everywhere(self) -> bool:
        """Whether every feature has an l2 part."""
        return bool((self.l2 > 0).all())

    @cached_property
    def makes_zeros(self) -> bool:
        """Whether there is an l1 part."""
        return bool(self.l1.any())

    @property
    def has_constraints(self) -> bool:
        """Whether there are bounds."""
        return self.bounds is not None

    def prox(self, w: Array, step: float | Array) -> Array:
        """soft(w, step·l1)/(1 + step·l2), clipped to the bounds."""
        kept = np.maximum(np.abs(w) - step * self.l1, 0.0)
        return self.project(np.copysign(kept, w) / (1.0 + step * self.l2))

    def slope_along(self, w: Array, step: Array, *, leaving: bool) -> float:
        """Σ (l2·w + l1·sign)·step, with the sign of the side where the step is."""
        if not self.makes_zeros:
            return _core.dot((self.l2 * w).ravel(), step.ravel())
        sign, way = np.sign(w), np.sign(step)
        kinked = np.where(sign == 0, way if leaving else -way, sign)
        # Not by BLAS, whose threads cost more than such a short sum.
        return _core.dot((self.l2 * w + self.l1 * kinked).ravel(), step.ravel())

    def reached(self, slope: Array, w: Array, share: float) -> BoolArray:
        """Features in the model, and those whose slope is this share of l1 at least."""
        return (np.abs(slope) >= share * self.l1) | (w != 0)

    def in_units(self, units: Array) -> Separable:
        """The penalty as a function of x, w = units∘x."""
        bounds = self.bounds and (self.bounds[0] / units, self.bounds[1] / units)
        return Separable(self.l1 * units, self.l2 * units**2, bounds)

    def faint(self, reach: Array, slope: Array, share: float) -> BoolArray:
        """Features whose penalty at |w| = reach has at most that share of a slope."""
        steep = self.l1 + self.l2 * reach
        return (steep > 0) & (steep <= share * slope)

    def without(self, features: BoolArray) -> Separable:
        """The same penalty, but none for some features; their bounds stay."""
        l1, l2 = np.where(features, 0.0, self.l1), np.where(features, 0.0, self.l2)
        return Separable(l1, l2, self.bounds)

    def take(self, features: IntArray) -> Separable:
        """The same penalty on some features only."""
        bounds = None
        if self.bounds is not None:
            bounds = self.bounds[0][features], self.bounds[1][features]
        return Separable(self.l1[features], self.l2[features], bounds)


def _intersection(
    one: tuple[Array, Array] | None, two: tuple[Array, Array] | None
) -> tuple[Array, Array] | None:
    """The intersection of two boxes; an error if it is empty."""
    if one is None or two is None:
        return one or two
    lo, hi = np.maximum(one[0], two[0]), np.minimum(one[1], two[1])
    if (lo > hi).any():
        j = int(np.argwhere(lo > hi)[0, 0])
        low, high = float(lo[lo > hi][0]), float(hi[lo > hi][0])
        raise ValueError(
            f"the bounds contradict each other: feature {j} would have to be at least {low:g} "
            f"and at most {high:g}; widen one of them."
        )
    return lo, hi


def _weights(weights: ArrayLike, shape: Any, owner: str) -> Array:
    """Per-feature factors, checked; ones by default.

    With k scores, all scores of a feature have the same factor.
    """
    if weights is None:
        return np.ones(shape)
    n_features = shape if np.ndim(shape) == 0 else shape[0]
    array = factors(weights, n_features, owner, "feature")
    return array if np.ndim(shape) == 0 else np.broadcast_to(array[:, None], shape)


def factors(weights: Any, count: int, owner: str, what: str) -> Array:
    """One factor per feature, group or output, checked."""
    try:
        array = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights of {owner} must be numbers, one per {what}.") from error
    if array.shape != (count,):
        raise ValueError(
            f"weights of {owner} must hold one number per {what}: "
            f"expected shape ({count},), got {array.shape}."
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"weights of {owner} must be finite and not negative.")
    return array


class _Weighted(Penalty):
    """Base of L1 and L2: optional per-feature weights."""

    proved = True

    def __init__(self, weights: ArrayLike = None) -> None:
        self.weights = weights


class L1(_Weighted):
    """‖w‖₁ = Σ|wⱼ|, or Σ weightsⱼ|wⱼ|: many coefficients become exactly zero.

    Parameters
    ----------
    weights : array-like of shape (n_features,), optional
        Per-feature factors; 0 leaves a column unpenalised.

    Notes
    -----
    wⱼ = 0 is optimal iff |∂ⱼL| ≤ α; wⱼ ≠ 0 ⇒ |∂ⱼL| = α, L the mean loss.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.L1().value([1.0, -2.0])
    3.0
    """

    def bind(self, n_features: Any, alpha: float = 1.0) -> Separable:
        """l1 = α·weights."""
        return Separable(alpha * _weights(self.weights, n_features, "L1"), np.zeros(n_features))

    def formula(self, factor: float = 1.0) -> str:
        """factor·‖w‖₁."""
        inner = "‖w‖₁" if self.weights is None else "Σ cⱼ|wⱼ|"
        return f"{number(factor)}{inner}"


class L2(_Weighted):
    """½‖w‖² = ½ Σwⱼ², or ½ Σ weightsⱼwⱼ²: ridge.

    Parameters
    ----------
    weights : array-like of shape (n_features,), optional
        Per-feature factors; 0 leaves a column unpenalised.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.L2().value([3.0, 4.0])
    12.5
    """

    def bind(self, n_features: Any, alpha: float = 1.0) -> Separable:
        """l2 = α·weights."""
        return Separable(np.zeros(n_features), alpha * _weights(self.weights, n_features, "L2"))

    def formula(self, factor: float = 1.0) -> str:
        """factor·½‖w‖²."""
        inner = "½‖w‖²" if self.weights is None else "½Σ cⱼwⱼ²"
        return f"{number(factor)}{inner}"


class NoPenalty(Penalty):
    """No penalty: plain empirical risk.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.NoPenalty().value([3.0, 4.0])
    0.0
    """

    proved = True

    def bind(self, n_features: Any, alpha: float = 1.0) -> Separable:
        """l1 = l2 = 0."""
        return Separable(np.zeros(n_features), np.zeros(n_features))

    def formula(self, factor: float = 1.0) -> str:
        """0."""
        return "0"
