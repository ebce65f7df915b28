"""Quantiles that must not cross as risers, for the interior-point method.

The slope of quantile c rises from −q to 1 − q at z_c = y. The order z_c ≤ z_{c+1} is a bound: a
slope that rises without limit where z_c − z_{c+1} reaches zero.
"""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array
from ...losses import Quantiles
from ...losses.curvature import Coupled
from .slope_rises import Rises

_ROOM = 2.0  # slacks at the start, in units of the residuals; safeguard


class OrderRises:
    """A riser for every quantile of a row, and one for every pair of neighbours."""

    def __init__(self, loss: Quantiles, y: Array, mass: Array) -> None:
        levels = loss.levels
        self._y, self._k = y, levels.size
        one, none = np.ones((1, 1)), np.zeros((1, 1))
        base = np.repeat(-levels, y.size)
        self._quantiles = Rises(base, one, none, one, none, weight=np.tile(mass, self._k))
        endless = np.full((1, 1), np.inf)
        self._order = Rises(0.0, one, none, endless, none, weight=np.tile(mass, self._k - 1))
        self.parts = [self._quantiles, self._order]

    def begin(self, z: Array, room: float) -> tuple[float, float]:
        """Slacks of the size of the residuals."""
        r, t = self._residuals(z), self._crossings(z)
        width = room * _ROOM * float(np.abs(r).mean()) or room
        self._quantiles.begin(r, np.full(r.size, width), np.ones(r.size))
        self._order.begin(t, np.full(t.size, width), np.full(t.size, 1.0 / self._k))
        return width, 1.0

    def system(self, z: Array) -> Coupled:
        """The rates of the quantiles, and edges between neighbours."""
        k, n = self._k, self._y.size
        ground, _ = self._quantiles.system(self._residuals(z))
        order, _ = self._order.system(self._crossings(z))
        edges = np.zeros((k, k, n))
        below = np.arange(k - 1)
        edges[below, below + 1] = edges[below + 1, below] = order.reshape(k - 1, n)
        return Coupled(edges, ground.reshape(k, n))

    def pulled(self, z: Array) -> Array:
        """The slopes of the quantiles, and those of the order on both sides."""
        slopes = self._quantiles.pulled(self._residuals(z))
        return self._slopes(slopes, self._order.pulled(self._crossings(z)))

    def follow(self, dz: Array) -> None:
        """The change of the residuals, and of the distances between neighbours."""
        self._quantiles.follow(np.ascontiguousarray(dz.T).ravel())
        self._order.follow(self._crossings(dz))

    def move(self, primal: float) -> None:
        """There are no variables of single rows."""

    @property
    def theta(self) -> Array:
        """The slopes of the quantiles, and those of the order on both sides."""
        return self._slopes(self._quantiles.slope(np.empty(0)), self._order.v.ravel())

    def _residuals(self, z: Array) -> Array:
        return np.ascontiguousarray((z - self._y[:, None]).T).ravel()

    def _crossings(self, z: Array) -> Array:
        """z_c − z_{c+1}."""
        return np.ascontiguousarray(-np.diff(z, axis=1).T).ravel()

    def _slopes(self, slopes: Array, order: Array) -> Array:
        theta = slopes.reshape(self._k, -1).copy()
        across = order.reshape(self._k - 1, -1)
        theta[:-1] += across
        theta[1:] -= across
        return np.ascontiguousarray(theta.T)
