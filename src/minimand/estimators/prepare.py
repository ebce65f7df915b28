"""An estimator on data, up to the point where it would be solved."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._typing import ArrayLike
from ..objective import Objective
from . import data
from .classifier import Classifier
from .regressor import Regressor


def copy_of(estimator: Any) -> Any:
    """An unfitted copy of one of our estimators; refuses others in words."""
    if not isinstance(estimator, Regressor | Classifier):
        raise TypeError(f"expected a minimand estimator, not {type(estimator).__name__}.")
    return clone(estimator)


def prepare(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
    *,
    fitted: bool = False,
) -> list[Objective]:
    """The objectives an estimator minimises on these data, one per score.

    Unless it is fitted already, the estimator learns the names of the features, the features
    themselves and the classes, as in `fit`.
    """
    settings = estimator._checked_settings()
    X, y = data.check_xy(estimator, X, y, fitted=fitted)
    mapped = estimator._map_features(X) if fitted else estimator._fit_features(X, y)
    if isinstance(estimator, Regressor):
        return [estimator._objective(settings, mapped, y, sample_weight, offset)]
    output, objectives = estimator._objectives(settings, mapped, y, sample_weight, offset)
    if not fitted:
        estimator.classes_ = output.classes
    elif not np.array_equal(output.classes, estimator.classes_):
        raise ValueError(
            f"y holds the classes {output.classes.tolist()}, but the model was fitted on "
            f"{estimator.classes_.tolist()}: pass the data it was fitted on."
        )
    return objectives
