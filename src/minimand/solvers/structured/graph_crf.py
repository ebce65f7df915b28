"""Conditional random fields on graphs: mean log Σ_c exp z(c) − z(y), plus ½l2·‖w‖², by L-BFGS."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ..._base.typing import Array
from ...outputs.graph import expected_pairs, log_partition, pairwise_marginals
from ...problem.point import EPS
from .course import Course, Trained
from .graph_problem import GraphProblem

_MEMORY = 20  # pairs that L-BFGS keeps; convention


class _EnoughError(Exception):
    """The gap is small enough, or the fit was stopped."""


class GraphCrf:
    """The objective and its slope."""

    def __init__(self, problem: GraphProblem) -> None:
        self.problem = problem
        k, shape = problem.n_labels, problem.topology
        nodes = np.eye(k)[problem.labels] * problem.mass[shape.graph_of_node][:, None]
        ends = problem.labels[shape.edges]
        pairs = np.zeros((shape.edges.shape[0], k, k))
        pairs[np.arange(ends.shape[0]), ends[:, 0], ends[:, 1]] = problem.mass[shape.graph_of_edge]
        self.size = 0.0  # of the numbers that were subtracted last
        self._truth = problem.features(nodes, self._summed(pairs))

    def _summed(self, pairs: Array) -> Array:
        """Pairs of all edges, or one table if edges have no features."""
        found: Array = pairs.sum(axis=0) if self.problem.edge_features is None else pairs
        return found

    def __call__(self, w: Array) -> tuple[float, Array]:
        """Σ s·[log Σ exp z(c) − z(y)] + ½l2·‖w‖², and its gradient."""
        problem = self.problem
        graphs, shape = problem.graphs(w), problem.topology
        if problem.edge_features is None:
            sums, nodes, pairs = expected_pairs(graphs, problem.mass)
        else:
            sums, nodes, _ = expected_pairs(graphs, problem.mass)
            pairs = pairwise_marginals(graphs) * problem.mass[shape.graph_of_edge][:, None, None]
        nodes = nodes * problem.mass[shape.graph_of_node][:, None]
        gold = problem.gold_scores(graphs)
        value = float(problem.mass @ (sums - gold))
        self.size = float(problem.mass @ (np.abs(sums) + np.abs(gold)))
        slope = problem.features(nodes, pairs) - self._truth + problem.l2 * w
        return value + 0.5 * problem.l2 * float(w @ w), slope


class _Remembered(GraphCrf):
    """The objective, which keeps its last point: a step ends where it was last evaluated."""

    def __init__(self, problem: GraphProblem) -> None:
        super().__init__(problem)
        self._last: tuple[Array, float, Array] | None = None

    def __call__(self, w: Array) -> tuple[float, Array]:
        """The objective and its gradient."""
        value, slope = super().__call__(w)
        self._last = w.copy(), value, slope
        return value, slope

    def judged(self, w: Array) -> tuple[float, float, float]:
        """P, the bound ‖∇P‖²/(2·l2) of its distance from the optimum, and the size of its terms."""
        if self._last is None or not np.array_equal(self._last[0], w):
            self(w)
        assert self._last is not None
        _, value, slope = self._last
        return value, float(slope @ slope) / (2 * self.problem.l2), self.size


def train_graph_crf(problem: GraphProblem, course: Course) -> Trained:
    """L-BFGS until ‖∇P‖²/(2·l2), which bounds the distance to the optimum, is small enough."""
    from scipy.optimize import minimize

    problem.topology.check_width(problem.n_labels)
    objective, best = _Remembered(problem), np.zeros(problem.size)
    primal, gap, size = objective.judged(best)

    def judge(x: Array) -> None:
        nonlocal best, primal, gap, size
        found = objective.judged(x)
        if found[1] <= gap:
            best, (primal, gap, size) = x.copy(), found
        if course.record(primal, gap):
            raise _EnoughError

    options = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0, "maxcor": _MEMORY}
    with suppress(_EnoughError), course.watched():
        judge(best)
        minimize(objective, best, jac=True, method="L-BFGS-B", callback=judge, options=options)
    return course.trained(best, primal, gap, 4 * EPS * size)


def null_loss(problem: GraphProblem) -> float:
    """P(0): the mean log of the number of allowed labellings."""
    return float(problem.mass @ log_partition(problem.graphs(np.zeros(problem.size))))
