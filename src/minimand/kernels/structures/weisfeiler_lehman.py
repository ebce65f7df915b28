"""The Weisfeiler-Lehman subtree kernel of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.parameters import check_count
from ..._base.typing import AnyArray, IntArray
from .counted import Counted, Occurrences
from .graphs import Graphs
from .inputs import abbreviated
from .keys import joined, mixed


class WeisfeilerLehman(Counted):
    r"""Nodes with alike surroundings: labels, labels of neighbours, theirs, … for h rounds.

    .. math:: k(x, z) = \sum_{r = 0}^{h} \sum_{c} \#_{r, c}(x) \, \#_{r, c}(z)

    where #_{r, c}(x) is the number of nodes of x of colour c in round r. The colours of round 0 are
    the labels. In each further round nodes have the same colour if they had it before and the
    colours of their neighbours, counted, were the same. So a colour of round r stands for all that
    can be seen from a node by walks of r edges.

    Parameters
    ----------
    h : int, default=3
        The number of rounds; 0 compares the labels alone.
    attribute : str, default="label"
        The attribute of the nodes of a networkx graph that holds their labels.

    Notes
    -----
    A graph is a networkx graph, an adjacency matrix of zeros and ones (dense or sparse), or a tuple
    ``(adjacency, labels)`` with a label (a text or a number) for every node. Graphs are undirected
    and have no edges from a node to itself; without labels all nodes are alike. As ``features=``
    the colours of the training graphs are the columns of a sparse matrix. Colours are 64-bit
    hashes: of a million different ones, two are confused with a probability of 3·10⁻⁸.

    Examples
    --------
    >>> import minimand as mm
    >>> water = ([[0, 1, 1], [1, 0, 0], [1, 0, 0]], ["O", "H", "H"])
    >>> hydrogen = ([[0, 1], [1, 0]], ["H", "H"])
    >>> mm.WeisfeilerLehman(h=1)([water, hydrogen])
    array([[10.,  4.],
           [ 4.,  8.]])
    >>> mm.WeisfeilerLehman(h=1).fit([water]).get_feature_names_out().tolist()
    ['O', 'O(H, H)', 'H', 'H(O)']
    """

    def __init__(self, h: int = 3, *, attribute: str = "label") -> None:
        self.h = h
        self.attribute = attribute

    def check_parameters(self) -> None:
        """H ≥ 0."""
        if self.h != 0 or isinstance(self.h, bool):
            check_count(self, "h")

    def find(self, X: Any) -> Occurrences:
        """The colours of all nodes in all rounds."""
        graphs = Graphs.read(X, self.attribute)
        colours = np.empty((graphs.labels.size, int(self.h) + 1), dtype=np.uint64)
        colours[:, 0] = mixed(graphs.kind_keys)[graphs.labels]
        sums = np.zeros(graphs.neighbors.size + 1, dtype=np.uint64)
        for r in range(1, colours.shape[1]):
            # Sums modulo 2⁶⁴, which do not depend on the order of neighbours.
            np.cumsum(mixed(colours[:, r - 1])[graphs.neighbors], out=sums[1:])
            around = np.diff(sums[graphs.neighbor_starts])
            colours[:, r] = joined(colours[:, r - 1], around)
        starts = graphs.starts * colours.shape[1]
        return Occurrences(colours.ravel(), starts, None, _Colours(graphs, colours))


@dataclass(frozen=True, eq=False)
class _Colours:
    """The colours of all nodes."""

    graphs: Graphs
    colours: AnyArray

    def names(self, at: IntArray) -> list[str]:
        """A label, and in brackets what the neighbours were called in the round before."""
        nodes, rounds = np.divmod(at, self.colours.shape[1])
        known: dict[int, str] = {}
        names = [""] * at.size
        for place in np.argsort(rounds, kind="stable").tolist():
            node, r = int(nodes[place]), int(rounds[place])
            name = str(self.graphs.kinds[self.graphs.labels[node]])
            if r > 0:
                others = self.colours[self.graphs.around(node), r - 1].tolist()
                name += f"({', '.join(sorted(known[c] for c in others)) or f'alone, {r}'})"
            names[place] = known[int(self.colours[node, r])] = abbreviated(name, place)
        return names
