"""From a corner to the next: the simplex method on straight pieces, for a start that is near.

A corner of Σ massᵢ·ψ(tᵢ) + Σ l1ⱼ|wⱼ| has as many rows B on a knot as there are coefficients A that
are not zero, and the intercept. The slopes of the rows B follow from those of the others,

    X_BAᵀ(mass∘v_B) = −slope of the other rows − l1∘sign(w_A),

and the corner is optimal if no v leaves the range of its knot and no slope of another coefficient
exceeds its l1. Otherwise one row leaves its knot, or one coefficient leaves zero; along that edge
the objective falls until so many kinks are passed that it would rise. Along a path of alphas the
next corner is a few edges away.
"""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array, IntArray
from ...design.base import dense_block
from ...losses import PLQ
from ...penalties import Separable
from ...problem.objective import Objective, Point
from .vertex import Offer

_PIVOTS = 60  # edges; safeguard: from farther away interior points take less time
_LARGEST = 60  # coefficients of a corner; safeguard: every edge takes a system of them
_NUMBERS = 400_000  # in X, which every edge reads some times; safeguard
_ON = 1e-9  # share of the mean |t|: rows so near a knot are on it; safeguard
_EXCESS = 1e-9  # share of a range, by which slopes may leave it; safeguard: rounding
_SINGULAR = 1e-10  # least relative pivot of the system of a corner; safeguard


def next_corner(objective: Objective, plq: PLQ, form: Separable, start: Point) -> Offer | None:
    """The optimal corner that edges lead to; None if the start is no corner, or it is far away."""
    straight = plq.pieces.linear and not form.l2.any() and not form.has_constraints
    if not straight or not start.w.any() or objective.design.sparse:
        return None
    n, d = objective.design.shape
    if n * d > _NUMBERS or np.count_nonzero(start.w) > _LARGEST:
        return None
    corner = _Corner(objective, plq, form, start)
    objective.meter.passes += 1.0
    for _ in range(_PIVOTS):
        if not corner.regular:
            return None
        if corner.optimal:
            return Offer([(corner.w, corner.b)], [plq.sign * plq.pieces.clip(corner.slopes)])
        objective.meter.passes += 2.0
        if not corner.move():
            return None
    return None


