"""The dual of a problem over its rows, at the slopes of a first model."""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array
from ...canonical import RowDual
from ...losses import Rowwise
from ...problem.objective import Objective, Point

SHARE = 0.8  # share of the target that the estimate of the gap must reach; safeguard
SLOW = 0.1  # share of the gap that a run may leave before another solver takes over; safeguard
_WORK = 2e8  # numbers read in one run; safeguard: a run can be stopped within a second
_EPOCHS = 10, 300  # sweeps of one run, least and most; safeguard


def epochs_of(numbers: float) -> int:
    """The sweeps of one run over so many numbers."""
    return int(np.clip(_WORK / max(numbers, 1), *_EPOCHS))


def dual_of(objective: Objective, start: Point) -> RowDual:
    """The dual at the slopes of the loss at the start; at zero for the null model."""
    loss, form = objective.loss.rowwise(objective.y), objective.penalty.sum_over_features
    assert loss is not None
    assert form is not None
    if objective.offset is not None:
        loss = loss._replace(shift=loss.shift - loss.sign * objective.offset)
    v = _slopes(objective, start, loss)
    w = -objective.backward(objective.mass * loss.sign * v) / form.l2
    if start is not objective.null and _is_worse_than_zero(objective, loss.sign * v, w):
        return dual_of(objective, objective.null)
    reach = objective.mean(np.abs(loss.at(np.asarray(objective.null.b)) - loss.psi.middle))
    return RowDual(
        objective.design, loss, objective.mass, form.l2, objective.intercept, v, w, start.b, reach
    )


def _is_worse_than_zero(objective: Objective, theta: Array, w: Array) -> bool:
    """Whether D(θ) = −mean(ℓ*(θ) − θ·offset) − ½Σ l2·w² is less than D(0), the mean infimum.

    The slopes at a model far from the optimum give a w that is even farther from it.
    """
    form = objective.penalty.sum_over_features
    assert form is not None
    paid = objective.loss.conjugate(theta, objective.y)
    if objective.offset is not None:
        paid = paid - theta * objective.offset
    return not -objective.mean(paid) - form.value(w) >= objective.infimum


def _slopes(objective: Objective, start: Point, loss: Rowwise) -> Array:
    if start is objective.null:
        return loss.psi.clip(np.zeros(objective.n_samples))
    z = start.z if objective.offset is None else start.z - objective.offset
    return loss.psi.slope(loss.at(z))
