"""Conditional random fields on graphs: mean log Σ_c exp z(c) − z(y) plus the penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ...._base.typing import Array
from ....outputs.graph import expected_pairs, log_partition, pairwise_marginals
from ...base import Control
from ..course import Course, Trained
from ..graph_problem import GraphProblem
from ..own_columns import graph_on_own_columns
from .descent import descend
from .likelihood import Scores, Terms
from .metric import Metric, lifted
from .penalised import ChainPoint, Model

_NONE = np.empty(0)  # graphs have no scores of first and last nodes


class GraphLikelihood:
    """The mean negative log-likelihood of graphs, as a function of their scores."""

    def __init__(self, problem: GraphProblem) -> None:
        self.problem = problem
        shape = problem.topology
        self._node_mass = problem.mass[shape.graph_of_node]
        self._edge_mass = problem.mass[shape.graph_of_edge]
        ends = problem.labels[shape.edges]
        self._gold = np.arange(ends.shape[0]), ends[:, 0], ends[:, 1]
        self._gold_pairs = np.zeros((problem.n_labels,) * 2)
        np.add.at(self._gold_pairs, (ends[:, 0], ends[:, 1]), self._edge_mass)

    def scores(self, w: Array) -> Scores:
        """The scores that a vector of weights gives: of all edges alike, or of each."""
        unary, pair = self.problem.linear_scores(w)
        if pair.ndim == 2:
            return Scores(unary, pair, _NONE, _NONE)
        return Scores(unary, _NONE, _NONE, _NONE, pair)

    def terms(self, scores: Scores) -> Terms:
        """Value and slope at these scores: what the model expects minus what is true."""
        problem = self.problem
        pair = scores.transitions if scores.edges is None else scores.edges
        graphs = problem.graphs_with(scores.unary, pair)
        sums, nodes, total = expected_pairs(graphs, problem.mass)
        unary = nodes * self._node_mass[:, None]
        unary[np.arange(unary.shape[0]), problem.labels] -= self._node_mass
        gold = problem.gold_scores(graphs)
        value = float(problem.mass @ (sums - gold))
        size = float(problem.mass @ (np.abs(sums) + np.abs(gold)))
        if scores.edges is None:
            return Terms(value, Scores(unary, total - self._gold_pairs, _NONE, _NONE), size)
        edges = pairwise_marginals(graphs) * self._edge_mass[:, None, None]
        edges[self._gold] -= self._edge_mass
        return Terms(value, Scores(unary, _NONE, _NONE, _NONE, edges), size)

    def in_weights(self, slope: Scores) -> Array:
        """From a slope in the scores to that in the vector of weights."""
        pairs = slope.transitions if slope.edges is None else slope.edges
        return self.problem.features(slope.unary, pairs)

    def marginals(self, terms: Terms) -> Array:
        """The marginals of nodes, from slopes mass·(p − [label])."""
        mass = self._node_mass
        p = terms.slope.unary / np.where(mass > 0, mass, 1.0)[:, None]
        p[np.arange(p.shape[0]), self.problem.labels] += mass > 0
        return np.clip(p, 0.0, 1.0, out=p)


class GraphModel(Model):
    """Points of a graph model; with an l1 part there are products with its curvature."""

    problem: GraphProblem
    likelihood: GraphLikelihood

    def __init__(self, problem: GraphProblem) -> None:
        super().__init__(problem, GraphLikelihood(problem))
        self.curved = problem.l1 > 0
        self._squares = _squares(problem.X), _squares(problem.edge_rows)

    def point(self, w: Array) -> ChainPoint:
        """The point of these weights, alike for both orders of labels without directions.

        The loss does not tell them apart, and a small penalty hardly does.
        """
        return super().point(self.problem.even(w))

    def metric(self, terms: Terms) -> Metric:
        """The diagonal of the curvature, of nodes and of edges with independent ends."""
        problem, shape = self.problem, self.problem.topology
        p = self.likelihood.marginals(terms)
        nodes = problem.mass[shape.graph_of_node][:, None] * (p * (1.0 - p))
        own = np.asarray(self._squares[0].T @ nodes).T
        first, second = p[shape.edges[:, 0]], p[shape.edges[:, 1]]
        mass = problem.mass[shape.graph_of_edge]
        if problem.edge_features is None:
            pairs = (mass[:, None] * first).T @ second - (mass[:, None] * first**2).T @ second**2
            pairs = pairs[None]
        else:
            both = first[:, :, None] * second[:, None, :]
            pairs = mass[:, None, None] * (both * (1.0 - both))
        if problem.symmetric:
            pairs = 0.25 * (pairs + np.swapaxes(pairs, 1, 2))
        links = np.asarray(self._squares[1].T @ pairs.reshape(-1, problem.n_labels**2)).T
        curvature = np.maximum(np.concatenate([own.ravel(), links.ravel()]), 0.0)
        return Metric(lifted(curvature, problem.l2))


def train_graph_crf(problem: GraphProblem, control: Control) -> Trained:
    """Weights, as one vector, that minimise the mean loss plus the penalty, to a certified gap."""
    problem.topology.check_width(problem.n_labels)
    problem, own = graph_on_own_columns(problem)
    course = Course(problem, control, "crf", null_loss(problem))
    found = descend(GraphModel(problem), course, np.zeros(problem.size), lambda w: w)
    return replace(found, weights=own.whole_graph(problem, found.weights))


def null_loss(problem: GraphProblem) -> float:
    """P(0): the mean log of the number of allowed labellings."""
    return float(problem.mass @ log_partition(problem.graphs(np.zeros(problem.size))))


def _squares(rows: Any) -> Any:
    return rows.multiply(rows) if sparse.issparse(rows) else rows * rows
