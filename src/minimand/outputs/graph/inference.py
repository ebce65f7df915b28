"""One dynamic program on graphs, many semirings: sums, maxima, the k best, samples."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ... import _core
from ..._base.typing import AnyArray, Array
from ..._base.watch import look
from .elimination import Elimination
from .topology import Topology

_NUMBERS = 2**22  # scores of nodes in one search for several maxima, 32 MB; safeguard


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs with the scores of their labels.

    Parameters
    ----------
    topology : Topology
    unary : array of shape (n_nodes, k)
        −inf where a label is forbidden.
    pair : array of shape (k, k) or (n_edges, k, k)
        Scores of the labels of the first and the second end of an edge, for all edges or for each.

    Examples
    --------
    A star: node 0 in the middle, and two leaves that like to have its label.

    >>> import numpy as np
    >>> from minimand.outputs.graph import Graphs, Topology, best, marginals
    >>> star = Topology([0, 3], [[0, 1], [0, 2]])
    >>> graphs = Graphs(star, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.2]]), np.eye(2))
    >>> labels, values = best(graphs)
    >>> labels.tolist(), values.tolist()
    ([0, 0, 0], [3.0])
    >>> marginals(graphs).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """

    topology: Topology
    unary: Array
    pair: Array

    def __post_init__(self) -> None:
        unary = np.ascontiguousarray(self.unary, dtype=np.float64)
        pair = np.ascontiguousarray(self.pair, dtype=np.float64)
        object.__setattr__(self, "unary", unary)
        object.__setattr__(self, "pair", pair)
        n, m = self.topology.n_nodes, self.topology.edges.shape[0]
        if unary.ndim != 2 or unary.shape[0] != n or not unary.shape[1]:
            raise ValueError(f"unary must have one row for each of {n} nodes, not {unary.shape}.")
        k = unary.shape[1]
        if pair.shape not in ((k, k), (m, k, k)):
            raise ValueError(f"pair must be ({k}, {k}) or ({m}, {k}, {k}), not {pair.shape}.")
        if np.isnan(unary).any() or np.isnan(pair).any():
            raise ValueError("scores must not be NaN; −inf forbids a label.")
        if np.isposinf(unary).any() or np.isposinf(pair).any():
            raise ValueError("scores must be below +inf; −inf forbids a label.")

    @property
    def n_labels(self) -> int:
        """Labels that a node may have."""
        return int(self.unary.shape[1])

    @property
    def _arguments(self) -> tuple[Array, Array, AnyArray, AnyArray, tuple[Any, ...]]:
        """What compiled programs take."""
        shape = self.topology
        return self.unary, self.pair, shape.edges, shape.offsets, shape.rooted

    def with_unary(self, unary: Array) -> Graphs:
        """The same edges with other scores of nodes."""
        return Graphs(self.topology, unary, self.pair)

    def eliminated(self, *, sums: bool) -> Any:
        """(number, elimination) of every graph with a cycle, one at a time."""
        shape = self.topology
        shape.check_width(self.n_labels)
        for g, plan in shape.plans.items():
            look()
            pair = self.pair if self.pair.ndim == 2 else self.pair[shape.edges_of(g)]
            yield g, Elimination(plan, self.unary[shape.nodes_of(g)], pair, sums=sums)

    def single(self, graph: int, copies: int = 1) -> Graphs:
        """So many copies of one of the graphs."""
        shape, pair = self.topology, self.pair
        if pair.ndim == 3:
            pair = np.tile(pair[shape.edges_of(graph)], (copies, 1, 1))
        unary = np.tile(self.unary[shape.nodes_of(graph)], (copies, 1))
        return Graphs(shape.repeated(graph, copies), unary, pair)


class _Sums(NamedTuple):
    log_partition: Array
    nodes: Array
    edges: Array
    total: Array


def _sums(graphs: Graphs, *, by_edge: bool = False, mass: Array | None = None) -> _Sums:
    """Log-partitions and marginals, exactly; Σ mass·marginals of edges if masses are given."""
    shape = graphs.topology
    weights = mass
    if mass is not None and shape.cyclic.size:
        weights = mass.copy()
        weights[shape.cyclic] = 0.0  # their spanning forests must not be counted in
    found = _Sums(*_core.forest_sums(*graphs._arguments, by_edge, weights))
    for g, one in graphs.eliminated(sums=True):
        found.log_partition[g] = one.value
        nodes, edges = one.marginals()
        found.nodes[shape.nodes_of(g)] = nodes
        if by_edge:
            found.edges[shape.edges_of(g)] = edges
        if mass is not None:
            found.total[:] += mass[g] * edges.sum(axis=0)
    return found


def log_partition(graphs: Graphs) -> Array:
    """log Σ exp(score) over all labellings, one number per graph."""
    return _sums(graphs).log_partition


def marginals(graphs: Graphs) -> Array:
    """P(c_v = a) under probabilities ∝ exp(score): one row per node."""
    return _sums(graphs).nodes


def pairwise_marginals(graphs: Graphs) -> Array:
    """P(c_u = a, c_v = b) of every edge (u, v): (n_edges, k, k)."""
    return _sums(graphs, by_edge=True).edges


