"""Crammer and Singer's loss of k classes, and losses of the ranks of classes.

All are sums of margins in decreasing order (see `class_margins`) and differ in their weights:

    CrammerSinger   1, 0, 0, …           the worst class
    TopK(k)         1/k, …, 1/k, 0, …    the k worst
    Ranking         1, 1, 1, …           all of them
    WeightedRanking any that do not increase
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from ..._base.parameters import as_numbers
from ..._base.typing import Array, ArrayLike
from ..._base.wording import brief
from ..base import Loss
from .class_margins import ClassMargins


class CrammerSinger(ClassMargins):
    """max_c (Δ(y, c) + z_c) − z_y: the hinge of k classes.

    The right class should beat every other class c by a margin of Δ(y, c). The loss is never below
    Δ(y, ŷ), the cost of the predicted class ŷ.

    Two classes at alpha equal the hinge of m = ±(z₁ − z₀) at alpha/2: the optimal scores are
    opposite, z₁ = −z₀ = ½z, so that ½‖W‖² = ¼‖w‖².

    Parameters
    ----------
    cost : array-like of shape (n_classes, n_classes), optional
        Δ: a row for every true class, a column for every predicted one, in the order of
        ``classes_``; not negative, with zeros on the diagonal. By default every mistake costs 1.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> z, y = np.array([[2.0, 1.5, 0.0], [2.0, 1.5, 0.0]]), np.array([0.0, 2.0])
    >>> mm.CrammerSinger().value(z, y)
    array([0.5, 3. ])
    >>> mm.CrammerSinger(cost=[[0, 1, 4], [1, 0, 1], [4, 1, 0]]).value(z, y)
    array([2., 6.])
    """

    def __init__(self, cost: ArrayLike = None) -> None:
        self.cost = cost

    def order_weights(self, n_classes: int) -> Array:
        """1, 0, 0, …"""
        return np.append(1.0, np.zeros(n_classes - 2))


class Ranking(ClassMargins):
    """Σ_{c≠y} max(0, Δ(y, c) − (z_y − z_c)): every class that is not beaten by its margin counts.

    Parameters
    ----------
    cost : array-like of shape (n_classes, n_classes), optional
        Δ, as in `CrammerSinger`; by default 1 for every mistake.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Ranking().value(np.array([[2.0, 1.5, 0.0]]), np.array([2.0]))
    array([5.5])
    """

    def __init__(self, cost: ArrayLike = None) -> None:
        self.cost = cost

    def order_weights(self, n_classes: int) -> Array:
        """1, 1, 1, …"""
        return np.ones(n_classes - 1)


class WeightedRanking(ClassMargins):
    """Σⱼ aⱼ·max(0, t₍ⱼ₎), t_c = Δ(y, c) − (z_y − z_c) in decreasing order.

    With weights that fall fast, the top of the ranking matters most: (1, 0, …) is `CrammerSinger`,
    (1, 1, …) is `Ranking`. Weights that increase somewhere make the loss non-convex: it is then a
    difference of two convex ones, and a fit is certified as a stationary point.

    Parameters
    ----------
    weights : array-like, optional
        a₁, a₂, …, for at most one class less than there are; those left out are 0. By default
        aⱼ = 1/j.
    cost : array-like of shape (n_classes, n_classes), optional
        Δ, as in `CrammerSinger`.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.WeightedRanking([1.0, 0.5]).value(np.array([[2.0, 1.5, 0.0]]), np.array([2.0]))
    array([4.25])
    """

    def __init__(self, weights: ArrayLike = None, cost: ArrayLike = None) -> None:
        self.weights = weights
        self.cost = cost

    def check_parameters(self) -> None:
        """Weights that are not negative, the first of them positive."""
        super().check_parameters()
        if self.weights is None:
            return
        weights = as_numbers(self.weights)
        listed = weights is not None and weights.ndim == 1 and np.isfinite(weights).all()
        if weights is None or not listed or (weights < 0).any() or not weights.any():
            raise ValueError(
                "weights of WeightedRanking must be a list of finite numbers that are not "
                f"negative, at least one of them positive, not {brief(self.weights)}."
            )

    def order_weights(self, n_classes: int) -> Array:
        """The weights, followed by zeros."""
        if self.weights is None:
            return np.asarray(1.0 / np.arange(1, n_classes))
        weights = np.asarray(self.weights, dtype=float)
        if weights[n_classes - 1 :].any():
            raise ValueError(
                f"WeightedRanking has {weights.size} weights, but with {n_classes} classes there "
                f"are only {n_classes - 1} others to rank."
            )
        kept = weights[: n_classes - 1]
        return np.append(kept, np.zeros(n_classes - 1 - kept.size))

    @property
    def convex(self) -> bool:
        """Whether the weights do not increase."""
        return self.weights is None or not (np.diff(np.asarray(self.weights, float)) > 0).any()

    @property
    def refusal(self) -> str:
        """None: increasing weights make it non-convex, but its tangents are convex."""
        return ""

    def _parts(self, n_classes: int) -> tuple[WeightedRanking, WeightedRanking]:
        """Two losses of weights that do not increase, whose difference this one is."""
        weights = self.order_weights(n_classes)
        falls = weights - np.append(weights[1:], 0.0)
        above = np.cumsum(np.maximum(falls, 0.0)[::-1])[::-1]
        below = np.cumsum(np.maximum(-falls, 0.0)[::-1])[::-1]
        return WeightedRanking(above, self.cost), WeightedRanking(below, self.cost)

    def tangent(self, z: Array, y: Array, share: float = 1.0) -> tuple[Loss, Array] | None:
        """The first part, minus the tangent of the second at z."""
        from .tilted_margins import TiltedMargins

        above, below = self._parts(z.shape[1])
        return TiltedMargins(above), np.column_stack([y, share * below.gradient(z, y)])

    def best_shift(self, z: Array, y: Array, mass: Array) -> Array:
        """The best intercepts; with increasing weights those of the first part."""
        if self.convex:
            return super().best_shift(z, y, mass)
        return self._parts(z.shape[1])[0].best_shift(z, y, mass)


class TopK(ClassMargins):
    """(1/k)·Σ_{j≤k} max(0, t₍ⱼ₎), t_c = 1 − (z_y − z_c): the mean of the k worst margins.

    A convex surrogate of the top-k error, which forgives a model that ranks the right class among
    the first k. ``TopK(1)`` is `CrammerSinger`.

    Parameters
    ----------
    k : int, default=5
        How many guesses are allowed; less than the number of classes.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.TopK(2).value(np.array([[2.0, 1.5, 0.0]]), np.array([2.0]))
    array([2.75])
    """

    cost = None

    def __init__(self, k: int = 5) -> None:
        self.k = k

    def check_parameters(self) -> None:
        """k ≥ 1."""
        if not isinstance(self.k, Integral) or isinstance(self.k, bool) or self.k < 1:
            raise ValueError(f"k of TopK must be an integer of at least 1, got {self.k!r}.")

    def order_weights(self, n_classes: int) -> Array:
        """1/k, k times, followed by zeros."""
        if self.k >= n_classes:
            raise ValueError(
                f"TopK(k={self.k}) needs more than {self.k} classes, but there are {n_classes}."
            )
        weights = np.zeros(n_classes - 1)
        weights[: self.k] = 1.0 / self.k
        return weights

    @property
    def upper_bounds_zero_one(self) -> bool:
        """Only for k = 1."""
        return bool(self.k == 1)
