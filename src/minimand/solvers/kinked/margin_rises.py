"""Class margins in decreasing order as risers, for the interior-point method.

With weights a₁ ≥ a₂ ≥ … and s = aⱼ − aⱼ₊₁ > 0 for the levels j, the loss is the sum over levels of
s times the j largest positive margins,

    min over λ ≥ 0 of  s·(j·λ + Σ_c max(0, t_c − λ)),     t_c = Δ(y, c) + z_c − z_y,  c ≠ y.

λ is a variable of the row. With the rates r_c of the hinges and r_y of λ ≥ 0, eliminating it
couples the scores by the edges r_c·r_e/Σr. If j is the number of all margins, λ is 0; if j is 1, λ
is the largest margin and the hinges are constraints λ ≥ t_c.
"""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array, IntArray
from ...losses.curvature import Coupled
from ...losses.joint.class_margins import ClassMargins
from .slope_rises import Rises

_NARROWEST = 1e-2  # least slacks at the start, in units of the costs; safeguard


class MarginRises:
    """The risers of all margins, level by level."""

    def __init__(self, loss: ClassMargins, y: Array, mass: Array, k: int) -> None:
        self._labels, self._tilt = loss.labels(y), loss.tilt(y)
        self._rows = np.arange(len(y))
        self._others = _others(self._labels, k)
        cost = loss.costs(k)[self._labels].T
        self._cost = np.take_along_axis(cost, self._others, axis=0)
        weights = loss.order_weights(k)
        steps = weights - np.append(weights[1:], 0.0)
        self._levels = [
            _Level(int(j) + 1, float(steps[j]), k - 1, mass) for j in np.flatnonzero(steps)
        ]
        self.parts = [part for level in self._levels for part in level.parts]

    def begin(self, z: Array, room: float) -> tuple[float, float]:
        """Slacks of the size of the loss: a warm start has little left to do."""
        t = self._margins(z)
        lost = float(np.maximum(t.max(axis=0), 0.0).mean())
        width = room * max(lost, _NARROWEST * float(self._cost.mean()))
        width = width if width > 0 else room
        for level in self._levels:
            level.begin(t, width)
        return width, sum(level.share for level in self._levels)

    def system(self, z: Array) -> Coupled:
        """Edges between the scores of every row."""
        t = self._margins(z)
        k, n = len(t) + 1, t.shape[1]
        edges = np.zeros((k, k, n))
        for level in self._levels:
            among, to_right = level.system(t)
            if to_right is None:  # λ = 0: every margin is alone with the right class
                edges[self._others, self._labels, self._rows] += among
                edges[self._labels, self._others, self._rows] += among
                continue
            rates = np.zeros((k, n))
            rates[self._others, self._rows] = among
            rates[self._labels, self._rows] = to_right
            total = rates.sum(axis=0)
            for c in range(k):
                edges[c] += rates[c] / total * rates
        return Coupled(edges)

    def pulled(self, z: Array) -> Array:
        """Slopes p_c of the margins, and −Σp at the right class."""
        t = self._margins(z)
        return self._slopes(np.sum([level.pulled(t) for level in self._levels], axis=0))

    def follow(self, dz: Array) -> None:
        """The change of t, and with it of λ and of the risers."""
        dt = self._differences(dz)
        for level in self._levels:
            level.follow(dt)

    def move(self, primal: float) -> None:
        """Move λ."""
        for level in self._levels:
            level.move(primal)

    @property
    def theta(self) -> Array:
        """p_c, and −Σp at the right class."""
        return self._slopes(np.sum([level.slope for level in self._levels], axis=0))

    def _margins(self, z: Array) -> Array:
        return self._differences(z) + self._cost

    def _differences(self, z: Array) -> Array:
        """z_c − z_y, (k − 1, n)."""
        columns = z.T
        return np.take_along_axis(columns, self._others, axis=0) - columns[self._labels, self._rows]

    def _slopes(self, p: Array) -> Array:
        u = np.zeros((p.shape[1], len(p) + 1))
        u[self._rows, self._others] = p
        u[self._rows, self._labels] = -p.sum(axis=0)
        return u if self._tilt is None else u - self._tilt


class _Level:
    """s times the j largest of the positive margins of every row."""

    def __init__(self, j: int, share: float, count: int, mass: Array) -> None:
        self.j, self.share, self._count = j, share, count
        height = np.inf if j == 1 and count > 1 else share
        one, none = np.ones((1, 1)), np.zeros((1, 1))
        self._hinges = Rises(
            0.0, one, none, np.full((1, 1), height), none, weight=np.tile(mass, count)
        )
        self._above: Rises | None = None  # λ ≥ 0
        if j < count:
            self._above = Rises(j * share, -one, none, np.full((1, 1), np.inf), none, weight=mass)
        self.parts = [self._hinges, *([] if self._above is None else [self._above])]

    def begin(self, t: Array, width: float) -> None:
        n = t.shape[1]
        self._level = np.full(n, 0.0)
        if self._above is not None:
            self._level = np.maximum(t.max(axis=0), 0.0) + width
            fair = self.j * self.share / (self._count + 1)
            self._above.begin(self._level, np.full(n, width), np.full(n, fair))
        fair = self.j * self.share / (self._count + 1)
        tau = (t - self._level).ravel()
        self._hinges.begin(tau, np.full(t.size, width), np.full(t.size, fair))

    def system(self, t: Array) -> tuple[Array, Array | None]:
        """The rates of the hinges, and that of λ."""
        rate, _ = self._hinges.system((t - self._level).ravel())
        self._rate = rate.reshape(t.shape)
        if self._above is None:
            return self._rate, None
        above, _ = self._above.system(self._level)
        self._total = above + self._rate.sum(axis=0)
        return self._rate, above

    def pulled(self, t: Array) -> Array:
        """The slopes of the margins after a step with Δt = 0, in which λ moves."""
        p = self._hinges.pulled((t - self._level).ravel()).reshape(t.shape)
        if self._above is None:
            return p
        self._left = self._above.pulled(self._level) - p.sum(axis=0)
        return p + self._rate * (self._left / self._total)

    def follow(self, dt: Array) -> None:
        self._move = np.zeros(dt.shape[1])
        if self._above is not None:
            self._move = ((self._rate * dt).sum(axis=0) - self._left) / self._total
            self._above.follow(self._move)
        self._hinges.follow((dt - self._move).ravel())

    def move(self, primal: float) -> None:
        self._level = self._level + primal * self._move

    @property
    def slope(self) -> Array:
        return self._hinges.v.reshape(self._count, -1)


def _others(labels: IntArray, k: int) -> IntArray:
    """The classes other than the right one, (k − 1, n)."""
    slots = np.arange(k - 1)[:, None]
    return np.asarray(slots + (slots >= labels), dtype=np.int64)
