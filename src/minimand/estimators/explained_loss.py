"""How much of the loss a model explains: D², which is R² for the squared loss."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from .._base.typing import Array
from ..problem.intercept import best_shift
from ..problem.objective import EPS, Objective

_CLOSE = np.sqrt(EPS)  # share of |y|; safeguard: closer predictions differ by rounding only


def loss_above_infimum(objective: Objective, z: Array) -> float:
    """The mean loss of these scores minus the mean infimum of the loss."""
    with np.errstate(over="ignore", invalid="ignore"):
        return objective.mean(objective.loss.value(z, objective.y)) - objective.infimum


def best_constant(objective: Objective) -> Array:
    """The scores offset + b with the best b, whether or not the model has an intercept."""
    z = objective.scores(np.zeros(objective.coef_shape), objective.no_shift)
    return z + best_shift(objective, z)


def constant_loss(objective: Objective) -> float:
    """The loss of the best constant minus the mean infimum; 0 where y is a constant."""
    if _is_constant(objective):
        return 0.0
    return max(loss_above_infimum(objective, best_constant(objective)), 0.0)


def explained(objective: Objective, z: Array) -> float:
    """D² = 1 − (loss − infimum)/(loss of the best constant − infimum) of these scores.

    Where the best constant has no loss above the infimum, the score follows scikit-learn's R²: 1
    for a model that predicts the same, 0 for others. NaN, with a warning, for a single sample.
    """
    if objective.n_samples < 2:
        warnings.warn(
            "score is not well-defined with less than two samples.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
        return float("nan")
    total, left = constant_loss(objective), loss_above_infimum(objective, z)
    if total > 0.0:
        return 1.0 - left / total
    return float(left <= 0.0 or _same_predictions(objective, z, best_constant(objective)))


def _same_predictions(objective: Objective, z: Array, best: Array) -> bool:
    """Whether two score vectors predict the same up to rounding, relative to y unless y = 0."""
    with np.errstate(over="ignore"):
        found, wanted = objective.loss.transform(z), objective.loss.transform(best)
    size = np.where(objective.y == 0.0, 1.0, np.abs(objective.y))
    return bool((np.abs(found - wanted) <= _CLOSE * size).all())


def _is_constant(objective: Objective) -> bool:
    """Whether one constant is best for every sample: y and the offset do not vary."""
    given = [objective.y] if objective.offset is None else [objective.y, objective.offset]
    return all((np.ptp(values, axis=0) == 0).all() for values in given)
