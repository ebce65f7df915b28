"""From sequences and labels to the problem that trainers minimise over."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...._base.typing import AnyArray, Array
from ....design import as_design
from ....solvers.structured.problem import ChainProblem
from ...inputs import data
from ..labels import distinct_labels, encode, label_lists, refuse_single, refuse_unknown
from ..settings import Choices
from ..structure import Masks, cost_table, edge_width, masks_of, observed_pairs
from ..tokens import Tokens, learn, lengths_of, names, read, refuse_empty, sequences
from .edges import edge_rows


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem, and what its solution means: labels, the map of tokens, the choices made."""

    problem: ChainProblem
    classes: AnyArray
    features: Any
    choices: Choices
    alpha: float
    edges: Any
    masks: Masks

    def continues(self, labeler: Any) -> bool:
        """Whether the weights of a fitted labeler are of the same labels and features."""
        width = self.problem.design.shape[1]
        return (
            np.array_equal(labeler.classes_, self.classes)
            and labeler.coef_.shape[1] == width
            and names(labeler.features_, width) == names(self.features, width)
            and (self.problem.edges is None) == (getattr(labeler, "edge_coef_", None) is None)
        )


def pose(labeler: Any, choices: Choices, X: Any, y: Any, sample_weight: Any) -> Posed:
    """Check the data of a fit and write its problem."""
    found, labels, weights = _kept(X, y, sample_weight)
    classes = distinct_labels(labels)
    tokens, features = learn(found, labeler)
    refuse_single(classes)
    if tokens.matrix.shape[1] == 0:
        raise ValueError("X has 0 features: give tokens at least one, such as {'bias': 1}.")
    return problem_of(labeler, choices, tokens, encode(labels, classes), weights, classes, features)


def pose_again(labeler: Any, X: Any, y: Any, sample_weight: Any) -> Posed:
    """The problem that a fitted labeler has on these data, by what its fit has stored."""
    found, labels, weights = _kept(X, y, sample_weight)
    classes, features, asked = labeler.classes_, labeler.features_, labeler._asked
    tokens = read(found, labeler)
    codes = encode(labels, classes)
    refuse_unknown(labels, codes, classes)
    choices = Choices(asked["loss"], asked["penalty"], labeler.alpha_)
    known, width = SimpleNamespace(**asked), edge_width(labeler)
    return problem_of(known, choices, tokens, codes, weights, classes, features, width)


def _kept(X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], list[list[Any]], Array | None]:
    """Sequences, labels and weights, checked; without sequences of weight 0."""
    found = sequences(X)
    labels = label_lists(y, lengths_of(found))
    refuse_empty(found)
    weights = data.check_weights(sample_weight, len(found))
    if weights is None or weights.all():
        return found, labels, weights
    kept = np.flatnonzero(weights)
    return [found[i] for i in kept], [labels[i] for i in kept], weights[kept]


def problem_of(
    labeler: Any,
    choices: Choices,
    tokens: Tokens,
    codes: AnyArray,
    weights: Array | None,
    classes: AnyArray,
    features: Any,
    width: int | None = None,
) -> Posed:
    """The problem of checked tokens and coded labels; steps have ``width`` features, if known."""
    count, k = tokens.lengths.size, classes.size
    weights = np.ones(count) if weights is None else weights
    total = float(weights.sum())
    strengths = choices.strengths(total)
    seen = observed_pairs(codes, tokens.offsets, k)
    masks = masks_of(labeler, tokens.matrix, codes, classes, seen)
    edges = edge_rows(labeler.edge_features, tokens.matrix, tokens.offsets, width)
    problem = ChainProblem(
        design=as_design(tokens.matrix),
        offsets=tokens.offsets,
        labels=codes,
        n_labels=k,
        mass=weights / total,
        l1=strengths.l1,
        l2=strengths.l2,
        ends=bool(labeler.ends),
        allowed=masks.allowed,
        present=masks.present,
        present_transitions=masks.present_pairs,
        edges=None if edges is None or not edges.shape[1] else as_design(edges),
        cost=cost_table(labeler.cost, k),
        words=strengths.words,
    )
    alpha = 1.0 / total if choices.alpha is None else choices.alpha
    return Posed(problem, classes, features, choices, alpha, labeler.edge_features, masks)
