"""Labellings as planes: which features they have more, and which less, than the true labelling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._base.typing import AnyArray, Array
from ..graph_problem import Augmented, GraphProblem


class Planes(NamedTuple):
    """Planes of some graphs, as the compiled ascent takes them; entries lie one after the other."""

    units: AnyArray
    costs: Array
    starts: AnyArray
    rows: AnyArray
    labels: AnyArray
    values: Array


class _Entries(NamedTuple):
    """Value at (row, label), with the graph it belongs to."""

    units: AnyArray
    rows: AnyArray
    labels: AnyArray
    values: Array


def planes_of(problem: GraphProblem, found: Augmented, units: AnyArray) -> Planes:
    """The labellings of these graphs; of a relaxed graph its μ, which may be fractions."""
    shape, chosen = problem.topology, np.zeros(problem.topology.n_graphs, dtype=bool)
    chosen[units] = True
    whole = chosen.copy()
    whole[list(found.relaxed)] = False
    parts = [*_of_labels(problem, found.labels, whole)]
    costs = problem.costs[np.arange(shape.n_nodes), found.labels]
    total = np.bincount(shape.graph_of_node, costs, shape.n_graphs).astype(np.float64)
    for g, one in found.relaxed.items():
        if chosen[g]:
            parts += _of_marginals(problem, g, one.nodes, one.edges)
            total[g] = float((problem.costs[shape.nodes_of(g)] * one.nodes).sum())
    joined = _Entries(*(np.concatenate(column) for column in zip(*parts)))
    order = np.argsort(joined.units, kind="stable")
    joined = _Entries(*(column[order] for column in joined))
    picked = np.flatnonzero(chosen)
    counts = np.bincount(joined.units, minlength=shape.n_graphs)[picked]
    return Planes(
        picked,
        total[picked],
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        joined.rows.astype(np.int64),
        joined.labels.astype(np.int32),
        joined.values,
    )


def _of_labels(problem: GraphProblem, labels: AnyArray, chosen: AnyArray) -> list[_Entries]:
    """+1 at the labels of a labelling, −1 at the true ones, where they differ."""
    shape, k, truth = problem.topology, problem.n_labels, problem.labels
    wrong = np.flatnonzero((labels != truth) & chosen[shape.graph_of_node])
    owners = shape.graph_of_node[wrong]
    first, second = shape.edges.T
    codes, true_codes = k * labels[first] + labels[second], k * truth[first] + truth[second]
    moved = np.flatnonzero((codes != true_codes) & chosen[shape.graph_of_edge])
    links, groups = _edge_rows(problem, moved), shape.graph_of_edge[moved]
    parts = []
    for own, link, value in ((labels, codes, 1.0), (truth, true_codes, -1.0)):
        parts.append(_Entries(owners, wrong, own[wrong], np.full(wrong.size, value)))
        parts.append(_present(problem, groups, links, link[moved], np.full(moved.size, value)))
    return parts


def _of_marginals(problem: GraphProblem, g: int, nodes: Array, edges: Array) -> list[_Entries]:
    """μ less the indicators of the truth, where they differ."""
    shape, k = problem.topology, problem.n_labels
    own, links = shape.nodes_of(g), shape.edges_of(g)
    extra = nodes.copy()
    extra[np.arange(extra.shape[0]), problem.labels[own]] -= 1.0
    row, label = np.nonzero(extra)
    parts = [_Entries(np.full(row.size, g), row + own.start, label, extra[row, label])]
    ends = problem.labels[shape.edges[links]]
    moved = edges.copy()
    moved[np.arange(moved.shape[0]), ends[:, 0], ends[:, 1]] -= 1.0
    e, a, b = np.nonzero(moved)
    rows = _edge_rows(problem, e + links.start)
    return [*parts, _present(problem, np.full(e.size, g), rows, k * a + b, moved[e, a, b])]


def _edge_rows(problem: GraphProblem, edges: AnyArray) -> AnyArray:
    """Rows of edges after those of nodes; all edges share one if they have no features."""
    own = edges if problem.edge_features is not None else np.zeros(edges.size, dtype=np.int64)
    return own + problem.topology.n_nodes


def _present(
    problem: GraphProblem, units: AnyArray, rows: AnyArray, codes: AnyArray, values: Array
) -> _Entries:
    """Entries of pairs that have a weight; in symmetric models each is two halves."""
    entries = _Entries(units, rows, codes, values)
    if problem.symmetric:
        k = problem.n_labels
        other = entries._replace(labels=codes % k * k + codes // k, values=0.5 * values)
        entries = entries._replace(values=0.5 * values)
        entries = _Entries(*(np.concatenate(both) for both in zip(entries, other)))
    if problem.present_pairs is None:
        return entries
    kept = problem.present_pairs.ravel()[entries.labels]
    return _Entries(*(column[kept] for column in entries))
