"""Learning from batches of sequences that come one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._base.typing import AnyArray, Array, ArrayLike, IntArray
from ....outputs.chain import expected_transitions, loss_augmented, marginals
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
    if labeler.edge_features is not None:
        raise ValueError("partial_fit takes no edge_features: leave them out, or call fit.")
    refuse_observed(labeler)
    posed = _posed(labeler, choices, X, y, classes, sample_weight)
    state = vars(labeler).get("_stream") or {}
    learn_one = _perceptron_pass if choices.loss == "perceptron" else _gradient_pass
    weights, state = learn_one(labeler, posed, state)
    for name in ("certificate_", "history_", "mistakes_", "bound_", "edge_coef_"):
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
    if known is None:
        known = first_classes(labels, classes)
        tokens, features = learn(found, labeler)
    else:
        refuse_other_classes(classes, known)
        features = labeler.features_
        tokens = read(found, labeler)
    codes = encode(labels, known)
    refuse_unknown(labels, codes, known)
    return problem_of(labeler, choices, tokens, codes, weights, known, features)


def _perceptron_pass(
    labeler: Any, posed: Posed, state: dict[str, Any]
) -> tuple[ChainWeights, dict[str, Any]]:
    """One pass of the perceptron, which goes on from its last step, not from the mean."""
    fitted = getattr(labeler, "coef_", None) is not None
    steps = Steps(posed.problem, labeler._weights if fitted and "now" not in state else None)
    if "now" in state:
        steps.now, steps.lag, steps.count = state["now"], state["lag"], state["count"]
    steps.one_pass(posed.problem, np.arange(posed.problem.n_sequences, dtype=np.uint32))
    return steps.mean, {**state, "now": steps.now, "lag": steps.lag, "count": steps.count}


def _gradient_pass(
    labeler: Any, posed: Posed, state: dict[str, Any]
) -> tuple[ChainWeights, dict[str, Any]]:
    """Gradient steps over the batch, a few sequences at a time, on the columns that it has.

    w ← w − η·(∇ mean loss + l2·w) with η = 1/(L + l2·t) after t sequences. L is the mean over
    the first batch's sequences of Σ‖x‖² over their tokens. With alpha=None, l2 is 1/t.
    """
    fitted = getattr(labeler, "coef_", None) is not None
    whole = labeler._weights if fitted else _zeros(posed.problem)
    problem, own_columns = chain_on_own_columns(posed.problem)
    weights = own_columns.of_chain(whole)
    size = state.get("size")
    if size is None:
        size = float(problem.design.row_lengths.sum()) / problem.n_sequences + 1.0
    seen, left = state.get("seen", 0), 1.0
    shares = problem.mass * problem.n_sequences
    for begin in range(0, problem.n_sequences, _BATCH):
        part = np.arange(begin, min(begin + _BATCH, problem.n_sequences))
        own = sub_problem(problem, part, shares[part] / part.size)
        seen += part.size
        l2 = problem.l2 if posed.choices.alpha is not None else 1.0 / seen * bool(problem.l2)
        eta = 1.0 / (size + l2 * seen)
        slopes = slope(own, weights, posed.choices.loss)
        coef, steps, start, stop = (w - eta * (g + l2 * w) for w, g in zip(weights[:4], slopes))
        weights = ChainWeights(coef, steps, start, stop)
        left *= 1.0 - eta * l2
    if own_columns.kept is not None:
        coef = left * whole.coef  # features that are not in the batch have only the penalty's steps
        coef[own_columns.kept] = weights.coef
        weights = weights._replace(coef=coef)
    return weights, {**state, "size": size}


def _zeros(problem: ChainProblem) -> ChainWeights:
    d, k = problem.design.shape[1], problem.n_labels
    return ChainWeights(np.zeros((d, k)), np.zeros((k, k)), np.zeros(k), np.zeros(k), None)


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
        cost=problem.cost,
    )


def slope(problem: ChainProblem, weights: ChainWeights, loss: str) -> tuple[Array, ...]:
    """The gradient of Σ mass·loss: what the model expects, or finds, minus what is true."""
    chains, k = problem.scores(weights), problem.n_labels
    mass = np.repeat(problem.mass, np.diff(problem.offsets))
    truth = np.eye(k)[problem.labels]
    first, last = problem.offsets[:-1], problem.offsets[1:] - 1
    if loss == "crf":
        found = marginals(chains)
        steps = expected_transitions(chains, problem.mass)
    else:
        labels = loss_augmented(chains, problem.labels, problem.cost)[0]
        found, steps = np.eye(k)[labels], _counts(labels, problem, mass)
    excess = mass[:, None] * (found - truth)
    steps = steps - _counts(problem.labels, problem, mass)
    ends = float(problem.ends)
    return (
        problem.design.rmatvec(excess),
        steps,
        ends * excess[first].sum(axis=0),
        ends * excess[last].sum(axis=0),
    )


def _counts(labels: IntArray, problem: ChainProblem, mass: Array) -> Array:
    """Σ mass over the steps between labels, as a (k, k) table."""
    k = problem.n_labels
    later = np.ones(labels.size, bool)
    later[problem.offsets[:-1]] = False
    places = np.flatnonzero(later)
    table = np.zeros((k, k))
    np.add.at(table, (labels[places - 1], labels[places]), mass[places])
    return table
