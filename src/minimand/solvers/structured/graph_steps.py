"""Steps from graph to graph: the averaged perceptron, and stochastic steps of the other losses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..._base.typing import AnyArray, Array
from ..._base.watch import reason
from ...outputs.graph import Topology
from .crf.graphs import GraphLikelihood
from .graph_problem import GraphProblem
from .own_columns import graph_on_own_columns


@dataclass(eq=False)
class Others:
    """Weights of columns without entries, which only shrink: ‖w‖² before, and by which factors."""

    squares: float = 0.0
    left: float = 1.0  # factor of what they are now
    total: float = 0.0  # Σ of the factors after every step


@dataclass(eq=False)
class Steps:
    """Weights, the sum of them after every step, and the number of steps."""

    now: Array
    total: Array
    count: int = 0
    others: Others = field(default_factory=lambda: Others())

    @classmethod
    def zeros(cls, size: int) -> Steps:
        """At the beginning."""
        return cls(np.zeros(size), np.zeros(size))

    @property
    def mean(self) -> Array:
        """The mean of the weights over all steps, which is the model."""
        return self.total / self.count if self.count else self.now


def visit(problem: GraphProblem, steps: Steps, order: AnyArray, loss: str) -> int:
    """One step for each graph in this order; how many of them were labelled wrong.

    The perceptron adds s·(φ(y) − φ(c)) for the best labelling c if that is wrong. A max-margin step
    takes the cost-augmented c, a step of a conditional random field the mean of φ(c), and both the
    slope of loss + ½l2·‖w‖² with the step 1/(l2·t), which ends within the ball of radius
    √(2·P(0)/l2), in which the optimum lies.
    """
    wrong = 0
    share = problem.mass * problem.topology.n_graphs
    for g in order:
        one = single(problem, int(g))
        difference, mistaken = _difference_at(one, steps.now, loss)
        wrong += mistaken
        steps.count += 1
        if loss != "perceptron":
            eta = 1.0 / (problem.l2 * (steps.count + 1))
            steps.now = (1.0 - eta * problem.l2) * steps.now + eta * share[g] * difference
            most = np.sqrt(2.0 * _largest_loss(problem, loss) / problem.l2)
            others = steps.others
            others.left *= 1.0 - eta * problem.l2
            length = np.sqrt(steps.now @ steps.now + others.squares * others.left**2)
            shrunk = min(1.0, most / length) if length > 0 else 1.0
            steps.now, others.left = shrunk * steps.now, shrunk * others.left
        elif mistaken:
            steps.now = steps.now + share[g] * difference
        steps.total = steps.total + steps.now
        steps.others.total += steps.others.left
        if reason():
            break
    return wrong


def visit_on_own_columns(problem: GraphProblem, steps: Steps, order: AnyArray, loss: str) -> None:
    """The same, at the cost of the columns that the graphs have entries in."""
    part, own = graph_on_own_columns(problem)
    if own.all:
        visit(problem, steps, order, loss)
        return
    now, total = own.of_graph(problem, steps.now), own.of_graph(problem, steps.total)
    beside = max(float(steps.now @ steps.now - now @ now), 0.0)
    inner = Steps(now, total, steps.count, Others(beside))
    visit(part, inner, order, loss)
    here = own.whole_graph(part, np.ones(part.size)) > 0
    others = inner.others
    steps.total = steps.total + others.total * steps.now
    steps.total[here] = own.whole_graph(part, inner.total)[here]
    steps.now = others.left * steps.now
    steps.now[here] = own.whole_graph(part, inner.now)[here]
    steps.count = inner.count


def _difference_at(one: GraphProblem, w: Array, loss: str) -> tuple[Array, bool]:
    """φ(y) less the φ that a loss compares it with, and whether the labels are wrong."""
    if loss == "crf":
        likelihood = GraphLikelihood(one)
        terms = likelihood.terms(likelihood.scores(w))
        labels = likelihood.marginals(terms).argmax(axis=1)
        return -likelihood.in_weights(terms.slope), bool((labels != one.labels).any())
    labels = one.augmented(w, costly=loss == "max_margin").labels
    return _difference(one, labels), bool((labels != one.labels).any())


def _largest_loss(problem: GraphProblem, loss: str) -> float:
    """An upper bound of the mean loss at w = 0."""
    if loss == "crf":
        return float(problem.topology.n_nodes * np.log(problem.n_labels))
    return float(problem.costs.max(axis=1).sum())


def single(problem: GraphProblem, g: int) -> GraphProblem:
    """The problem of one of its graphs."""
    shape = problem.topology
    own, links = shape.nodes_of(g), shape.edges_of(g)
    wide = g in problem.wide
    found = replace(
        problem,
        X=problem.X[own],
        topology=Topology([0, own.stop - own.start], shape.local_edges(g)),
        labels=problem.labels[own],
        mass=np.ones(1),
        costs=problem.costs[own],
        edge_features=None if problem.edge_features is None else problem.edge_features[links],
        forbidden=None if problem.forbidden is None else problem.forbidden[own],
        messages={0: problem.messages_of(g)} if wide else {},
    )
    found.__dict__["wide"] = [0] if wide else []  # which takes a plan of elimination to find out
    return found


def _difference(one: GraphProblem, labels: AnyArray) -> Array:
    """φ(y) − φ(c) of a single graph."""
    k, edges = one.n_labels, one.topology.edges
    nodes = np.eye(k)[one.labels] - np.eye(k)[labels]
    pairs = np.zeros((edges.shape[0], k, k))
    numbers = np.arange(edges.shape[0])
    pairs[numbers, one.labels[edges[:, 0]], one.labels[edges[:, 1]]] += 1.0
    pairs[numbers, labels[edges[:, 0]], labels[edges[:, 1]]] -= 1.0
    return one.features(nodes, pairs.sum(axis=0) if one.edge_features is None else pairs)


def share_wrong(problem: GraphProblem, w: Array) -> float:
    """The share of graphs, by mass, whose best labelling is not their own."""
    labels = problem.augmented(w, costly=False).labels
    wrong = np.bincount(problem.topology.graph_of_node, labels != problem.labels) > 0
    return float(problem.mass[wrong].sum())
