"""Problems of labelled graphs: mean loss of the scores of labellings, plus a penalty."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.typing import AnyArray, Array, BoolArray
from ..._base.watch import look
from ...outputs.graph import Graphs, Topology, best
from ...problem.point import Meter
from .relaxation import Relaxed, by_messages, relaxed


@dataclass(frozen=True, eq=False)
class GraphProblem:
    r"""Graphs with features of nodes, and of edges if there are any, and their true labels.

    A labelling c has the score Σ_v x_v·W[c_v] + Σ_e f_e·T[c_u, c_v], v over nodes, e = (u, v) over
    edges.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n_nodes, d)
    topology : Topology
    labels : true labels as numbers from 0, one per node
    n_labels : k
    mass : s/Σs, one per graph
    l2 : the factor of ½‖w‖², of all weights
    costs : (n_nodes, k), what a label costs at a node; 0 at the true one
    edge_features : array or CSR matrix of shape (n_edges, q), or None for f_e = 1
    forbidden : (n_nodes, k) of labels that a node cannot have, or None
    allowed_pairs : (k, k), pairs that an edge may have; None: all
    present_pairs : (k, k), pairs that have a weight; None: all
    present : (k, d), weights of nodes that exist; None: all
    l1 : the factor of ‖w‖₁
    symmetric : whether the score of an edge is that of (c_u, c_v) and (c_v, c_u) by halves
    words : the objective as a formula
    """

    X: Any
    topology: Topology
    labels: AnyArray
    n_labels: int
    mass: Array
    l2: float
    costs: Array
    edge_features: Any = None
    forbidden: BoolArray | None = None
    allowed_pairs: BoolArray | None = None
    present_pairs: BoolArray | None = None
    present: BoolArray | None = None
    symmetric: bool = False
    l1: float = 0.0
    words: str = ""
    meter: Meter = field(default_factory=Meter)
    messages: dict[int, Array] = field(default_factory=dict)  # of wide graphs, from the last search

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.n_node_weights + self.n_labels**2 * self.edge_rows.shape[1]

    @property
    def n_node_weights(self) -> int:
        """How many weights belong to nodes; they come first."""
        return int(self.n_labels * self.X.shape[1])

    @cached_property
    def edge_rows(self) -> Any:
        """Features of edges; one row for all of them if they have none of their own."""
        return np.ones((1, 1)) if self.edge_features is None else self.edge_features

    @cached_property
    def wide(self) -> list[int]:
        """Graphs that are too wide for exact inference."""
        return self.topology.too_wide(self.n_labels)

    @property
    def _finite(self) -> bool:
        """Whether every label and pair is allowed."""
        return self.forbidden is None and self.allowed_pairs is None

    def split(self, w: Array) -> tuple[Array, Array]:
        """W (k, d) and T (k², q)."""
        own = self.n_node_weights
        return w[:own].reshape(self.n_labels, -1), w[own:].reshape(self.n_labels**2, -1)

    def existing(self, w: Array) -> Array:
        """The vector with zeros in place of weights that the model does not have."""
        coef, links = self.split(w)
        if self.present is not None:
            coef = np.where(self.present, coef, 0.0)
        if self.present_pairs is not None:
            links = np.where(self.present_pairs.reshape(-1, 1), links, 0.0)
        return np.concatenate([coef.ravel(), links.ravel()])

    def even(self, w: Array) -> Array:
        """The vector with the same weight for both orders of labels, if edges have no direction.

        The scores are the same, and the penalty is not larger.
        """
        if not self.symmetric:
            return w
        coef, links = self.split(w)
        tables = links.reshape(self.n_labels, self.n_labels, -1)
        tables = 0.5 * (tables + np.swapaxes(tables, 0, 1))
        return np.concatenate([coef.ravel(), tables.ravel()])

    def graphs(self, w: Array) -> Graphs:
        """The scores of nodes and edges."""
        return self.graphs_with(*self.linear_scores(w))

    def linear_scores(self, w: Array) -> tuple[Array, Array]:
        """The scores of nodes, and of all edges alike or of each, as linear functions of w."""
        k = self.n_labels
        coef, links = self.split(w)
        unary = np.asarray(self.X @ coef.T)
        if self.present_pairs is not None:
            links = links * self.present_pairs.reshape(-1, 1)
        if self.edge_features is None:
            pair: Array = links[:, 0].reshape(k, k).copy()
        else:
            pair = np.asarray(self.edge_rows @ links.T).reshape(-1, k, k)
        if self.symmetric:
            pair = 0.5 * (pair + np.swapaxes(pair, -1, -2))
        return unary, pair

    def graphs_with(self, unary: Array, pair: Array) -> Graphs:
        """The graphs with these scores, −inf where a label or pair is not allowed."""
        self.meter.passes += 1
        if self.forbidden is not None:
            unary = np.where(self.forbidden, -np.inf, unary)
        if self.allowed_pairs is not None:
            pair = np.where(self.allowed_pairs, pair, -np.inf)
        return Graphs(self.topology, unary, pair)

    def features(self, nodes: Array, pairs: Array) -> Array:
        """Σ of features: nodes (n_nodes, k), and pairs (k, k) in all or (n_edges, k, k).

        This is the transpose of `graphs`.
        """
        if self.symmetric:
            pairs = 0.5 * (pairs + np.swapaxes(pairs, -1, -2))
        if self.present_pairs is not None:
            pairs = pairs * self.present_pairs
        own = np.asarray(self.X.T @ nodes).T
        if self.present is not None:
            own = own * self.present
        links = np.asarray(pairs.reshape(-1, self.n_labels**2).T @ self.edge_rows)
        return np.concatenate([own.ravel(), links.ravel()])

    def gold_scores(self, graphs: Graphs) -> Array:
        """Scores of the true labellings."""
        return self.topology.scores(self.labels, graphs.unary, graphs.pair)

    def messages_of(self, g: int) -> Array:
        """The messages of a wide graph, from which the next search for its maximum begins."""
        shape = (2, self.topology.local_edges(g).shape[0], self.n_labels)
        return self.messages.setdefault(g, np.zeros(shape))

    def augmented(self, w: Array, *, costly: bool = True, exact: bool = False) -> Augmented:
        """max_c [cost(c) + score(c)] − score(truth) of every graph, and where it is attained.

        Graphs that are too wide for exact inference take the linear relaxation, ``exact`` or as
        messages bound it: the maximum is then an upper bound.
        """
        graphs = self.graphs(w)
        gold = self.gold_scores(graphs)
        if costly:
            graphs = graphs.with_unary(graphs.unary + self.costs)
        if not self.wide:
            labels, values = best(graphs)
            return Augmented(values - gold, labels, {}, self._size(values, gold))
        found, shape = {}, self.topology
        narrow = np.setdiff1d(np.arange(shape.n_graphs), self.wide)
        labels, values = np.empty(shape.n_nodes, dtype=np.int64), np.empty(shape.n_graphs)
        for g in narrow:
            labels[shape.nodes_of(g)], values[g : g + 1] = best(graphs.single(int(g)))
        for g in self.wide:
            look()
            pair = graphs.pair if graphs.pair.ndim == 2 else graphs.pair[shape.edges_of(g)]
            search = relaxed if exact or not self._finite else by_messages
            scores = shape.local_edges(g), graphs.unary[shape.nodes_of(g)], pair
            found[g] = search(*scores, self.messages_of(g))
            labels[shape.nodes_of(g)], values[g] = found[g].labels, found[g].bound
        return Augmented(values - gold, labels, found, self._size(values, gold))

    def _size(self, values: Array, gold: Array) -> float:
        """The mean size of the numbers of which losses are differences."""
        return float(self.mass @ (np.abs(values) + np.abs(gold)))

    def row_tuples(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Features of nodes and edges as the compiled ascent takes them."""
        return _rows(self.X), _rows(self.edge_rows)


