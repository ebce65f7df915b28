"""An estimator on data, up to the point where it would be solved."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.typing import AnyArray, Array, ArrayLike
from ..losses import Loss
from ..outputs import ClassOutput, ScalarOutput
from ..problem.objective import Objective
from .classifier import Classifier
from .inputs import data
from .inputs.class_weights import weighted_by_class
from .noise import settled
from .regressor import Regressor
from .settings import Settings


def copy_of(estimator: Any) -> Any:
    """An unfitted copy of one of our estimators; refuses others in words."""
    if not isinstance(estimator, Regressor | Classifier):
        raise TypeError(
            f"estimator must be a minimand Regressor or Classifier, not "
            f"{type(estimator).__name__}; what a pipeline would do first goes into its features=."
        )
    return clone(estimator)


def prepare(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
    *,
    fitted: bool = False,
    learn: bool = True,
) -> list[Objective]:
    """The objectives an estimator minimises on these data, one per score.

    Unless it is fitted already, the estimator, which must be a copy, learns the names of the
    features, the features themselves, the classes and the scale of its loss, as in `fit`.
    Without ``learn``, features that are learnt along with the model stay as they are drawn, which
    takes no time.
    """
    final = fitted or not learn
    settings = estimator._checked_settings()
    X, y = data.check_xy(estimator, X, y, fitted=fitted)
    mapped = estimator._map_features(X) if fitted else estimator._fit_features(X, y)
    if isinstance(estimator, Regressor):
        objectives = [estimator._objective(settings, mapped, y, sample_weight, offset, fitted)]
        objectives = objectives if fitted else _settled(estimator, settings, objectives)
        return _learnt(estimator, X, y, sample_weight, objectives, final)
    data.check_labels(y)
    rest = (sample_weight, offset, fitted)
    output, objectives = estimator._objectives(settings, mapped, y, *rest)
    if not fitted:
        estimator.classes_ = output.classes
        objectives = _settled(estimator, settings, objectives)
    elif not np.array_equal(output.classes, estimator.classes_):
        raise ValueError(
            f"y holds the classes {output.classes.tolist()}, but the model was fitted on "
            f"{estimator.classes_.tolist()}: pass the data it was fitted on."
        )
    return _learnt(estimator, X, y, sample_weight, objectives, final)


def prepared(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, offset: ArrayLike
) -> tuple[Any, Settings, list[Objective]]:
    """A copy of an estimator for whoever varies its alpha, its settings, and its objectives.

    Its alpha is a number then, which folds of the data share.
    """
    probe = copy_of(estimator)
    objectives = prepare(probe, X, y, sample_weight, offset)
    if probe.alpha is None:
        probe.alpha = probe.alpha_
    return probe, probe._checked_settings(), objectives


def _settled(estimator: Any, settings: Settings, objectives: list[Objective]) -> list[Objective]:
    """Objectives whose loss has a number where it says "auto"; the copy has that loss from now on.

    So all models that are made from it, on a path or in folds, have the same one.
    """
    settings, objectives = settled(estimator, settings.at(estimator.alpha_), objectives)
    if hasattr(estimator, "loss_"):
        estimator.loss = settings.loss
    return objectives


def _learnt(
    estimator: Any,
    X: Any,
    y: AnyArray,
    sample_weight: ArrayLike,
    objectives: list[Objective],
    final: bool,
) -> list[Objective]:
    """The objectives on features that are learnt along with the model, where there are such."""
    if final:
        return estimator._described(objectives)
    return estimator._learn_features(X, weights_of(estimator, y, sample_weight), objectives)


def weights_of(estimator: Any, y: ArrayLike, sample_weight: ArrayLike) -> Array | None:
    """The weights of samples that are valid, those of their classes included; None: all equal."""
    y = np.asarray(y).ravel()
    weights = data.check_weights(sample_weight, len(y))
    return weighted_by_class(getattr(estimator, "class_weight", None), y, weights)


def targets_of(estimator: Any, y: AnyArray, loss: Loss | None = None) -> list[Array]:
    """Y as a loss sees it, by default the estimator's own: one target per score it has."""
    loss = loss or estimator._checked_settings().loss
    if isinstance(estimator, Regressor):
        return [ScalarOutput(loss).encode(data.check_numbers(y))]
    output = ClassOutput(estimator.classes_, loss)
    index = np.searchsorted(output.classes, y)
    return [output.encode(index, score) for score in range(output.n_scores)]
