"""Losses of k classes that add up the margins by which other classes beat the right one.

    t_c = Δ(y, c) + z_c − z_y  for the classes c ≠ y,     ℓ = Σⱼ aⱼ·max(0, t₍ⱼ₎),  t₍₁₎ ≥ t₍₂₎ ≥ …

With weights a₁ ≥ a₂ ≥ … ≥ 0 this is the maximum of Σ p_c·t_c over all p ≥ 0 whose m largest entries
add up to at most a₁ + … + a_m, for every m. So ℓ is convex, its conjugate is −Σ p_c·Δ(y, c) at the
multipliers u_c = p_c, u_y = −Σp, and infinite elsewhere.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ... import _core
from ..._base.parameters import as_numbers
from ..._base.typing import Array, ArrayLike, BoolArray, IntArray
from ..._base.wording import brief
from ..base import Loss, Target

_ROOM = 1e-12  # by which sums of multipliers may exceed their limits; safeguard: rounding


class ClassMargins(Loss):
    """Σⱼ aⱼ·max(0, t₍ⱼ₎), t_c = Δ(y, c) + z_c − z_y sorted: the common part of such losses.

    y holds class numbers 0 … k − 1 and z has k scores per row. A subclass says its weights a in
    `order_weights` and has an attribute ``cost``.
    """

    target: ClassVar[Target] = "class"
    joint: ClassVar[bool] = True
    proved: bool = True
    flows: ClassVar[bool] = True
    cost: ArrayLike

    def order_weights(self, n_classes: int) -> Array:
        """a₁, a₂, …: a weight for every class but the right one."""
        raise NotImplementedError(f"{type(self).__name__} must define order_weights(n_classes)")

    def costs(self, n_classes: int) -> Array:
        """Δ as a k×k matrix."""
        if self.cost is None:
            return 1.0 - np.eye(n_classes)
        self.check_parameters()
        cost = np.ascontiguousarray(self.cost, dtype=float)
        if cost.shape != (n_classes, n_classes):
            raise ValueError(
                f"cost of {type(self).__name__} is {cost.shape[0]}×{cost.shape[1]}, but there are "
                f"{n_classes} classes: it needs a row and a column for every class."
            )
        return cost

    def check_parameters(self) -> None:
        """A square matrix of costs that are not negative, and zero where the class is right."""
        if self.cost is None:
            return
        cost = as_numbers(self.cost)
        if cost is None or cost.ndim != 2 or cost.shape[0] != cost.shape[1] or len(cost) < 2:
            raise ValueError(
                f"cost of {type(self).__name__} must be a square matrix of numbers, a row for "
                "every true class and a column for every predicted one, or None for costs of 1, "
                f"not {brief(self.cost)}."
            )
        if not np.isfinite(cost).all() or (cost < 0).any() or np.diag(cost).any():
            raise ValueError(
                f"cost of {type(self).__name__} must hold finite numbers that are not negative, "
                "and zeros on the diagonal, where the predicted class is the true one."
            )

    @property
    def smooth(self) -> bool:
        """No: there are kinks where margins tie or vanish."""
        return False

    @property
    def bounded(self) -> bool:
        """No."""
        return False

    @property
    def robust(self) -> bool:
        """Yes: no slope exceeds the sum of the weights."""
        return True

    @property
    def upper_bounds_zero_one(self) -> bool:
        """Whether the loss is at least 1 where another class has the largest score."""
        least = 1.0 if self.cost is None else _least_cost(np.asarray(self.cost, dtype=float))
        return bool(self.order_weights(2)[0] * least >= 1.0)

    @property
    def calibrated(self) -> bool:
        """No: with three or more classes of which none has probability ½, it need not be."""
        return False

    def value(self, z: Array, y: Array) -> Array:
        """Σⱼ aⱼ·max(0, t₍ⱼ₎)."""
        t, weights = self.margins(z, y), self.order_weights(z.shape[1])
        if not weights[1:].any():
            return weights[0] * np.maximum(t.max(axis=1), 0.0)
        if not np.ptp(weights):
            return weights[0] * np.maximum(t, 0.0).sum(axis=1)
        return np.maximum(_decreasing(t)[:, :-1], 0.0) @ weights

    def gradient(self, z: Array, y: Array) -> Array:
        """p_c = aⱼ at the class of rank j if its margin is positive, and −Σp at y."""
        t, weights = self.margins(z, y), self.order_weights(z.shape[1])
        p = np.zeros(z.shape)
        if not weights[1:].any():
            rows, worst = np.arange(len(t)), t.argmax(axis=1)
            p[rows, worst] = np.where(t[rows, worst] > 0, weights[0], 0.0)
            return self._closed(p, y)
        order = np.argsort(-t, axis=1, kind="stable")[:, :-1]
        np.put_along_axis(p, order, np.broadcast_to(weights, order.shape), axis=1)
        return self._closed(np.where(t > 0, p, 0.0), y)

    def curvature(self, z: Array, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(z))

    def conjugate(self, u: Array, y: Array) -> Array:
        """−Σ p_c·Δ(y, c) where p is within its limits."""
        p, at = self._others(u, y), class_numbers(y)
        paid = np.sum(p * self.costs(u.shape[1])[at], axis=1)
        return np.where(self._inside(u, p), -paid, np.inf)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """Σⱼ (a₁ + … + aⱼ − p₍₁₎ − … − p₍ⱼ₎)(t⁺₍ⱼ₎ − t⁺₍ⱼ₊₁₎) + Σ p_c·t⁻_c, in the order of t."""
        t, p = self.margins(z, y), self._others(u, y)
        if not self.order_weights(z.shape[1])[1:].any():
            return np.where(self._inside(u, p), self._single_young(t, p, y), np.inf)
        order = np.argsort(-t, axis=1, kind="stable")[:, :-1]
        positive = np.maximum(np.take_along_axis(t, order, axis=1), 0.0)
        falls = positive - np.append(positive[:, 1:], np.zeros((len(t), 1)), axis=1)
        used = np.cumsum(np.take_along_axis(p, order, axis=1), axis=1)
        left = np.maximum(np.cumsum(self.order_weights(z.shape[1])) - used, 0.0)
        terms = np.sum(left * falls, axis=1)
        terms += np.sum(np.maximum(p, 0.0) * np.maximum(-self._others(t, y), 0.0), axis=1)
        return np.where(self._inside(u, p), terms, np.inf)

    def _single_young(self, t: Array, p: Array, y: Array) -> Array:
        """(a₁ − Σp)·t⁺₍₁₎ + Σ p_c(t⁺₍₁₎ − t_c): the same if only the worst margin counts."""
        worst = np.maximum(t.max(axis=1), 0.0)
        left = np.maximum(self.order_weights(p.shape[1])[0] - p.sum(axis=1), 0.0)
        below = worst[:, None] - self._others(t, y)
        return left * worst + np.sum(np.maximum(p, 0.0) * below, axis=1)

    def into_domain(self, u: Array, y: Array) -> Array:
        """The nearest multipliers: an isotonic regression and a piecewise linear equation."""
        u = np.ascontiguousarray(u, dtype=float)
        return _core.project_classes(u, class_numbers(y), self.order_weights(u.shape[1]))

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """z minus step times the multipliers nearest to (Δ(y, ·) + z)/step."""
        step = np.reshape(step, (-1, 1)) if np.ndim(step) == 1 else step
        reached = self.costs(z.shape[1])[self.labels(y)] + z
        return np.asarray(z - step * self.into_domain(reached / step, y))

    def smoothed(self, width: float) -> Loss | None:
        """The envelope: see `rounded_margins`."""
        from .rounded_margins import RoundedMargins

        return RoundedMargins(self, width)

    def room(self, u: Array, y: Array) -> Array:
        """The distance of every p_c from zero and from the limits of the sums it is part of.

        That of the right class is what is left of the last sum.
        """
        weights = self.order_weights(u.shape[1])
        last = int(np.flatnonzero(weights)[-1])
        p = np.maximum(self._others(u, y), 0.0)
        order = np.argsort(-p, axis=1, kind="stable")
        used = np.cumsum(np.take_along_axis(p, order, axis=1), axis=1)
        left = np.maximum(np.append(np.cumsum(weights), weights.sum()) - used, 0.0)
        free = left.copy()
        free[:, last:] = np.inf  # the last sum is shared with the right class
        free = np.minimum.accumulate(free[:, ::-1], axis=1)[:, ::-1]
        room = np.empty_like(p)
        np.put_along_axis(room, order, free, axis=1)
        room = np.minimum(room, p)
        room[np.arange(len(p)), class_numbers(y)] = left[:, -1]
        return room

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(len(y))

    def best_shift(self, z: Array, y: Array, mass: Array) -> Array:
        """The best intercepts, which add up to 0; searched, to a small share of the mean loss."""
        from .class_shift import best_class_shift

        return best_class_shift(self, z, y, mass)

    def labels(self, y: Array) -> IntArray:
        """The numbers of the right classes."""
        return class_numbers(y)

    def tilt(self, y: Array) -> Array | None:
        """What is subtracted from every slope: see `tilted_margins`; None: nothing."""
        return None

    def margins(self, z: Array, y: Array) -> Array:
        """t_c, and −∞ at the right class."""
        at, rows = class_numbers(y), np.arange(len(z))
        t = self.costs(z.shape[1])[at]
        t += z
        t -= z[rows, at][:, None]
        t[rows, at] = -np.inf
        return t

    def _others(self, u: Array, y: Array) -> Array:
        """The multipliers with 0 at the right class."""
        p = u.copy()
        p[np.arange(len(u)), class_numbers(y)] = 0.0
        return p

    def _closed(self, p: Array, y: Array) -> Array:
        """P with −Σp at the right class."""
        p[np.arange(len(p)), class_numbers(y)] = -p.sum(axis=1)
        return p

    def _inside(self, u: Array, p: Array) -> BoolArray:
        """Whether u is a multiplier, up to rounding."""
        limits = np.cumsum(self.order_weights(u.shape[1]))
        room = _ROOM * max(1.0, float(limits[-1]))
        inside = (np.abs(u.sum(axis=1)) <= room) & (p.min(axis=1) >= -room)
        if limits[0] == limits[-1]:
            return np.asarray(inside & (p.sum(axis=1) <= limits[-1] + room))
        used = np.cumsum(_decreasing(p)[:, :-1], axis=1)
        return np.asarray(inside & (used <= limits + room).all(axis=1))


def class_numbers(y: Array) -> IntArray:
    """Class numbers as integers."""
    return np.ascontiguousarray(y, dtype=np.int64)


def _decreasing(t: Array) -> Array:
    return -np.sort(-t, axis=1)


def _least_cost(cost: Array) -> float:
    """The least cost of a wrong class."""
    return float(cost[~np.eye(len(cost), dtype=bool)].min())
