"""Kernels of graphs that count patterns: pairs of nodes at a distance, and small subgraphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ... import _core
from ..._base.parameters import check_count
from ..._base.typing import AnyArray, IntArray
from .counted import Counted, Occurrences
from .graphs import Graphs
from .keys import joined

_MOST_LABELS = 1 << 20  # different labels; safeguard: a pair and its distance are one 64-bit key
_LARGEST = 5  # nodes of a subgraph; convention: all numberings of larger ones are too many


class ShortestPath(Counted):
    r"""Pairs of nodes with the same labels at the same distance.

    .. math:: k(x, z) = \sum_{a, b, d} \#_{abd}(x) \, \#_{abd}(z)

    where #_{abd}(x) is the number of pairs of nodes of x that have the labels a and b and whose
    shortest path has d edges, d ≥ 1. A pair without a path between them does not count, and the
    pairs (u, v) and (v, u) are one.

    Parameters
    ----------
    attribute : str, default="label"
        The attribute of the nodes of a networkx graph that holds their labels.

    Notes
    -----
    Graphs are read as `WeisfeilerLehman` reads them. As ``features=`` the kinds of pairs of the
    training graphs are the columns of a sparse matrix.

    Examples
    --------
    >>> import minimand as mm
    >>> water = ([[0, 1, 1], [1, 0, 0], [1, 0, 0]], ["O", "H", "H"])
    >>> mm.ShortestPath()([water])
    array([[5.]])
    >>> sorted(mm.ShortestPath().fit([water]).get_feature_names_out())
    ['H, H at 2', 'H, O at 1']
    """

    def __init__(self, *, attribute: str = "label") -> None:
        self.attribute = attribute

    def find(self, X: Any) -> Occurrences:
        """The kinds of pairs of every graph."""
        graphs = Graphs.read(X, self.attribute)
        _check_labels(graphs)
        records = _core.shortest_paths(graphs.arrays)
        keys = graphs.kind_keys
        return _counts(
            records, len(graphs), lambda f: joined(keys[f[:, 0]], keys[f[:, 1]], f[:, 2]),
            lambda fields: _Pairs(fields, graphs.kinds),
        )  # fmt: skip


class Graphlet(Counted):
    r"""Common connected subgraphs of k nodes.

    .. math:: k(x, z) = \sum_{g} \#_g(x) \, \#_g(z)

    over all connected graphs g of k nodes, where #_g(x) is the number of sets of k nodes of x that,
    with all edges between them and with their labels, are g.

    Parameters
    ----------
    k : int, default=3
        The number of nodes of a subgraph, from 2 to 5.
    attribute : str, default="label"
        The attribute of the nodes of a networkx graph that holds their labels.

    Notes
    -----
    Graphs are read as `WeisfeilerLehman` reads them. All subgraphs are counted, none is sampled:
    n nodes with D neighbours each have about n·D^(k−1) of them. As ``features=`` the subgraphs of
    the training graphs are the columns of a sparse matrix.

    Examples
    --------
    >>> import minimand as mm
    >>> square = [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> mm.Graphlet(3)([square, triangle])
    array([[16.,  0.],
           [ 0.,  1.]])
    """

    def __init__(self, k: int = 3, *, attribute: str = "label") -> None:
        self.k = k
        self.attribute = attribute

    def check_parameters(self) -> None:
        """2 ≤ k ≤ 5."""
        check_count(self, "k")
        if not 2 <= self.k <= _LARGEST:
            raise ValueError(f"k of Graphlet must be from 2 to {_LARGEST}, not {self.k!r}.")

    def find(self, X: Any) -> Occurrences:
        """The kinds of subgraphs of every graph."""
        graphs = Graphs.read(X, self.attribute)
        _check_labels(graphs)
        records = _core.subgraphs(graphs.arrays, int(self.k))
        keys = graphs.kind_keys
        return _counts(
            records, len(graphs), lambda f: joined(*keys[f[:, :-1]].T, f[:, -1]),
            lambda fields: _Subgraphs(fields, graphs.kinds),
        )  # fmt: skip


def _check_labels(graphs: Graphs) -> None:
    if len(graphs.kinds) >= _MOST_LABELS:
        raise ValueError(
            f"the graphs have {len(graphs.kinds)} different labels, which is too many: labels are "
            "kinds of nodes, not names of single ones."
        )


def _counts(records: IntArray, count: int, key: Any, examples: Any) -> Occurrences:
    """Records (graph, fields, number of times) as occurrences of keys, by graph."""
    records = records[np.argsort(records[:, 0], kind="stable")]
    sizes = np.bincount(records[:, 0], minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    fields = records[:, 1:-1]
    return Occurrences(key(fields), starts, records[:, -1].astype(float), examples(fields))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Labels and distances of pairs of nodes."""

    fields: IntArray
    kinds: list[Any]

    def names(self, at: IntArray) -> list[str]:
        """Two labels and their distance."""
        found = []
        for a, b, d in self.fields[at].tolist():
            first, second = sorted([str(self.kinds[a]), str(self.kinds[b])])
            found.append(f"{first}, {second} at {d}")
        return found


@dataclass(frozen=True, eq=False)
class _Subgraphs:
    """Labels of the nodes of subgraphs, and their edges as bits."""

    fields: AnyArray
    kinds: list[Any]

    def names(self, at: IntArray) -> list[str]:
        """The labels of nodes 0, 1, … and the edges between them."""
        size = self.fields.shape[1] - 1
        # Bit p stands for pair p of (0,1), (0,2), (1,2), (0,3), …
        pairs = sorted(combinations(range(size), 2), key=lambda pair: pair[::-1])
        found = []
        for *labels, bits in self.fields[at].tolist():
            edges = [f"{i}-{j}" for p, (i, j) in enumerate(pairs) if bits >> p & 1]
            found.append(f"{', '.join(str(self.kinds[n]) for n in labels)}: {' '.join(edges)}")
        return found
