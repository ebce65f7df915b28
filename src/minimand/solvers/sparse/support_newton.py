"""Newton steps on the support of a weighted quadratic with an l1 part, without a Gram.

Coordinate descent finds the support quickly and is then slow if columns are correlated. With the
signs held fixed the problem is a linear system, solved by conjugate gradients without a Gram.
"""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array, IntArray
from ...canonical import Weighted, movable
from ...penalties import Separable
from ...problem.objective import EPS, dot
from ..steps.krylov import conjugate_gradients

_PRODUCTS = 30  # CG products of a step; safeguard
_HALVINGS = 6  # halvings of a step that does not gain; safeguard


def polish(
    model: Weighted,
    penalty: Separable,
    w: Array,
    spread: Array,
    slope: Array,
    tol: float,
    share: float,
) -> float:
    """One step over the nonzero coefficients; w and the model's q change in place.

    Coefficients that would change sign stop at zero, others at their bounds. ``spread`` holds the
    mean square of every column, for the preconditioner, and ``slope`` that of the model; the step
    ends when its energy is below ``share`` of its first, or a tenth of ``tol``. Returns the move
    of the intercept.
    """
    support = np.flatnonzero(movable(penalty, w))
    if not support.size:
        return 0.0
    places, form = model.columns[support], penalty.take(support)
    start = w[support]
    slope = slope[support] + form.l2 * start + form.l1 * np.sign(start)
    step = _newton_step(model, form, places, spread[support], slope, tol, share)
    before = form.value(start)
    for _ in range(_HALVINGS):
        target = start + step
        target[(start * target < 0) & (form.l1 > 0)] = 0.0
        target = form.project(target)
        move = _expand(model, places, target - start)
        scores = model.design.matvec(move)
        shift = _shift(model, scores)
        scores += shift
        change = dot(model.q, scores) + 0.5 * dot(model.h * scores, scores)
        if change + form.value(target) - before <= 0:
            w[support] = target
            model.q[:] += model.h * scores
            return shift
        step *= 0.5
    return 0.0


def _newton_step(
    model: Weighted,
    form: Separable,
    places: IntArray,
    spread: Array,
    slope: Array,
    tol: float,
    share: float,
) -> Array:
    """Conjugate gradients on the columns of the support, until a step gains less than tol."""
    total = float(model.h.sum())
    centre = np.zeros(places.size)
    if model.centre and total > 0:
        centre = model.design.rmatvec(model.h)[places] / total
    diagonal = np.maximum(spread - centre**2, EPS * spread) * total + form.l2
    diagonal[diagonal <= 0] = 1.0

    def product(v: Array) -> tuple[Array, Array]:
        full = _expand(model, places, v)
        image, scores = model.design.curvature_product(full, -dot(centre, v), model.h)
        return image[places] + form.l2 * v, scores

    def stop(residual: Array, energy: float, start: float) -> bool:
        return energy <= max(share * start, 0.1 * tol)

    return conjugate_gradients(product, -slope, lambda r: r / diagonal, stop, _PRODUCTS)[0]


def _expand(model: Weighted, places: IntArray, values: Array) -> Array:
    full = np.zeros(model.design.shape[1])
    full[places] = values
    return full


def _shift(model: Weighted, scores: Array) -> float:
    """The best move of the intercept for a move of the scores."""
    total = float(model.h.sum())
    if not model.centre or total == 0:
        return 0.0
    return -(float(model.q.sum()) + dot(model.h, scores)) / total
