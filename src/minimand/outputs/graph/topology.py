"""Graphs as lists of edges: which are forests, and how the others are eliminated."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ... import _core
from ..._base.typing import AnyArray, Array, ArrayLike
from .elimination import Plan

WIDEST = 2**24  # numbers in a table of an elimination, 128 MB; safeguard
MOST = 2**27  # numbers in all its tables, which are kept until it ends, 1 GB; safeguard


class Topology:
    """Nodes and edges of many graphs, one after the other; found once, used with many scores.

    Parameters
    ----------
    offsets : int64 array of shape (n_graphs + 1,)
        The nodes of graph i are the rows ``offsets[i]`` to ``offsets[i + 1]``.
    edges : int64 array of shape (n_edges, 2)
        Pairs of rows, those of the first graph first. An edge has a direction only in the sense
        that its scores are ``pair[label of the first end, label of the second end]``.
    """

    def __init__(self, offsets: ArrayLike, edges: ArrayLike) -> None:
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.edges = np.ascontiguousarray(edges, dtype=np.int64).reshape(-1, 2)
        self.n_nodes = int(self.offsets[-1])
        self.n_graphs = self.offsets.size - 1
        found = _core.root_forest(self.edges, self.offsets)
        self.rooted: tuple[Any, ...] = found[:3]
        self.cyclic = np.flatnonzero(found[3])  # numbers of the graphs that are no forests
        self.graph_of_node = np.repeat(np.arange(self.n_graphs), np.diff(self.offsets))
        owners = self.graph_of_node[self.edges[:, 0]]
        if np.any(np.diff(owners) < 0):
            raise ValueError("edges must be listed graph by graph.")
        self.graph_of_edge = owners
        self.edge_offsets = np.searchsorted(owners, np.arange(self.n_graphs + 1))

    @classmethod
    def of_chains(cls, offsets: AnyArray) -> Topology:
        """Sequences: every row is joined to the next one of its sequence."""
        offsets = np.asarray(offsets, dtype=np.int64)
        second = np.setdiff1d(np.arange(offsets[-1]), offsets, assume_unique=False)
        return cls(offsets, np.column_stack([second - 1, second]))

    def nodes_of(self, graph: int) -> slice:
        """The rows of a graph."""
        return slice(int(self.offsets[graph]), int(self.offsets[graph + 1]))

    def edges_of(self, graph: int) -> slice:
        """Its edges."""
        return slice(int(self.edge_offsets[graph]), int(self.edge_offsets[graph + 1]))

    def local_edges(self, graph: int) -> AnyArray:
        """Its edges, with nodes counted from 0."""
        return self.edges[self.edges_of(graph)] - self.offsets[graph]

    def repeated(self, graph: int, copies: int) -> Topology:
        """So many copies of one of the graphs, eliminated like it."""
        nodes, links = self.nodes_of(graph), self.local_edges(graph)
        offsets = (nodes.stop - nodes.start) * np.arange(copies + 1)
        edges = (links[None] + offsets[:-1, None, None]).reshape(-1, 2)
        found = Topology(offsets, edges)
        if found.cyclic.size:
            found.plans = dict.fromkeys(range(copies), self.plans[graph])
        return found

    @cached_property
    def plans(self) -> dict[int, Plan]:
        """How the graphs with cycles are eliminated, by their numbers."""
        return {
            g: Plan(int(self.offsets[g + 1] - self.offsets[g]), self.local_edges(g), WIDEST)
            for g in self.cyclic.tolist()
        }

    def too_wide(self, n_labels: int) -> list[int]:
        """Graphs whose elimination would need a table, or tables in all, of too many numbers."""
        return [
            g
            for g, plan in self.plans.items()
            if plan.cells(n_labels) > WIDEST or plan.all_cells(n_labels) > MOST
        ]

    def check_width(self, n_labels: int) -> None:
        """Refuse graphs that are too wide, in a sentence."""
        for g in self.too_wide(n_labels):
            width = self.plans[g].width
            raise ValueError(
                f"graph {g} has cycles of width {width} or more: exact inference with {n_labels} "
                f"labels would need a table of {n_labels}^{width + 1} numbers and others beside "
                "it. Leave out edges, or take the linear relaxation, as a labeler with "
                "loss='max_margin' does."
            )

    def scores(self, labels: AnyArray, unary: Array, pair: Array) -> Array:
        """The score of a labelling of every graph."""
        nodes: Array = unary[np.arange(self.n_nodes), labels]
        first, second = labels[self.edges[:, 0]], labels[self.edges[:, 1]]
        links = pair[first, second] if pair.ndim == 2 else _taken(pair, first, second)
        return _sums(nodes, self.offsets) + _sums(links, self.edge_offsets)


def _sums(values: Array, offsets: AnyArray) -> Array:
    """Σ values over every run; in pairs, so that long runs lose no digits."""
    full = np.diff(offsets) > 0
    found = np.zeros(full.size)
    if full.any():
        found[full] = np.add.reduceat(values, offsets[:-1][full])
    return found


def _taken(pair: Array, first: AnyArray, second: AnyArray) -> Array:
    taken: Array = pair[np.arange(pair.shape[0]), first, second]
    return taken
