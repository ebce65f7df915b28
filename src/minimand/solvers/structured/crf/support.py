"""Newton steps of a model with an l1 part, exact on the weights that may move.

With the curvature H of those weights as a matrix, the quadratic model of the loss and the penalty
are minimised together:

    min over u of   g·(u − w) + ½ (u − w)ᵀH(u − w) + l1·‖u‖₁ + ½·l2·‖u‖²

Signs change freely within a step, and units do not matter: every weight is taken in the unit of its
curvature. Conjugate gradients in an orthant need neither, and are cheaper where they do well.
"""

from __future__ import annotations

import numpy as np

from .... import _core
from ...._base.typing import Array, IntArray
from ..penalty import penalty_value
from .metric import Metric
from .penalised import ChainPoint, Model, ScoredPoint

MOST = 300  # weights of such a step: up to so many the compiled minimiser is exact; derived
_EXACT = 1e-6  # share of the goal for the gap, to which the quadratic is minimised; safeguard
_ROUNDED = 1e-13  # share of its curvature that every weight gets: rounding; safeguard
_LEAST = 1e-4  # share of what the model promises that a step must gain; safeguard
_TRIALS = 30  # halvings of a step; safeguard
_TRUE = 0.2  # share of its promise that a step may miss, and the curvature still serves; safeguard


def support(point: ChainPoint, metric: Metric) -> IntArray:
    """The weights that are not zero or leave zero; of too many of the latter the steepest ones."""
    slope, own = point.steepest, np.flatnonzero(point.w)
    joining = np.flatnonzero((point.w == 0) & (slope != 0))
    room = max(MOST - own.size, 0)
    if joining.size > room:
        gain = np.square(slope[joining]) / metric.diagonal[joining]
        joining = joining[np.argsort(-gain, kind="stable")[:room]]
    return np.sort(np.concatenate([own, joining]))


class SupportSteps:
    """Newton steps over chosen weights, with a curvature that serves as long as it is true.

    A row of it costs a product with the curvature of all weights, so that rows of an earlier point
    are taken again until a step gains something else than it promised. Nothing that is proved
    depends on them: a step is judged by the objective at its end.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._forget()

    def _forget(self) -> None:
        self._known, self._matrix = np.empty(0, dtype=np.int64), np.empty((0, 0))

    def cost(self, chosen: IntArray) -> int:
        """How many rows are not known."""
        return int(np.isin(chosen, self._known, invert=True, assume_unique=True).sum())

    def step(self, point: ScoredPoint, chosen: IntArray, target: float) -> ChainPoint | None:
        """The point after a step; None if it does not descend."""
        fresh = not self._known.size
        curvature = self._curvature(point.w.size, chosen)
        new = _minimiser(point, chosen, curvature, _EXACT * target)
        step = new - point.w
        promised = _core.dot(point.slope, step) + penalty_value(point.problem, new)
        promised -= penalty_value(point.problem, point.w)
        bend = 0.5 * float(step[chosen] @ curvature @ step[chosen])
        found = self._along(point, new, promised)
        if found is None:
            self._forget()
            return None if fresh else self.step(self._model.scored(point.w), chosen, target)
        missed = abs(found.primal - point.primal - promised - bend)
        true = missed <= _TRUE * abs(promised + bend) or found.gap <= _TRUE * point.gap
        if not true:
            self._forget()
        return found

    def _along(self, point: ScoredPoint, new: Array, promised: float) -> ChainPoint | None:
        """The first point of ever shorter steps that is good; None if there is none.

        Where the objective cannot tell a gain from rounding, the gap does: units of columns may be
        so large that it is far from zero there.
        """
        if -promised <= point.rounding:
            found = self._model.point(new)
            good = found.gap < point.gap and found.primal <= point.primal + point.rounding
            return found if good else None
        t, step = 1.0, new - point.w
        for _ in range(_TRIALS):
            found = self._model.point(new if t == 1.0 else point.w + t * step)
            if found.primal <= point.primal + _LEAST * t * promised:
                return found
            t *= 0.5
        return None

    def _curvature(self, size: int, chosen: IntArray) -> Array:
        """The curvature of the loss in the chosen weights, by a product for each new one."""
        known = self._known if self._known.size <= MOST else np.intersect1d(self._known, chosen)
        every = np.union1d(known, chosen)
        old = np.searchsorted(self._known, known)
        matrix, places = np.zeros((every.size, every.size)), np.searchsorted(every, known)
        matrix[np.ix_(places, places)] = self._matrix[np.ix_(old, old)]
        unit, l2 = np.zeros(size), self._model.problem.l2
        for place in np.setdiff1d(chosen, known).tolist():
            unit[place] = 1.0
            row = self._model.hessian_product(unit)[0][every] - l2 * unit[every]
            unit[place] = 0.0
            at = int(np.searchsorted(every, place))
            matrix[at] = matrix[:, at] = row
        self._known, self._matrix = every, matrix
        own = np.searchsorted(every, chosen)
        return matrix[np.ix_(own, own)]


def _minimiser(point: ChainPoint, chosen: IntArray, curvature: Array, tol: float) -> Array:
    """The weights that minimise the quadratic model with the penalty, in units of the curvature."""
    problem, own = point.problem, np.maximum(np.diag(curvature), 0.0)
    least = _ROUNDED * float(own.max(initial=0.0)) or 1.0
    unit = 1.0 / np.sqrt(np.where(own > 0, own, least))
    gram = unit[:, None] * curvature * unit
    gram.flat[:: chosen.size + 1] += _ROUNDED
    inside = point.w[chosen] / unit
    linear = unit * point.slope[chosen] - gram @ inside
    l1, l2 = problem.l1 * unit, problem.l2 * unit * unit
    _core.minimise_gram(gram, linear, inside, l1, l2, tol)
    new = point.w.copy()
    new[chosen] = unit * inside
    return new
