"""Learning from batches of sequences that come one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._base.typing import AnyArray, Array, ArrayLike, IntArray
from ....outputs.chain import expected_transitions, loss_augmented, marginals, pairwise_marginals
from ....solvers.structured.own_columns import chain_on_own_columns
from ....solvers.structured.perceptron import Steps
from ....solvers.structured.problem import ChainProblem, ChainWeights
from ...inputs import data
from ..labels import (
    encode,
    first_classes,
    label_lists,
    refuse_other_classes,
    refuse_unknown,
)
from ..settings import Choices, refuse_observed
from ..structure import edge_width
from ..tokens import learn, lengths_of, read, refuse_empty, sequences
from .posing import Posed, problem_of

_BATCH = 8  # sequences of one gradient step; safeguard: calls would cost more than their work


def learn_batch(
    labeler: Any, choices: Choices, X: Any, y: Any, classes: ArrayLike, sample_weight: ArrayLike
) -> None:
    """One pass over a batch, from the weights so far."""
    if choices.strengths(1.0).l1:
        raise ValueError(
            "partial_fit takes penalty='l2' or 'no_penalty', as its steps would leave no weight at "
            "zero: call fit for an l1 part."
        )
    refuse_observed(labeler)
    posed = _posed(labeler, choices, X, y, classes, sample_weight)
    state = vars(labeler).get("_stream") or {}
    learn_one = _perceptron_pass if choices.loss == "perceptron" else _gradient_pass
    weights, state = learn_one(labeler, posed, state)
    for name in ("certificate_", "history_", "mistakes_", "bound_"):
        labeler.__dict__.pop(name, None)  # of an earlier fit
    labeler.__dict__.update(labeler._attributes(posed, weights))
    seen = state.get("seen", 0) + posed.problem.n_sequences
    labeler.alpha_ = 1.0 / seen if choices.alpha is None else posed.alpha
    labeler._stream = {**state, "seen": seen}
    labeler.n_iter_ = labeler._stream["batches"] = state.get("batches", 0) + 1


def _posed(
    labeler: Any, choices: Choices, X: Any, y: Any, classes: ArrayLike, sample_weight: ArrayLike
) -> Posed:
    """The problem of one batch; labels and features are those of the first one."""
    found = sequences(X)
    labels = label_lists(y, lengths_of(found))
    refuse_empty(found)
    weights = data.check_weights(sample_weight, len(found))
    known: AnyArray | None = getattr(labeler, "classes_", None)
    width = edge_width(labeler) or None
    if known is None:
        known = first_classes(labels, classes)
        tokens, features = learn(found, labeler)
    else:
        refuse_other_classes(classes, known)
        features = labeler.features_
        tokens = read(found, labeler)
    codes = encode(labels, known)
    refuse_unknown(labels, codes, known)
    posed = problem_of(labeler, choices, tokens, codes, weights, known, features, width)
    edges = posed.problem.edges
    if width is not None and (edges is None or edges.shape[1] != width):
        raise ValueError(
            f"edge_features must give {width} columns, as in the fit or batch before: leave them "
            "as they were."
        )
    return posed


def _perceptron_pass(
    labeler: Any, posed: Posed, state: dict[str, Any]
) -> tuple[ChainWeights, dict[str, Any]]:
    """One pass of the perceptron, which goes on from its last step, not from the mean."""
    fitted = getattr(labeler, "coef_", None) is not None
    steps = Steps(posed.problem, labeler._weights if fitted and "now" not in state else None)
    if "now" in state:  # shorter, if no batch had a step yet
        for part, known in ((steps.now, state["now"]), (steps.lag, state["lag"])):
            part[: known.size] = known
        steps.count = state["count"]
    steps.one_pass(posed.problem, np.arange(posed.problem.n_sequences, dtype=np.uint32))
    return steps.mean, {**state, "now": steps.now, "lag": steps.lag, "count": steps.count}


def _gradient_pass(
    labeler: Any, posed: Posed, state: dict[str, Any]
) -> tuple[ChainWeights, dict[str, Any]]:
    """Gradient steps over the batch, a few sequences at a time, on the columns that it has.

    w ← w − η·(∇ mean loss + l2·w) with η = 1/(L + l2·t) after t sequences. L is the mean over
    the first batch's sequences of Σ‖x‖² over their tokens and steps. With alpha=None, l2 is 1/t.
    """
    fitted = getattr(labeler, "coef_", None) is not None
    whole = _zeros(posed.problem)
    if fitted:
        known = labeler._weights
        whole = known if known.edge is not None else known._replace(edge=whole.edge)
    problem, own_columns = chain_on_own_columns(posed.problem)
    weights = own_columns.of_chain(whole)
    size = state.get("size") or _size(problem)
    seen, left = state.get("seen", 0), 1.0
    shares = problem.mass * problem.n_sequences
    for begin in range(0, problem.n_sequences, _BATCH):
        part = np.arange(begin, min(begin + _BATCH, problem.n_sequences))
        own = sub_problem(problem, part, shares[part] / part.size)
        seen += part.size
        l2 = problem.l2 if posed.choices.alpha is not None else 1.0 / seen * bool(problem.l2)
        eta = 1.0 / (size + l2 * seen)
        slopes = slope(own, weights, posed.choices.loss)
        coef, steps, start, stop = (
            w - eta * (g + l2 * w) for w, g in zip(weights[:4], slopes[:4], strict=True)
        )
        edge = weights.edge
        if edge is not None and slopes.edge is not None:
            edge = edge - eta * (slopes.edge + l2 * edge)
        weights = ChainWeights(coef, steps, start, stop, edge)
        left *= 1.0 - eta * l2
    weights = weights._replace(
        coef=_with_others(weights.coef, own_columns.kept, whole.coef, left),
        edge=_with_others(weights.edge, own_columns.kept_of_edges, whole.edge, left),
    )
    return weights, {**state, "size": size}


def _size(problem: ChainProblem) -> float:
    """1 + the mean over sequences of Σ‖x‖² over their tokens and steps."""
    designs = [design for design in (problem.design, problem.edges) if design is not None]
    return 1.0 + sum(float(d.row_lengths.sum()) for d in designs) / problem.n_sequences


def _with_others(own: Any, kept: IntArray | None, whole: Any, left: float) -> Any:
    """All weights: those of features that are not in the batch have only the penalty's steps."""
    if own is None or kept is None:
        return own
    found = left * whole
    found[kept] = own
    return found


