"""Labelled undirected graphs: read from networkx or from adjacency matrices, all at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.typing import AnyArray, IntArray
from .inputs import samples_of
from .keys import Labels

_WHAT = "graphs: networkx graphs, adjacency matrices, or tuples (adjacency, labels)"


class Links(NamedTuple):
    """One graph: pairs of nodes by number, what the matrix holds there, and labels."""

    size: int
    heads: AnyArray
    tails: AnyArray
    values: AnyArray
    labels: Iterable[Any]


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs one after another: graph g holds nodes ``starts[g]`` to ``starts[g + 1]``.

    Labels are numbered in the order of their keys, which is the same in all calls.
    """

    starts: IntArray
    labels: AnyArray  # int32, a number for every node
    neighbor_starts: IntArray
    neighbors: IntArray
    kinds: list[Any]  # the different labels
    kind_keys: AnyArray  # uint64, rising

    @classmethod
    def read(cls, X: Any, attribute: str) -> Graphs:
        """Graphs of any kind; what is none is refused in one sentence."""
        found = [
            _links(graph, i, attribute) for i, graph in enumerate(samples_of(X, _WHAT, "graphs"))
        ]
        starts = np.concatenate([[0], np.cumsum([one.size for one in found], dtype=np.int64)])
        matrix = _adjacency(found, starts)
        labels = Labels("labels of nodes")
        numbers = labels.numbers(chain.from_iterable(one.labels for one in found))
        keys = labels.key_array()
        order = np.argsort(keys)
        ranks = np.empty(order.size, dtype=np.int32)
        ranks[order] = np.arange(order.size)
        kinds = [labels.labels[number] for number in order.tolist()]
        indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        return cls(starts, ranks[numbers], indptr, indices, kinds, keys[order])

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """As compiled kernels take them."""
        return self.starts, self.labels, self.neighbor_starts, self.neighbors

    def around(self, node: int) -> IntArray:
        """The neighbours of a node."""
        return self.neighbors[self.neighbor_starts[node] : self.neighbor_starts[node + 1]]


def _links(graph: Any, i: int, attribute: str) -> Links:
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return _from_networkx(graph, i, attribute)
    labels = None
    if isinstance(graph, tuple):
        if len(graph) != 2:
            raise ValueError(
                f"graph {i} is a tuple of {len(graph)} entries: pass (adjacency, labels)."
            )
        graph, labels = graph
    found = _from_matrix(graph, i)
    if labels is None:
        return found
    labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(labels) != found.size:
        raise ValueError(f"graph {i} has {found.size} nodes, but {len(labels)} labels.")
    return found._replace(labels=labels)


def _from_matrix(matrix: Any, i: int) -> Links:
    """Where an adjacency matrix is not zero."""
    if sparse.issparse(matrix):
        if matrix.format != "csr":
            matrix = matrix.tocsr()
        heads = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        tails, values = matrix.indices, matrix.data
    else:
        try:
            matrix = np.asarray(matrix)
        except ValueError:  # rows of different lengths
            matrix = np.empty(0)
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise ValueError(f"X must hold {_WHAT}, but entry {i} is none of these.")
        heads, tails = np.nonzero(matrix)
        values = matrix[heads, tails]
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"the adjacency matrix of graph {i} must be square, but its shape is {matrix.shape}."
        )
    size = int(matrix.shape[0])
    return Links(size, heads, tails, values, [None] * size)


def _from_networkx(graph: Any, i: int, attribute: str) -> Links:
    """A networkx graph, or what has its methods."""
    if getattr(graph, "is_directed", bool)():
        raise ValueError(f"graph {i} is directed: pass graph.to_undirected().")
    nodes = list(graph.nodes(data=True))
    numbers = {node: number for number, (node, _) in enumerate(nodes)}
    labelled = [attribute in data for _, data in nodes]
    if any(labelled) and not all(labelled):
        node = nodes[labelled.index(False)][0]
        raise ValueError(
            f"graph {i} has nodes with the attribute {attribute!r} and others without it, such as "
            f"{node!r}: label all nodes or none."
        )
    ends = [(numbers[edge[0]], numbers[edge[1]]) for edge in graph.edges()]
    heads, tails = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    both = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    labels = [data.get(attribute) for _, data in nodes]
    return Links(len(nodes), *both, np.ones(2 * len(ends)), labels)


def _adjacency(graphs: list[Links], starts: IntArray) -> Any:
    """One matrix of all graphs, checked: symmetric, without loops, zeros and ones."""
    size = int(starts[-1])
    lengths = [one.heads.size for one in graphs]
    shift = np.repeat(starts[:-1], lengths)
    heads, tails, values = (
        np.concatenate([getattr(one, name) for one in graphs] or [np.empty(0, dtype=np.int64)])
        for name in ("heads", "tails", "values")
    )
    there = values != 0
    wrong = there & (values != 1)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        graph = int(np.searchsorted(np.cumsum(lengths), place, side="right"))
        raise ValueError(
            f"an adjacency matrix holds zeros and ones, but that of graph {graph} holds "
            f"{values[place]}: pass A != 0 if weights do not matter."
        )
    heads, tails = (heads + shift)[there], (tails + shift)[there]
    if (heads == tails).any():
        node = int(heads[heads == tails][0])
        raise ValueError(
            f"graph {_owner(starts, node)} has an edge from a node to itself: remove such edges."
        )
    matrix = sparse.csr_array((np.ones(heads.size), (heads, tails)), shape=(size, size))
    back = matrix.T.tocsr()
    same = np.array_equal(matrix.indptr, back.indptr)
    if not same or not np.array_equal(matrix.indices, back.indices):
        node = int((matrix - back).tocoo().row[0])
        raise ValueError(
            f"the adjacency matrix of graph {_owner(starts, node)} must be symmetric: pass A | A.T "
            "of a matrix of bools to ignore the direction of edges."
        )
    return matrix


def _owner(starts: IntArray, node: int) -> int:
    """The graph of a node."""
    return int(np.searchsorted(starts, node, side="right")) - 1
