"""Steps of a chain model: quasi-Newton directions, Newton directions, and the search along them."""

from __future__ import annotations

import numpy as np

from .... import _core
from ...._base.typing import Array, BoolArray
from ...base import Control
from ...steps.krylov import conjugate_gradients
from .likelihood import Scores
from .metric import Metric
from .penalised import ChainPoint, Model, ScoredPoint

_FLAT = 0.4  # share of the first slope along a step, below which it ends; safeguard
_LOOSE = 0.9  # the same where a trial costs as much as a step; convention (Wolfe)
_SETTLED = 20  # pairs after which steps of length 1 are good; measured on CoNLL-2000
_FARTHEST = 8.0  # factor by which a step is lengthened at most; safeguard
_LEAST = 1e-4  # share of what the slope promises that a step must gain; safeguard
_TRIALS = 30  # points along a step; safeguard
_PRODUCTS = 200  # products of one Newton step; safeguard
_PRODUCTS_IN_ORTHANT = 50  # the same if it may end at a change of sign; safeguard
_DAMPING = 1e-3  # share of the diagonal, as the loss alone has flat directions; safeguard
_CURVED = 1e-12  # share of Σ|s_i y_i| that s·y must exceed; safeguard: rounding


class LimitedMemory:
    """The last steps s and changes y of the slope: H⁻¹ is learnt from s = H⁻¹y (L-BFGS).

    The inner products s·y of all pairs are kept, so that a direction is four products with the
    matrices of pairs. It needs few digits: the pairs may be rounded to single precision.
    """

    def __init__(self, most: int, size: int, *, rounded: bool) -> None:
        kind = np.float32 if rounded else np.float64
        self._steps, self._changes = np.empty((most, size), kind), np.empty((most, size), kind)
        self._products = np.empty((most, most))  # [i, j]: s_i·y_j, of s that are not newer than y
        self._order: list[int] = []  # rows of the pairs, the oldest first
        self._factor = 1.0

    @property
    def settled(self) -> bool:
        """Whether so much has been learnt that steps need no search."""
        return len(self._order) >= _SETTLED

    @property
    def empty(self) -> bool:
        """Whether nothing has been learnt yet."""
        return not self._order

    def learn(self, s: Array, y: Array, metric: Metric) -> None:
        """Note a step and the change of the slope along it."""
        product = _core.dot(s, y)
        most = np.sqrt(_core.dot(s, s) * _core.dot(y, y))  # ≥ Σ|s_i y_i|, much so in wild units
        if product <= _CURVED * most and product <= _CURVED * float(np.abs(s * y).sum()):
            return
        most, known = self._steps.shape[0], len(self._order)
        place = known if known < most else self._order.pop(0)
        self._order.append(place)
        self._steps[place], self._changes[place] = s, y
        known = len(self._order)
        self._products[:known, place] = _core.dense_matvec(self._steps[:known], y)
        self._products[place, place] = product
        self.fit(metric)

    def fit(self, metric: Metric) -> None:
        """The factor of a metric that agrees best with the last pair."""
        if self._order:
            last = self._order[-1]
            y = self._changes[last].astype(np.float64)
            self._factor = self._products[last, last] / _core.dot(y, metric.solve(y))

    def direction(self, slope: Array, metric: Metric) -> Array:
        """−H⁻¹·slope, by two loops over the pairs around the metric."""
        order, known = self._order, len(self._order)
        if not known:
            return -metric.solve(slope)
        steps, changes, products = self._steps[:known], self._changes[:known], self._products
        own, shares = _core.dense_matvec(steps, slope), np.zeros(known)
        for i, place in reversed(list(enumerate(order))):
            newer = order[i + 1 :]
            rest = own[place] - products[place, newer] @ shares[newer]
            shares[place] = rest / products[place, place]
        found = metric.solve(slope - _core.dense_rmatvec(changes, shares))
        found *= self._factor
        own, added = _core.dense_matvec(changes, found), np.zeros(known)
        for i, place in enumerate(order):
            older = order[:i]
            rest = own[place] + products[older, place] @ added[older]
            added[place] = shares[place] - rest / products[place, place]
        found += _core.dense_rmatvec(steps, added)
        return -found


def newton_direction(
    model: Model, point: ChainPoint, metric: Metric, control: Control, goal: float
) -> tuple[Array, Scores | None]:
    """−H⁻¹·slope by conjugate gradients, until the residual r has ‖r‖² ≤ goal; and its scores.

    With an l1 part only weights that are not zero, or leave zero, move.
    """
    slope = point.steepest
    free: BoolArray | None = None
    near: Metric = metric
    most, damping = _PRODUCTS, 0.0
    if point.problem.l1:
        free = (point.w != 0) | (slope != 0)
        near = metric.on(free)
        most = _PRODUCTS_IN_ORTHANT
        damping = 0.0 if point.problem.l2 else _DAMPING

    def product(v: Array) -> tuple[Array, Array]:
        image, along = model.hessian_product(v)
        if damping:
            image += damping * (metric.diagonal * v)
        if free is not None:
            image *= free
        return image, along.unary

    def stop(residual: Array, energy: float, first: float) -> bool:
        return _core.dot(residual, residual) <= goal or control.expired

    found, unary = conjugate_gradients(product, -slope, near.solve, stop, most)
    if free is not None:
        return found, None  # it changes when it is kept in its orthant
    return found, model.scores_with(unary, found)


