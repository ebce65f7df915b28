"""The problem of an estimator on given data, ready to be solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sklearn.base import clone

from .._base.typing import AnyArray, Array, ArrayLike
from ..losses import Loss
from ..outputs import PairsOutput, columns_of
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
) -> Sequence[Objective]:
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
) -> tuple[Any, Settings, Sequence[Objective]]:
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


class Measured(NamedTuple):
    """A loss and the targets that it takes, for the scores in ``columns`` of z."""

    loss: Loss
    target: Array
    columns: Any  # the number of a score, or a slice of several
    share: float


def measured_by(estimator: Any, y: AnyArray, measure: Loss | None = None) -> list[Measured]:
    """The losses of the scores of a fitted model, which add up: one per score or one of all.

    By ``measure``, or by the loss of the fit.
    """
    fitted = estimator._fitted
    loss = measure or fitted.settings.loss
    output = fitted.output.under(loss)
    if isinstance(output, PairsOutput) or (loss.in_pairs and output.scores > 1):
        if not isinstance(output, PairsOutput) or not loss.in_pairs:
            raise ValueError(
                f"scoring=None compares by {loss!r}, which says nothing of the scores of "
                f"{fitted.settings.loss!r}: pass a scoring by predictions, such as 'accuracy'."
            )
        target = output.encode(estimator._checked_target(y))
        return [Measured(loss, target, slice(None), 1.0)]
    target = output.encode(estimator._checked_target(y))
    if output.loss.joint and output.scores > 1:
        return [Measured(output.loss, target, slice(None), 1.0)]
    shares = loss.score_weights(output.scores) if output.scores > 1 else None
    parts = columns_of(target)
    return [
        Measured(output.loss, part, c, 1.0 if shares is None else float(shares[c]))
        for c, part in enumerate(parts)
    ]
