"""The trainers of graph labelers, by loss."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ...._base.watch import undisturbed
from ....certificate import Kind
from ....solvers import Control
from ....solvers.structured.course import Course, Trained
from ....solvers.structured.crf.graphs import train_graph_crf
from ....solvers.structured.graph_problem import GraphProblem
from ....solvers.structured.graph_steps import (
    Steps,
    share_wrong,
    visit,
    visit_on_own_columns,
)
from ....solvers.structured.max_margin.training import train_graph_margin
from ....solvers.structured.own_columns import graph_on_own_columns
from ..settings import penalty_parts
from .posing import GraphPosed, GraphWeights

_PASSES = 30  # passes of the perceptron if max_iter is None; convention


@dataclass(eq=False)
class Stream:
    """Where `partial_fit` is."""

    steps: Steps
    batches: int = 0

    @classmethod
    def of(cls, posed: GraphPosed, labeler: Any) -> Stream:
        """Where a labeler is: at its last batch, behind its fit, or at the beginning.

        A fit counts like a step at its weights for each of its graphs.
        """
        found: Stream | None = vars(labeler).get("_stream")
        if found is None and getattr(labeler, "coef_", None) is None:
            return cls(Steps.zeros(posed.problem.size))
        if found is None:
            w, count = posed.vector(labeler), labeler._n_graphs
            found = cls(Steps(w, count * w, count))
        if found.steps.now.size != posed.problem.size:
            raise ValueError(
                "edge_features must give as many columns as in the fit or batch before: leave "
                "them as they were."
            )
        return found


@dataclass(frozen=True, eq=False)
class TrainedSteps(Trained):
    """A trained perceptron, with its mistakes in all passes."""

    mistakes: int = 0


def train_graphs(posed: GraphPosed, control: Control) -> Trained:
    """Train by the loss that was chosen; the weights are one vector."""
    problem = posed.problem
    if posed.choices.loss == "perceptron":
        return _perceptron(problem, control)
    if posed.choices.loss == "crf":
        return train_graph_crf(problem, control)
    return train_graph_margin(problem, control)


def _perceptron(problem: GraphProblem, control: Control) -> TrainedSteps:
    """Passes until one has no mistake."""
    random, course = (
        check_random_state(control.random_state),
        Course(problem, control, "perceptron", 1),
    )
    problem, own_columns = graph_on_own_columns(problem)
    steps, mistakes, graphs = Steps.zeros(problem.size), 0, problem.topology.n_graphs
    most = _PASSES if control.max_iter is None else control.max_iter
    with course.watched():
        share = share_wrong(problem, steps.now)
        ended = course.record(share, share)
        while not ended and len(course.history) <= most:
            wrong = visit(problem, steps, random.permutation(graphs), "perceptron")
            mistakes += wrong
            ended = course.record(wrong / graphs, wrong / graphs)
    with undisturbed():
        share = share_wrong(problem, steps.mean)
    mean = own_columns.whole_graph(problem, steps.mean)
    found = course.trained(mean, share, share, rounding=0.0)
    own = {f.name: getattr(found, f.name) for f in fields(found)}
    kind: Kind = "relaxation" if share else "global"
    own["certificate"] = replace(found.certificate, kind=kind)
    return TrainedSteps(**own, mistakes=mistakes)


def learn_graph_batch(posed: GraphPosed, state: Stream) -> GraphWeights:
    """One pass over a batch, in its order."""
    problem = posed.problem
    if posed.choices.loss != "perceptron" and (problem.l1 or not problem.l2):
        raise ValueError("partial_fit takes penalty='l2' with alpha > 0: call fit for others.")
    order = np.arange(problem.topology.n_graphs)
    if posed.choices.alpha is None:  # one graph's worth, of all that there were
        alpha = 1.0 / (state.steps.count + order.size)
        problem = replace(problem, l2=penalty_parts(posed.choices.penalty, alpha)[1])
    visit_on_own_columns(problem, state.steps, order, posed.choices.loss)
    state.batches += 1
    return posed.weights(state.steps.mean)