def within_orthant(point: ChainPoint, step: Array) -> Array:
    """The step cut where a weight would change its sign, or leave zero against the slope."""
    if not point.problem.l1:
        return step
    side = np.where(point.w != 0, np.sign(point.w), -np.sign(point.steepest))
    new = point.w + step
    return np.where(new * side > 0, new, 0.0) - point.w


class Line:
    """The points along a step, and the slope of P there.

    Where the scores of a point are known they are linear along the step, so that a point costs a
    pass over the chains and no product with the data.
    """

    def __init__(self, model: Model, point: ChainPoint, step: Array, along: Scores | None) -> None:
        self._model, self._point, self._step = model, point, step
        self._scores: Scores | None = None
        if isinstance(point, ScoredPoint) and (along is not None or not model.direct):
            self._scores = point.scores
            self._along = model.likelihood.scores(step) if along is None else along
        self.first = _core.dot(point.steepest, step)
        self._lean = point.problem.l2 * _core.dot(point.w, step)
        self._bent = point.problem.l2 * _core.dot(step, step)

    def at(self, t: float) -> tuple[ChainPoint, float]:
        """The point after t of the step, and the slope of P along it."""
        w, penalty = self._point.w + t * self._step, self._lean + t * self._bent
        if self._scores is None:
            found = self._model.point(w)
            return found, _core.dot(found.slope, self._step) + penalty
        near = self._model.at(w, self._scores.moved(t, self._along))
        return near, near.terms.slope.dot(self._along) + penalty

    def bend(self) -> float:
        """The curvature of P along the step, at its beginning."""
        known = self._scores is not None
        along = self._along if known else self._model.likelihood.scores(self._step)
        return self._model.bend(along) + self._bent


def search(
    model: Model,
    point: ChainPoint,
    step: Array,
    along: Scores | None = None,
    *,
    measure: bool = False,
    loose: bool = False,
) -> ChainPoint | None:
    """The point along a step where the slope has nearly vanished; None if it does not descend.

    Φ(t) = P(w + t·step) is convex, so a bracket of the root of Φ' is safe. The first trial is t = 1
    or, to ``measure`` the length of a step that may be far too long, where a parabola with the
    curvature along it has its minimum. A ``loose`` search ends sooner. Gains below the rounding
    of P count, too: where columns have large units, they are what closes the gap.
    """
    if point.problem.l1:
        return search_orthant(model, point, step)
    line = Line(model, point, step, along)
    first = line.first
    if not first < 0:
        return None
    lo, hi, slope_lo, slope_hi = 0.0, np.inf, first, np.inf
    t, flat, most = 1.0, _LOOSE if loose else _FLAT, point.primal + point.rounding
    if measure and model.curved and isinstance(point, ScoredPoint):
        bend = line.bend()
        t = min(-first / bend, 1.0) if bend > 0 else 1.0
    for _ in range(_TRIALS):
        found, slope = line.at(t)
        if not np.isfinite(found.primal):
            slope = np.inf
        if abs(slope) <= -flat * first and found.primal <= most:
            return found
        if slope < 0:
            lo, slope_lo = t, slope
        else:
            hi, slope_hi = t, slope
        if hi < np.inf and hi - lo <= 1e-10 * hi:  # share of the step: rounding; safeguard
            break
        t = _next_trial(first, lo, slope_lo, hi, slope_hi)
    return None


def search_orthant(model: Model, point: ChainPoint, step: Array) -> ChainPoint | None:
    """The same with an l1 part: the first of ever shorter steps in their orthant that is good.

    Every step ends in zeros of its own, so that each needs a product with the data.
    """
    t = 1.0
    for _ in range(_TRIALS):
        moved = within_orthant(point, t * step)
        first = _core.dot(point.steepest, moved)
        if first < 0:
            found = model.point(point.w + moved)
            if found.primal <= point.primal + _LEAST * first:
                return found
        t *= 0.5
    return None


def _next_trial(first: float, lo: float, slope_lo: float, hi: float, slope_hi: float) -> float:
    """The root of the slope by the secant, inside the bracket or not too far beyond it."""
    if np.isinf(hi):
        return (
            lo * min(first / (first - slope_lo), _FARTHEST) if slope_lo > first else _FARTHEST * lo
        )
    share = 0.5 if np.isinf(slope_hi) else slope_lo / (slope_lo - slope_hi)
    return lo + min(max(share, 0.05), 0.95) * (hi - lo)  # inner 90 % of the bracket; safeguard
