"""Newton steps for losses over runs of rows with an l1 part: on the support and a few columns."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..._base.typing import Array
from ...certificate import Judgement
from ...losses.curvature import Curvature
from ...penalties import Separable
from ...problem.objective import Objective, Point
from ..base import Control
from ..steps.line_search import line_search
from .next_columns import best_columns, support_size

_SHARE = 1e-3  # share of the target that a sweep over the quadratic model may gain; safeguard
_DAMPINGS = 0.0, 1e-2, 1.0, 100.0  # of `_reach`, until a step descends; safeguard
_GROWTH = 2  # columns of a step per coefficient that is not zero, at least; safeguard


def sparse_step(
    objective: Objective,
    form: Separable,
    judgement: Judgement,
    curvature: Curvature,
    control: Control,
) -> Point | None:
    """The minimiser of the quadratic model on some columns, or part of the way; None: no descent.

    ``curvature`` is that of the loss with the masses of the rows. Where no pair is on a curved
    piece of the loss the model is flat, and then damped.
    """
    point = judgement.point
    columns = best_columns(objective, judgement, form, _GROWTH * support_size(form, point.w))
    design, own, w = objective.design.columns(columns), form.take(columns), point.w[columns]
    objective.meter.passes += 2.0 * columns.size / objective.n_features
    gram = np.ascontiguousarray(curvature.gram(design))
    reach = _reach(objective.spread[columns], own, judgement.slope[columns], w, judgement.gap)
    for damping in _DAMPINGS:
        model = gram.copy()
        model.flat[:: columns.size + 1] += damping * reach
        new = w.copy()
        linear = judgement.slope[columns] - model @ w
        _core.minimise_gram(model, linear, new, own.l1, own.l2, _SHARE * control.target)
        dw, dz = np.zeros_like(point.w), design.matvec(new - w)
        dw[columns] = new - w
        t, moved = line_search(objective, form, point, dw, dz, 0.0)
        if t > 0.0:
            break
    if t == 0.0:
        return None
    if t == 1.0:  # zeros of the model are kept exactly
        full = point.w.copy()
        full[columns] = new
        return Point(full, moved.b, moved.z)
    return moved


def _reach(spread: Array, form: Separable, slope: Array, w: Array, gap: float) -> Array:
    """Curvatures with which a step along the steepest descent promises twice the gap.

    They grow with the mean squares of the columns, so that units of columns do not matter.
    """
    total = slope + form.l2 * w + form.l1 * np.sign(w)
    steep = np.where(w == 0, np.maximum(np.abs(total) - form.l1, 0.0), np.abs(total))
    size = np.where(spread > 0, spread, 1.0)
    return size * float((steep**2 / size).sum()) / (4.0 * max(gap, 1e-300))