def _zeros(problem: ChainProblem) -> ChainWeights:
    d, k, edges = problem.design.shape[1], problem.n_labels, problem.edges
    edge = None if edges is None else np.zeros((edges.shape[1], k, k))
    return ChainWeights(np.zeros((d, k)), np.zeros((k, k)), np.zeros(k), np.zeros(k), edge)


def sub_problem(problem: ChainProblem, part: IntArray, mass: Array) -> ChainProblem:
    """The problem of some neighbouring sequences."""
    a, b = problem.offsets[part[0]], problem.offsets[part[-1] + 1]
    return ChainProblem(
        design=problem.design.rows(np.arange(a, b)),
        offsets=problem.offsets[part[0] : part[-1] + 2] - a,
        labels=problem.labels[a:b],
        n_labels=problem.n_labels,
        mass=mass,
        ends=problem.ends,
        edges=None if problem.edges is None else problem.edges.rows(np.arange(a, b)),
        cost=problem.cost,
    )


def slope(problem: ChainProblem, weights: ChainWeights, loss: str) -> ChainWeights:
    """The gradient of Σ mass·loss: what the model expects, or finds, minus what is true."""
    chains, k = problem.scores(weights), problem.n_labels
    mass = np.repeat(problem.mass, np.diff(problem.offsets))
    truth = np.eye(k)[problem.labels]
    first, last = problem.offsets[:-1], problem.offsets[1:] - 1
    labels = loss_augmented(chains, problem.labels, problem.cost)[0] if loss != "crf" else None
    if labels is None:
        found = marginals(chains)
        steps = expected_transitions(chains, problem.mass)
    else:
        found, steps = np.eye(k)[labels], _counts(labels, problem, mass)
    excess = mass[:, None] * (found - truth)
    steps = steps - _counts(problem.labels, problem, mass)
    edge = None
    if problem.edges is not None:
        pairs = pairwise_marginals(chains) if labels is None else _pairs(labels, problem)
        pairs = mass[:, None, None] * (pairs - _pairs(problem.labels, problem))
        edge = problem.edges.rmatvec(pairs.reshape(-1, k * k)).reshape(-1, k, k)
    ends = float(problem.ends)
    starts, stops = excess[first].sum(axis=0), excess[last].sum(axis=0)
    coef = problem.design.rmatvec(excess)
    return ChainWeights(coef, steps, ends * starts, ends * stops, edge)


def _pairs(labels: IntArray, problem: ChainProblem) -> Array:
    """1 at the labels of two neighbours, (n_tokens, k, k), in the row of the later one."""
    found, places = np.zeros((labels.size, problem.n_labels, problem.n_labels)), problem.after_first
    found[places, labels[places - 1], labels[places]] = 1.0
    return found


def _counts(labels: IntArray, problem: ChainProblem, mass: Array) -> Array:
    """Σ mass over the steps between labels, as a (k, k) table."""
    k = problem.n_labels
    places, table = problem.after_first, np.zeros((k, k))
    np.add.at(table, (labels[places - 1], labels[places]), mass[places])
    return table
