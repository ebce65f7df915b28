"""CRFsuite's models: sklearn-crfsuite's `CRF`, and python-crfsuite's `Tagger`.

CRFsuite minimises Σ NLL + c1·‖w‖₁ + c2·‖w‖² over the weights of pairs (attribute, label) and
(label, label), without start and stop scores: our mean plus (c1/n)·‖w‖₁ + (2·c2/n)·½‖w‖².
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

from ..._base.typing import ArrayLike
from ...estimators.labelers.sequence_labeler import SequenceLabeler
from ...estimators.labelers.sequences.posing import Posed, pose
from ...estimators.labelers.settings import check_choices
from ...estimators.labelers.tokens import names
from ...penalties import L1, L2
from ...solvers.structured.problem import ChainWeights

_DEFAULT_C2 = 1.0  # of CRFsuite; convention
_LIKELIHOODS = (None, "lbfgs", "l2sgd")  # algorithms that minimise this objective


class Weights(NamedTuple):
    """Weights by their names."""

    states: dict[tuple[str, str], float]
    transitions: dict[tuple[str, str], float]


def posed(
    model: Any, X: Any, y: Any, sample_weight: ArrayLike, against: SequenceLabeler | None
) -> tuple[Posed, ChainWeights]:
    """The problem that the model was meant to solve, and its weights."""
    if type(model).__name__ == "Tagger":
        if against is None:
            raise TypeError(
                "a Tagger does not know its penalty: pass against=…, a SequenceLabeler fitted with "
                "alpha=2*c2/len(X), ends=False and weights='observed'."
            )
        found = against._posed_again(X, y, sample_weight)
        info = model.info()
        return found, _weights(found, Weights(info.state_features, info.transitions))
    if type(model).__name__ != "CRF":
        raise TypeError(
            f"cannot certify {type(model).__name__}: pass a CRF or a Tagger of CRFsuite."
        )
    if getattr(model, "tagger_", None) is None:  # a property, which is None before the fit
        raise NotFittedError(f"This {type(model).__name__} is not fitted yet: call fit first.")
    if model.algorithm not in _LIKELIHOODS or model.min_freq:
        raise ValueError(
            "cannot certify a CRF with algorithm other than 'lbfgs' and 'l2sgd', or with min_freq: "
            "its objective is not that of a likelihood of all features."
        )
    found = _own_problem(model, X, y, sample_weight)
    weights = Weights(model.state_features_, model.transition_features_)
    return found, _weights(found, weights)


def _own_problem(model: Any, X: Any, y: Any, sample_weight: ArrayLike) -> Posed:
    """The problem of the parameters c1 and c2, and of those that say which weights exist."""
    if sample_weight is not None:
        raise ValueError("CRFsuite knows no sample_weight: leave it out.")
    c1 = float(model.c1 or 0.0)
    c2 = _DEFAULT_C2 if model.c2 is None else float(model.c2)
    penalty = 2.0 * c2 * L2() + c1 * L1() if c1 else 2.0 * c2 * L2()
    labeler = SequenceLabeler(
        "crf", penalty, alpha=1.0 / len(X), ends=False, weights="observed", transitions="full"
    )
    found = pose(labeler, check_choices(labeler), X, y, None)
    problem = found.problem
    if model.all_possible_states:
        problem = replace(problem, present=None)
    if model.all_possible_transitions:
        problem = replace(problem, present_transitions=None)
    return replace(found, problem=problem)


def _weights(posed: Posed, given: Weights) -> ChainWeights:
    """Weights by name as tables; all names must occur in the data."""
    problem, known = posed.problem, [str(label) for label in posed.classes.tolist()]
    d, k = problem.design.shape[1], problem.n_labels
    columns = {name: j for j, name in enumerate(names(posed.features, d))}
    labels = {name: c for c, name in enumerate(known)}
    coef, transitions = np.zeros((d, k)), np.zeros((k, k))
    try:
        for (attribute, label), weight in given.states.items():
            coef[columns[attribute], labels[label]] = weight
        for (before, after), weight in given.transitions.items():
            transitions[labels[before], labels[after]] = weight
    except KeyError as error:
        raise ValueError(
            f"the model has a weight of {error.args[0]!r}, which does not occur in X and y: pass "
            "the data it was fitted on."
        ) from error
    return ChainWeights(coef, transitions, np.zeros(k), np.zeros(k))
