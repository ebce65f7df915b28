"""The problem of an estimator on given data, ready to be solved."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._base.typing import AnyArray, Array, ArrayLike
from ..losses import Loss
from ..problem.objective import Objective
from .classifier import Classifier
from .problem import Fitted, Posed
from .regressor import Regressor
from .settings import Settings


def copy_of(estimator: Any) -> Any:
    """An unfitted copy of a minimand estimator; refuses others in words."""
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
    Without ``learn``, features that a fit would learn keep their random initial values, which saves
    the time of learning them.
    """
    if fitted:
        return estimator._posed_again(X, y, sample_weight, offset).objectives
    return posed(estimator, X, y, sample_weight, offset, learn=learn).objectives


def posed(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
    *,
    learn: bool = True,
) -> Posed:
    """The `Posed` problem of an estimator that is not fitted yet.

    A parameter of the loss that is "auto" is replaced by a number in the estimator, so that all
    models on a path and in folds share it.
    """
    found = estimator._completed(estimator._posed(X, y, sample_weight, offset), learn=learn)
    if hasattr(estimator, "loss_"):
        estimator.loss = found.coded.settings.loss
    estimator._fitted = Fitted.of(found.coded)
    if isinstance(estimator, Classifier):
        estimator.classes_ = estimator._fitted.output.classes
    return found


def prepared(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, offset: ArrayLike
) -> tuple[Any, Settings, list[Objective]]:
    """A copy of an estimator, its settings and its objectives, for callers that vary alpha."""
    probe, found = posed_for_path(estimator, X, y, sample_weight, offset)
    return probe, found.coded.settings, found.objectives


def posed_for_path(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, offset: ArrayLike
) -> tuple[Any, Posed]:
    """A copy of an estimator whose alpha is a number shared by all folds, and its problem."""
    probe = copy_of(estimator)
    found = posed(probe, X, y, sample_weight, offset)
    if probe.alpha is None:
        probe.alpha = probe.alpha_
    return probe, found


def targets_of(estimator: Any, y: AnyArray, loss: Loss | None = None) -> list[Array]:
    """Y as the loss (by default that of the fit) takes it: one target per score."""
    output = estimator._fitted.output
    output = output if loss is None else output.under(loss)
    columns: list[Array] = output.columns(estimator._checked_target(y))
    return columns
