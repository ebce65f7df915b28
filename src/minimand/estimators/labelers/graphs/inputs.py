"""Graphs as users have them: a matrix of nodes and a list of edges each, checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ...._base.typing import AnyArray
from ...._base.wording import brief
from ....outputs.graph import Topology
from ..tokens import GRAPH, check_list, lengths_of, sequences


@dataclass(frozen=True, eq=False)
class Given:
    """Nodes and edges of every graph; edges are (m, 2) arrays of nodes counted from 0."""

    nodes: list[Any]
    edges: list[AnyArray]

    @property
    def sizes(self) -> AnyArray:
        """Nodes of every graph."""
        return lengths_of(self.nodes)

    @cached_property
    def topology(self) -> Topology:
        """All graphs in one list of nodes."""
        offsets = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        return Topology(offsets, np.concatenate([e + o for e, o in zip(self.edges, offsets)]))

    def kept(self, places: AnyArray) -> Given:
        """Some of the graphs."""
        return Given([self.nodes[i] for i in places], [self.edges[i] for i in places])


def given_graphs(X: Any, edges: Any) -> Given:
    """Nodes and edges, told apart; pairs (nodes, edges) in X if ``edges`` is None."""
    if edges is None:
        X, edges = _apart(X)
    nodes = sequences(X, GRAPH)
    sizes = lengths_of(nodes)
    check_list("edges", edges, "edges", len(nodes), GRAPH)
    return Given(nodes, [_checked(own, int(n), i) for i, (own, n) in enumerate(zip(edges, sizes))])


def _apart(X: Any) -> tuple[list[Any], list[Any]]:
    """The two halves of pairs (nodes, edges)."""
    nodes, edges = [], []
    if isinstance(X, str | bytes | dict) or not hasattr(X, "__len__") or sparse.issparse(X):
        raise TypeError(f"X must be a list of graphs, not {brief(X)}.")
    for place, pair in enumerate(X):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"X[{place}] comes without edges: pass the features of nodes in X, a row or dict "
                "each, and edges=[…] with one (m, 2) array of node numbers per graph, or pairs "
                "(nodes, edges) in X."
            )
        nodes.append(pair[0])
        edges.append(pair[1])
    return nodes, edges


def _checked(edges: Any, size: int, place: int) -> AnyArray:
    """The edges of one graph as an (m, 2) array of numbers of nodes."""
    try:
        found = np.asarray(edges)
    except ValueError:
        found = np.empty(1)
    if found.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    whole = found.dtype.kind in "iu" or (found.dtype.kind == "f" and (found % 1 == 0).all())
    if found.ndim != 2 or found.shape[1] != 2 or not whole:
        raise ValueError(
            f"edges[{place}] must be an (m, 2) array of numbers of nodes, not {brief(edges)}."
        )
    found = found.astype(np.int64)
    if found.min() < 0 or found.max() >= size:
        raise ValueError(
            f"edges[{place}] names node {found.min() if found.min() < 0 else found.max()}, but "
            f"X[{place}] has the nodes 0 to {size - 1}."
        )
    if (found[:, 0] == found[:, 1]).any():
        node = found[found[:, 0] == found[:, 1]][0, 0]
        raise ValueError(
            f"edges[{place}] joins node {node} to itself: drop such edges, and put what depends on "
            "a single node into its features."
        )
    return found
