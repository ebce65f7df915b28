"""Conditional random fields on graphs: mean log Σ_c exp z(c) − z(y), plus ½l2·‖w‖², by L-BFGS."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse

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
    """L-BFGS until ‖∇P‖²/(2·l2), which bounds the distance to the optimum, is small enough.

    Weights are measured in units of their curvature, so that features may have any size.
    """
    from scipy.optimize import minimize

    problem.topology.check_width(problem.n_labels)
    objective, units = _Remembered(problem), _units(problem)
    best = np.zeros(problem.size)
    primal, gap, size = objective.judged(best)

    def scaled(x: Array) -> tuple[float, Array]:
        value, slope = objective(x / units)
        return value, slope / units

    def judge(x: Array) -> None:
        nonlocal best, primal, gap, size
        found = objective.judged(x / units)
        if found[1] <= gap:
            best, (primal, gap, size) = x / units, found
        if course.record(primal, gap):
            raise _EnoughError

    options = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0, "maxcor": _MEMORY}
    with suppress(_EnoughError), course.watched():
        judge(best * units)
        before = np.inf
        while gap < before:  # a search that failed may go on with a fresh memory
            before, x = gap, best * units
            minimize(scaled, x, jac=True, method="L-BFGS-B", callback=judge, options=options)
    return course.trained(best, primal, gap, 4 * EPS * size)


def _units(problem: GraphProblem) -> Array:
    """√(curvature) of every weight at w = 0, from above: l2 + ¼ Σ mass·feature²."""
    shape = problem.topology
    nodes, edges = problem.mass[shape.graph_of_node], problem.mass[shape.graph_of_edge]
    own = nodes @ _squares(problem.X)
    if problem.edge_features is None:
        links = np.array([edges.sum()])
    else:
        links = edges @ _squares(problem.edge_rows)
    k = problem.n_labels
    total = np.concatenate([np.tile(own, k), np.tile(links, k * k)])
    found: Array = np.sqrt(problem.l2 + 0.25 * total)
    return found


def _squares(rows: Any) -> Any:
    return rows.multiply(rows) if sparse.issparse(rows) else rows * rows


def null_loss(problem: GraphProblem) -> float:
    """P(0): the mean log of the number of allowed labellings."""
    return float(problem.mass @ log_partition(problem.graphs(np.zeros(problem.size))))
