"""Certificates of labelers of sequences and graphs, ours and CRFsuite's: `certify` with lists."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._base.typing import ArrayLike
from .._base.watch import interruption, watching
from ..certificate import Certificate
from ..estimators.labelers.graph_labeler import GraphLabeler
from ..estimators.labelers.sequence_labeler import SequenceLabeler
from ..solvers.structured.judged import judge_chains, judge_graphs, unchanged
from .foreign import crfsuite


def certify_labeler(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike,
    edges: Any,
    against: Any,
    max_seconds: float | None,
) -> Certificate:
    """The certificate of a fitted labeler on sequences or graphs.

    After Ctrl-C it is the ``result`` of `Interrupted`, with the bound so far.
    """
    if edges is not None and not isinstance(model, GraphLabeler):
        raise TypeError(f"edges are for a GraphLabeler: leave them out for {type(model).__name__}.")
    with watching() as watch:
        if isinstance(model, GraphLabeler):
            found = _of_graphs(model, (X, y, edges, sample_weight), against, max_seconds)
        else:
            found = _of_sequences(model, (X, y, sample_weight), against, max_seconds)
    if watch.interrupted:
        raise interruption("certify", found, found)
    return found


def _of_sequences(
    model: Any, data: tuple[Any, Any, ArrayLike], against: Any, max_seconds: float | None
) -> Certificate:
    """The certificate, by the weights of the model and of ``against`` if there is one."""
    if against is not None and not isinstance(against, SequenceLabeler):
        raise TypeError("against must be a fitted SequenceLabeler: its weights prove a bound.")
    if isinstance(model, SequenceLabeler):
        check_is_fitted(model, "coef_")
        posed, loss, weights = model._posed_again(*data), model.loss_, model._weights
    else:
        posed, weights = crfsuite.posed(model, *data, against)
        loss = "crf"
    others = []
    if against is not None:
        check_is_fitted(against, "coef_")
        if not posed.continues(against):
            raise ValueError("against was fitted on other labels or features than the model.")
        others = [against._weights]
    if not unchanged(posed.problem, weights):
        raise ValueError(
            "the model has weights of features or transitions that do not occur in X and y: pass "
            "the data it was fitted on."
        )
    return judge_chains(posed.problem, weights, loss, others, max_seconds=max_seconds)


def _of_graphs(
    model: GraphLabeler,
    data: tuple[Any, Any, Any, ArrayLike],
    against: Any,
    max_seconds: float | None,
) -> Certificate:
    if against is not None:
        raise TypeError("a GraphLabeler is certified without against: leave it out.")
    check_is_fitted(model, "coef_")
    posed = model._posed_again(*data)
    return judge_graphs(posed.problem, posed.vector(model), model.loss_, max_seconds=max_seconds)