def expected_pairs(graphs: Graphs, mass: Array) -> tuple[Array, Array, Array]:
    """Log-partitions, marginals of nodes, and Σ mass·(marginals of edges), (k, k), in one pass."""
    found = _sums(graphs, mass=np.ascontiguousarray(mass, dtype=np.float64))
    return found.log_partition, found.nodes, found.total


def entropy(graphs: Graphs) -> Array:
    """log-partition − mean score of the distribution, one number per graph."""
    shape = graphs.topology
    found = _sums(graphs, by_edge=True)
    pair = graphs.pair if graphs.pair.ndim == 3 else graphs.pair[None]
    with np.errstate(invalid="ignore"):
        nodes = np.where(found.nodes > 0, found.nodes * graphs.unary, 0.0).sum(axis=1)
        edges = np.where(found.edges > 0, found.edges * pair, 0.0).sum(axis=(1, 2))
    mean = np.bincount(shape.graph_of_node, nodes, shape.n_graphs)
    mean = mean + np.bincount(shape.graph_of_edge, edges, shape.n_graphs)
    return found.log_partition - mean


def best(graphs: Graphs) -> tuple[AnyArray, Array]:
    """The labelling of the largest score of every graph, and that score."""
    labels, values = _core.forest_best(*graphs._arguments)
    labels = labels.astype(np.int64)
    for g, one in graphs.eliminated(sums=False):
        labels[graphs.topology.nodes_of(g)], values[g] = one.best(), one.value
    return labels, values


def loss_augmented(graphs: Graphs, costs: Array) -> tuple[AnyArray, Array]:
    """argmax_c and max_c of Σ costs[v, c_v] + score(c): the cost is part of the maximum."""
    return best(graphs.with_unary(graphs.unary + costs))


def sample(graphs: Graphs, count: int = 1, random_state: Any = None) -> AnyArray:
    """Labellings drawn with probabilities ∝ exp(score): (count, n_nodes)."""
    draws = check_random_state(random_state)
    drawn = np.empty((count, graphs.topology.n_nodes), dtype=np.int64)
    cyclic = list(graphs.eliminated(sums=True))
    for row in drawn:
        uniform = draws.uniform(size=row.size)
        row[:] = _core.forest_samples(*graphs._arguments, uniform)
        for g, one in cyclic:
            own = graphs.topology.nodes_of(g)
            row[own] = one.drawn(uniform[own])
    return drawn


def labelling_scores(graphs: Graphs, labels: AnyArray) -> Array:
    """The scores of one labelling of every graph."""
    return graphs.topology.scores(np.asarray(labels), graphs.unary, graphs.pair)


def k_best(graphs: Graphs, count: int) -> tuple[AnyArray, Array]:
    """The labellings of the largest scores: (count, n_nodes), and scores (n_graphs, count).

    Where a graph has fewer labellings, the labels are −1 and the scores −inf.
    """
    shape = graphs.topology
    labels = np.full((count, shape.n_nodes), -1, dtype=np.int64)
    values = np.full((shape.n_graphs, count), -np.inf)
    for g in range(shape.n_graphs):
        own = shape.nodes_of(g)
        for place, (value, found) in enumerate(_ranked(graphs.single(g), count)):
            labels[place, own], values[g, place] = found, value
    return labels, values


class _Waiting(NamedTuple):
    """The best labelling of a set: before ``node`` as it is, and at it none of ``without``."""

    negative: float  # minus its score
    number: int  # which breaks ties
    labels: AnyArray
    node: int
    without: tuple[int, ...]


def _ranked(graph: Graphs, count: int) -> list[tuple[float, AnyArray]]:
    """The k best of one graph, by Lawler's partition of the labellings that are left.

    After a labelling was taken from a set, the others of the set are divided by the first node at
    which they differ from it; the best of every part is one maximum with some labels fixed.
    """
    first, value = best(graph)
    waiting = [_Waiting(-float(value[0]), 0, first, 0, ())]
    taken: list[tuple[float, AnyArray]] = []
    number = 1
    while waiting and len(taken) < count:
        top = heapq.heappop(waiting)
        if not np.isfinite(top.negative):
            break
        taken.append((-top.negative, top.labels))
        for part in _divided(graph, top) if len(taken) < count else ():
            heapq.heappush(waiting, part._replace(number=number))
            number += 1
    return taken


def _divided(graph: Graphs, top: _Waiting) -> Iterator[_Waiting]:
    """The best of every part of a set without its best labelling, several parts at a time."""
    size, labels = graph.topology.n_nodes, top.labels
    several = max(1, _NUMBERS // max(graph.unary.size, 1))
    for begin in range(top.node, size, several):
        nodes = range(begin, min(begin + several, size))
        parts = graph.single(0, len(nodes))
        unary = parts.unary.reshape(len(nodes), size, graph.n_labels).copy()
        without = [(*top.without, labels[v]) if v == top.node else (labels[v],) for v in nodes]
        for own, v, absent in zip(unary, nodes, without):
            before = np.arange(v)
            kept = own[before, labels[:v]]
            own[:v] = -np.inf
            own[before, labels[:v]] = kept
            own[v, list(absent)] = -np.inf
        found, values = best(parts.with_unary(unary.reshape(-1, graph.n_labels)))
        for v, value, own, absent in zip(nodes, values, found.reshape(-1, size), without):
            if np.isfinite(value):
                yield _Waiting(-float(value), 0, own, v, absent)
