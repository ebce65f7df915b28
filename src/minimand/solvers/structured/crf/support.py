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
from .metric import Metric
from .penalised import ChainPoint, Model, ScoredPoint, penalty_value

MOST = 300  # weights of such a step: up to so many the compiled minimiser is exact; derived
_EXACT = 1e-6  # share of the goal for the gap, to which the quadratic is minimised; safeguard
_ROUNDED = 1e-13  # share of its curvature that every weight gets: rounding; safeguard
_LEAST = 1e-4  # share of what the model promises that a step must gain; safeguard
_TRIALS = 30  # halvings of a step; safeguard


def support(point: ChainPoint, metric: Metric) -> IntArray:
    """The weights that are not zero or leave zero; of too many of the latter the steepest ones."""
    slope, own = point.steepest, np.flatnonzero(point.w)
    joining = np.flatnonzero((point.w == 0) & (slope != 0))
    room = max(MOST - own.size, 0)
    if joining.size > room:
        gain = np.square(slope[joining]) / metric.diagonal[joining]
        joining = joining[np.argsort(-gain, kind="stable")[:room]]
    return np.sort(np.concatenate([own, joining]))


def support_step(
    model: Model, point: ScoredPoint, chosen: IntArray, target: float
) -> ChainPoint | None:
    """The point after a Newton step over chosen weights; None if it does not descend."""
    curvature = _curvature(model, point.w.size, chosen)
    new = _minimiser(point, chosen, curvature, _EXACT * target)
    step = new - point.w
    promised = _core.dot(point.slope, step) + penalty_value(point.problem, new)
    promised -= penalty_value(point.problem, point.w)
    if not promised < 0:
        return None
    t = 1.0
    for _ in range(_TRIALS):
        found = model.point(new if t == 1.0 else point.w + t * step)
        if found.primal <= point.primal + _LEAST * t * promised:
            return found
        t *= 0.5
    return None


def _curvature(model: Model, size: int, chosen: IntArray) -> Array:
    """The curvature of the loss in the chosen weights, by a product for each.

    Nothing that is proved depends on it: a step is judged by the objective at its end.
    """
    found, unit = np.empty((chosen.size, chosen.size)), np.zeros(size)
    for row, place in zip(found, chosen):
        unit[place] = 1.0
        row[:] = model.hessian_product(unit)[0][chosen] - model.problem.l2 * unit[chosen]
        unit[place] = 0.0
    return 0.5 * (found + found.T)


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
