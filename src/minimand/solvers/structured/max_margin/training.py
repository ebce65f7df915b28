"""Max-margin training of chains and graphs: rounds of labellings until the gap is closed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ...._base.typing import Array
from ....outputs.graph import Topology
from ....problem.point import EPS
from ...base import Control
from ..course import Course, Trained
from ..graph_problem import GraphProblem, hamming
from ..own_columns import graph_on_own_columns, matrix_of
from ..problem import ChainProblem, ChainWeights
from .master import Judged
from .rounds import margin_rounds

_PATIENCE = 100  # rounds without progress, after which only rounding is left; safeguard
_PROGRESS = 0.01  # share by which the gap falls, or the bound rises, in progress; safeguard


def train_max_margin(
    problem: ChainProblem, control: Control, start: ChainWeights | None = None
) -> Trained:
    """Minimise the mean of max_c [Δ(y, c) + z(c)] − z(y) over sequences, plus l1·‖w‖₁ + ½·l2·‖w‖².

    Labellings that violate the margin at ``start`` are the first that the dual knows.
    """
    refuse_none(problem.l1, problem.l2)
    graphs = of_chains(problem)
    layout, first = problem.layout, None
    if start is not None:  # without weights that this problem does not have
        first = graph_vector(problem, layout.weights(layout.vector(start)))
    found = train_graph_margin(graphs, control, first)
    return replace(found, weights=chain_weights(problem, graphs, found.weights))


def train_graph_margin(
    graphs: GraphProblem, control: Control, start: Array | None = None
) -> Trained:
    """Rounds until the gap is small enough or the fit is stopped; the weights are one vector."""
    whole, (graphs, own) = graphs, graph_on_own_columns(graphs)
    rounds = margin_rounds(graphs, None if start is None else own.of_graph(whole, start))
    judged = next(rounds)  # at w = 0
    course = Course(graphs, control, "max_margin", judged.primal)
    before, idle = judged, 0
    with course.watched():
        while not course.record(judged.primal, judged.gap) and idle < _PATIENCE:
            judged = next(rounds)
            idle = 0 if _has_advanced(before, judged) else idle + 1
            before = before if idle else judged
    rounding = 4 * EPS * (judged.size + judged.primal)
    w = own.whole_graph(graphs, graphs.existing(judged.w))
    return course.trained(w, judged.primal, judged.gap, rounding)


def _has_advanced(before: Judged, judged: Judged) -> bool:
    """Whether the gap has fallen, or the bound has risen from almost nothing.

    With a small alpha many rounds pass before any model is better than w = 0, while the bound rises
    in each of them.
    """
    fallen = judged.gap <= (1.0 - _PROGRESS) * before.gap
    return fallen or judged.dual - before.dual > _PROGRESS * abs(before.dual)


def refuse_none(l1: float, l2: float) -> None:
    """Refuse a loss without a penalty, for which 0 is the only bound."""
    if not (l1 > 0 or l2 > 0):
        raise ValueError(
            "loss='max_margin' takes a penalty with alpha > 0: without one its dual bounds "
            "nothing. Set alpha above 0."
        )


def of_chains(problem: ChainProblem) -> GraphProblem:
    """Sequences as graphs; start and stop scores are weights of two more columns."""
    X, offsets, k = matrix_of(problem.design), problem.offsets, problem.n_labels
    topology = Topology.of_chains(offsets)
    forbidden = None
    first, last = offsets[:-1], offsets[1:] - 1
    if problem.ends:
        ends = np.zeros((X.shape[0], 2))
        ends[first, 0] = ends[last, 1] = 1.0
        is_sparse = sparse.issparse(X)
        X = sparse.hstack([X, ends], format="csr") if is_sparse else np.hstack([X, ends])
    allowed = problem.allowed
    if allowed is not None:
        forbidden = np.zeros((X.shape[0], k), dtype=bool)
        forbidden[first] |= ~allowed.start
        forbidden[last] |= ~allowed.stop
    present = problem.present
    if present is not None:
        present = present.T
        if problem.ends:
            present = np.hstack([present, np.ones((k, 2), dtype=bool)])
    costs = hamming(problem.labels, k) if problem.cost is None else problem.cost[problem.labels]
    return GraphProblem(
        X,
        topology,
        problem.labels,
        k,
        problem.mass,
        problem.l2,
        np.ascontiguousarray(costs, dtype=np.float64),
        edge_features=_edge_features(problem, topology),
        forbidden=forbidden,
        allowed_pairs=None if allowed is None else allowed.transitions,
        present_pairs=problem.present_transitions,
        present=present,
        l1=problem.l1,
        words=problem.words,
        meter=problem.meter,
    )


def _edge_features(problem: ChainProblem, topology: Topology) -> Any:
    """A column of ones for the transitions, and the features of steps."""
    if problem.edges is None:
        return None
    rows = matrix_of(problem.edges)[topology.edges[:, 1]]
    one = np.ones((rows.shape[0], 1))
    if sparse.issparse(rows):
        return sparse.hstack([one, rows], format="csr")
    return np.hstack([one, rows])


def chain_weights(problem: ChainProblem, graphs: GraphProblem, w: Array) -> ChainWeights:
    """The weights as chains have them."""
    d, k = problem.design.shape[1], problem.n_labels
    coef, links = graphs.split(w)
    start, stop = coef[:, d:].T if problem.ends else np.zeros((2, k))
    edge = None if problem.edges is None else links[:, 1:].T.reshape(-1, k, k)
    own = np.ascontiguousarray(coef[:, :d].T)
    return ChainWeights(own, links[:, 0].reshape(k, k).copy(), start.copy(), stop.copy(), edge)


def graph_vector(problem: ChainProblem, weights: ChainWeights) -> Array:
    """The weights of a chain model as the vector of the problem `of_chains`."""
    k, coef = problem.n_labels, weights.coef.T
    if problem.ends:
        coef = np.column_stack([coef, weights.start, weights.stop])
    tables = weights.transitions[None]
    if weights.edge is not None:
        tables = np.concatenate([tables, weights.edge])
    return np.concatenate([coef.ravel(), tables.reshape(-1, k * k).T.ravel()])
