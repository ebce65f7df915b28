"""The problem of an estimator on given data, ready to be solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._base.typing import AnyArray, Array, ArrayLike
from ..losses import Loss
from ..outputs import PairsOutput, QueriesOutput, columns_of
from ..outputs.queries import Runs
from ..problem.objective import Objective
from .base import Estimator
from .classifier import Classifier
from .problem import Fitted, Posed
from .settings import Settings


def copy_of(estimator: Any) -> Any:
    """An unfitted copy of a minimand estimator; refuses others in words."""
    if not isinstance(estimator, Estimator):
        raise TypeError(
            "estimator must be a minimand Regressor, Classifier or Ranker, not "
            f"{type(estimator).__name__}{_instead(estimator)}."
        )
    return clone(estimator)


def _instead(estimator: Any) -> str:
    """What to do with an estimator of another kind."""
    from .labelers.base import Labeler

    if isinstance(estimator, Labeler):
        return (
            ", which has one solver for each loss and whose alpha scikit-learn's GridSearchCV "
            "chooses: it takes lists of sequences or graphs"
        )
    return "; what a pipeline would do first goes into its features="


def posed(estimator: Any, *data: ArrayLike, learn: bool = True, rows: bool = False) -> Posed:
    """The `Posed` problem of an estimator that is not fitted yet; it has an objective per score.

    ``data`` are X, y, sample_weight and offset, of which the last two may be absent. The estimator,
    which must be a copy, learns the names of the features, the features themselves, the classes and
    the scale of its loss, as in `fit`. A parameter of the loss that is "auto" is replaced by a
    number in the estimator, so that all models on a path and in folds share it. Without ``learn``,
    features that a fit would learn keep their random initial values, which saves the time of
    learning them. With ``rows`` a kernel machine may be posed on rows of the kernel matrix, as
    ``fit`` does it.
    """
    found = estimator._posed(*data, rows=rows)
    found = estimator._completed(found, learn=learn)
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
    """A loss and the targets that it takes, for the scores in ``columns`` of some rows of z."""

    loss: Loss
    target: Array
    columns: Any  # the number of a score, or a slice of several
    mass: Array  # of the units of the loss
    rows: Any  # those of positive weight


def measured_by(
    estimator: Any, y: AnyArray, weight: Array | None = None, measure: Loss | None = None
) -> list[Measured]:
    """The losses of the scores of a fitted model, which add up: one per score or one of all.

    By ``measure``, or by the loss of the fit.
    """
    fitted = estimator._fitted
    loss, y = measure or fitted.settings.loss, estimator._checked_target(y)
    output = fitted.output.under(loss)
    if isinstance(output, QueriesOutput):
        runs = Runs.of(output.encode(y), weight)
        bound = output.loss.bind(runs.units)
        return [Measured(bound, runs.y, 0, bound.masses(runs.weights), runs.order)]
    rows: Any = slice(None) if weight is None or weight.all() else weight > 0
    given = np.ones(len(y)) if weight is None else weight
    target = output.encode(y)[rows]

    def measured(loss: Loss, target: Array, columns: Any, share: float = 1.0) -> Measured:
        return Measured(loss, target, columns, share * loss.masses(given[rows]), rows)

    if isinstance(output, PairsOutput) or (loss.in_pairs and output.scores > 1):
        if not isinstance(output, PairsOutput) or not loss.in_pairs:
            raise ValueError(
                f"scoring=None compares by {loss!r}, which says nothing of the scores of "
                f"{fitted.settings.loss!r}: pass a scoring by predictions, such as 'accuracy'."
            )
        return [measured(loss, target, slice(None))]
    if output.loss.joint and output.scores > 1:
        return [measured(output.loss, target, slice(None))]
    shares = loss.score_weights(output.scores) if output.scores > 1 else None
    return [
        measured(output.loss, part, c, 1.0 if shares is None else float(shares[c]))
        for c, part in enumerate(columns_of(target))
    ]