class _Corner:
    """A corner, and the edge along which the objective falls fastest."""

    def __init__(self, objective: Objective, plq: PLQ, form: Separable, start: Point) -> None:
        self._x = objective.design.map_rows(dense_block)
        self._knots, self._levels = plq.pieces.knots, plq.pieces.slopes
        self._signed = objective.mass * plq.sign
        self._mass, self._sign, self._l1 = objective.mass, plq.sign, form.l1
        self._sizes = np.where(objective.root_spread > 0, objective.root_spread, 1.0)
        self._intercept = objective.intercept
        self.w, self.b = start.w.copy(), float(start.b)
        self._t = plq.at(objective.scores(self.w, self.b))
        away = np.abs(self._t[:, None] - self._knots)
        knot = away.argmin(axis=1)
        width = float(objective.mean(np.abs(self._t))) + float(np.abs(self._knots).max())
        on = (away.min(axis=1) <= _ON * width) & (objective.mass > 0)
        self._rows = np.flatnonzero(on)  # B
        self._place = np.searchsorted(self._knots, self._t)  # the piece, or the knot of rows in B
        self._place[on] = knot[on]
        self._t[on] = self._knots[knot[on]]
        self._side = np.sign(self.w)
        self._moving = np.flatnonzero((self.w != 0) | (form.l1 == 0))  # A
        self._settle()

    def _settle(self) -> None:
        """The slopes of the rows on knots, and how far slopes leave their ranges."""
        rows, moving = self._rows, self._moving
        self.regular = rows.size == moving.size + self._intercept
        if not self.regular:
            return
        block = self._x[rows]
        matrix = block[:, moving] / self._sizes[moving]
        if self._intercept:
            matrix = np.column_stack([matrix, np.ones(rows.size)])
        self._matrix, self._block = matrix, block
        self.slopes = self._levels[self._place]
        self.slopes[rows] = 0.0
        u = self._signed * self.slopes
        slope = u @ self._x
        right = (slope[moving] + self._l1[moving] * self._side[moving]) / self._sizes[moving]
        right = np.append(right, u.sum()) if self._intercept else right
        try:
            self._inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            self.regular = False
            return
        largest = np.abs(matrix).sum(axis=1).max(initial=0.0)
        self.regular = bool(np.abs(self._inverse).max(initial=0.0) * largest <= 1 / _SINGULAR)
        y = -(self._inverse.T @ right)
        self.slopes[rows] = y / self._signed[rows]
        self._slope = slope + y @ block
        self._look()

    def _look(self) -> None:
        rows, place = self._rows, self._place[self._rows]
        low, high = self._levels[place], self._levels[place + 1]
        v = self.slopes[rows]
        above = np.maximum(v - high, low - v) - _EXCESS * (high - low)
        self._above = self._mass[rows] * above
        beyond = np.abs(self._slope) - (1.0 + _EXCESS) * self._l1
        beyond[self._moving] = -np.inf
        self._beyond = beyond / self._sizes

    @property
    def optimal(self) -> bool:
        """Whether no slope leaves its range."""
        return not (self._above.max(initial=0.0) > 0 or self._beyond.max(initial=0.0) > 0)

    def move(self) -> bool:
        """To the end of the steepest edge; False if there is none."""
        dw = np.zeros(self.w.size)
        if self._above.max(initial=-np.inf) >= self._beyond.max(initial=-np.inf):
            edge = self._row_leaves(int(self._above.argmax()), dw)
        else:
            edge = self._coefficient_leaves(int(self._beyond.argmax()), dw)
        fall, db = edge
        dt = self._sign * (self._x @ dw + db)
        dt[self._rows] = 0.0
        lengths, weights, owners, signs = self._kinks_along(dw, dt)
        order = np.argsort(lengths, kind="stable")
        passed = int(np.searchsorted(np.cumsum(weights[order]), fall * (1.0 - _EXCESS)))
        if passed >= order.size:
            return False
        before, last = order[:passed], order[passed]
        crossed = before[owners[before] < self._t.size]
        np.add.at(self._place, owners[crossed], signs[crossed])
        turned = owners[before[owners[before] >= self._t.size]] - self._t.size
        self._side[turned] *= -1.0
        length = float(lengths[last])
        self.w += length * dw
        self.b += length * db
        self._t += length * dt
        self._stop_at(int(owners[last]), int(signs[last]))
        self._settle()
        return True

    def _row_leaves(self, number: int, dw: Array) -> tuple[float, float]:
        """The edge on which one row leaves its knot: by how much the objective falls, and Δb."""
        row = int(self._rows[number])
        place = self._place[row]
        up = self.slopes[row] > self._levels[place + 1]
        end = self._levels[place + 1] if up else self._levels[place]
        fall = self._mass[row] * abs(self.slopes[row] - end)
        way = self._inverse[:, number] * ((1.0 if up else -1.0) * self._sign[row])
        db = self._fill_in(way, dw)
        self._place[row] = place + up
        self._rows = np.delete(self._rows, number)
        return fall, db

    def _coefficient_leaves(self, place: int, dw: Array) -> tuple[float, float]:
        """The edge on which one coefficient leaves zero, likewise."""
        way = -float(np.sign(self._slope[place])) / self._sizes[place]
        db = self._fill_in(-(self._inverse @ (self._block[:, place] * way)), dw)
        dw[place] = way
        fall = (abs(self._slope[place]) - self._l1[place]) / self._sizes[place]
        self._side[place] = np.sign(way)
        self._moving = np.append(self._moving, place)
        return fall, db

    def _fill_in(self, way: Array, dw: Array) -> float:
        """Set Δw of the moving coefficients; returns Δb."""
        count = self._moving.size
        dw[self._moving] = way[:count] / self._sizes[self._moving]
        return float(way[count]) if self._intercept else 0.0

    def _kinks_along(self, dw: Array, dt: Array) -> tuple[Array, Array, IntArray, IntArray]:
        """Where kinks lie, by how much each turns the slope up, whose they are, and their sides.

        Owners are rows, and coefficients after them.
        """
        found = []
        for k, knot in enumerate(self._knots):
            side = np.where(dt > 0, 1, -1)
            ahead = (dt != 0) & np.where(dt > 0, self._place <= k, self._place > k)
            rows = np.flatnonzero(ahead)
            lengths = np.maximum((knot - self._t[rows]) / dt[rows], 0.0)
            jump = self._levels[k + 1] - self._levels[k]
            found.append((lengths, self._mass[rows] * jump * np.abs(dt[rows]), rows, side[rows]))
        towards = np.flatnonzero(dw * self._side < 0)
        lengths = -self.w[towards] / dw[towards]
        turn = 2.0 * self._l1[towards] * np.abs(dw[towards])
        found.append((lengths, turn, towards + dt.size, np.zeros(towards.size, dtype=int)))
        lengths, weights, owners, signs = (np.concatenate(part) for part in zip(*found))
        return lengths, weights, owners, signs

    def _stop_at(self, owner: int, side: int) -> None:
        """The row that is on a knot now, or the coefficient that is zero."""
        count = self._t.size
        if owner >= count:
            self.w[owner - count], self._side[owner - count] = 0.0, 0.0
            self._moving = self._moving[self._moving != owner - count]
            return
        if side < 0:
            self._place[owner] -= 1
        self._t[owner] = self._knots[self._place[owner]]
        self._rows = np.append(self._rows, owner)
