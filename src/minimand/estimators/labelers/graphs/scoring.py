"""Graphs with the scores that a fitted labeler gives them, and their best labellings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...._base.typing import AnyArray, Array
from ....design import as_design
from ....outputs.graph import Graphs, Topology, best
from ....solvers.structured.relaxation import Relaxed, relaxed
from ..structure import edge_width
from ..tokens import read
from .inputs import given_graphs
from .posing import edge_rows_of


class Decoded(NamedTuple):
    """The best labellings of graphs and their scores; relaxations of those that are too wide."""

    labels: AnyArray
    values: Array
    relaxed: dict[int, Relaxed]
    offsets: AnyArray


def scored_graphs(labeler: Any, X: Any, edges: Any) -> Graphs:
    """Read graphs and score them with the weights of the fit."""
    check_is_fitted(labeler, "coef_")
    given = given_graphs(X, edges)
    nodes = read(given.nodes, labeler)
    unary = as_design(nodes.matrix).matvec(np.ascontiguousarray(labeler.coef_.T))
    pair = labeler.pairs_
    width = edge_width(labeler)
    if width:  # else none of the fit's graphs had an edge
        k = labeler.classes_.size
        rows = edge_rows_of(labeler._edges, nodes.matrix, given.topology, width)
        weights = labeler.edge_coef_.reshape(-1, k * k)
        pair = pair + np.asarray(rows @ weights).reshape(-1, k, k)
    graphs = Graphs(given.topology, unary, pair)
    _refuse_impossible(labeler, graphs)
    return graphs


def _refuse_impossible(labeler: Any, graphs: Graphs) -> None:
    """Refuse graphs without a labelling whose pairs are all allowed, or with none that is found."""
    if np.isfinite(labeler.pairs_).all():
        return
    found = best_of(graphs)
    bad = np.flatnonzero(~np.isfinite(found.values))
    if bad.size:
        wide = int(bad[0]) in found.relaxed
        words = "the linear relaxation found no labelling that" if wide else "no labelling of it"
        raise ValueError(
            f"X[{bad[0]}] has {np.diff(found.offsets)[bad[0]]} nodes, and {words} is allowed by "
            "the transitions of the fit: allow more of them."
        )


def best_of(graphs: Graphs) -> Decoded:
    """The best labelling of every graph; by the relaxation where a graph is too wide."""
    shape = graphs.topology
    wide = shape.too_wide(graphs.n_labels)
    if not wide:
        return Decoded(*best(graphs), {}, shape.offsets)
    labels = np.empty(shape.n_nodes, dtype=np.int64)
    values, found = np.empty(shape.n_graphs), {}
    for g in range(shape.n_graphs):
        own = shape.nodes_of(g)
        if g not in wide:
            labels[own], values[g : g + 1] = best(graphs.single(g))
            continue
        pair = graphs.pair if graphs.pair.ndim == 2 else graphs.pair[shape.edges_of(g)]
        found[g] = relaxed(shape.local_edges(g), graphs.unary[own], pair)
        labels[own], values[g] = found[g].labels, found[g].value
    return Decoded(labels, values, found, shape.offsets)


__all__ = ["Decoded", "Topology", "best_of", "scored_graphs"]