class Augmented(NamedTuple):
    """The cost-augmented maximum of every graph, less the score of the truth."""

    values: Array
    labels: AnyArray
    relaxed: dict[int, Relaxed]  # of graphs that are too wide, by their numbers
    size: float  # of the numbers that were subtracted

    def loose(self, mass: Array) -> float:
        """By how much bounds of wide graphs exceed the scores of their labellings, in the mean."""
        open_ = [(g, one) for g, one in self.relaxed.items() if not one.integral]
        return float(sum(mass[g] * (one.bound - one.value) for g, one in open_))


def _rows(matrix: Any) -> tuple[Any, ...]:
    if sparse.issparse(matrix):
        rows = matrix.tocsr()
        numbers = (rows.indptr.astype(np.int64), rows.indices.astype(np.int32))
        return (*numbers, np.ascontiguousarray(rows.data, dtype=np.float64), rows.shape[1])
    return (np.ascontiguousarray(matrix, dtype=np.float64),)


def hamming(labels: AnyArray, n_labels: int, each: Any = 1.0) -> Array:
    """Costs (n_nodes, k): ``each`` for a wrong label, a number or one per node."""
    costs = np.ones((labels.size, n_labels)) * np.reshape(each, (-1, 1))
    costs[np.arange(labels.size), labels] = 0.0
    return costs
