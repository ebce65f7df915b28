"""Kernels of trees: common subtrees, and common fragments that grow from a node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.parameters import check_number
from ..._base.typing import AnyArray, Array, IntArray
from ..base import Kernel
from .counted import Counted, Occurrences
from .inputs import abbreviated, finite, samples_of
from .keys import Labels, key_of_keys
from .objects import Objects, concatenated

_WHAT = "trees, as nested tuples (label, child, child, …) with leaves that are labels"


class Nodes(NamedTuple):
    """The nodes of one tree, children before their parents."""

    labels: list[Any]
    children: list[list[int]]


def read_trees(X: Any) -> list[Nodes]:
    """X as a list of trees; anything else is refused."""
    return [_nodes(tree, i) for i, tree in enumerate(samples_of(X, _WHAT, "trees"))]


def _nodes(tree: Any, i: int) -> Nodes:
    """The nodes of a nested tuple; without recursion, so that deep trees are read too."""
    found = [tree]
    parents = [-1]
    for place, node in enumerate(found):  # grows: parents first, and children in their order
        if isinstance(node, tuple | list):
            if not node or isinstance(node[0], tuple | list):
                raise ValueError(
                    f"X must hold {_WHAT}, but tree {i} has the node {node!r:.50}, which does not "
                    "begin with a label."
                )
            found.extend(node[1:])
            parents.extend([place] * (len(node) - 1))
    last = len(found) - 1
    labels = [node[0] if isinstance(node, tuple | list) else node for node in reversed(found)]
    children: list[list[int]] = [[] for _ in found]
    for place in range(1, last + 1):
        children[last - parents[place]].append(last - place)
    return Nodes(labels, children)


class SubTree(Counted):
    r"""Common subtrees: how many pairs of nodes have all below them in common.

    .. math:: k(x, z) = \sum_{t} \#_t(x) \, \#_t(z)

    over all trees t, where #_t(x) is the number of nodes of x whose subtree, with everything down
    to the leaves, is t. Leaves are subtrees too. The order of children counts.

    Notes
    -----
    A tree is a nested tuple of a label and its children, ``("S", ("NP", "dogs"), ("VP", "bark"))``;
    a leaf is a label, a text or a number. As ``features=`` the subtrees of the
    training trees are the columns of a sparse matrix.

    Examples
    --------
    >>> import minimand as mm
    >>> dogs = ("S", ("NP", "dogs"), ("VP", "bark"))
    >>> cats = ("S", ("NP", "cats"), ("VP", "bark"))
    >>> mm.SubTree()([dogs, cats])
    array([[5., 2.],
           [2., 5.]])
    >>> mm.SubTree().fit([dogs]).get_feature_names_out().tolist()
    ['bark', 'dogs', '(VP bark)', '(NP dogs)', '(S (NP dogs) (VP bark))']
    """

    def find(self, X: Any) -> Occurrences:
        """The subtrees of all nodes."""
        trees = read_trees(X)
        subtrees = _Subtrees()
        places = [number for nodes in trees for number in subtrees.of(nodes)]
        sizes = [len(nodes.labels) for nodes in trees]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        numbers = np.asarray(places, dtype=np.int64)
        keys = np.array(subtrees.keys, dtype=np.uint64)[numbers]
        return Occurrences(keys, starts, None, _Places(subtrees, numbers))


class _Subtrees:
    """Different subtrees: a label, and the numbers of the subtrees below."""

    def __init__(self) -> None:
        self.labels = Labels("labels of trees")
        self.keys: list[int] = []
        self.shapes: dict[tuple[int, ...], int] = {}  # number of the label, numbers of children

    def of(self, nodes: Nodes) -> list[int]:
        """The numbers of the subtrees of all nodes."""
        found: list[int] = []
        for label, children in zip(*nodes):
            shape = (self.labels.number(label), *[found[child] for child in children])
            number = self.shapes.setdefault(shape, len(self.keys))
            if number == len(self.keys):
                below = [self.keys[child] for child in shape[1:]]
                self.keys.append(key_of_keys([self.labels.keys[shape[0]], *below]))
            found.append(number)
        return found


@dataclass(frozen=True, eq=False)
class _Places:
    """The subtree at every node."""

    subtrees: _Subtrees
    numbers: IntArray

    def names(self, at: IntArray) -> list[str]:
        """Subtrees in brackets."""
        names: list[str] = []
        for number, (label, *children) in enumerate(self.subtrees.shapes):
            words = [str(self.subtrees.labels.labels[label]), *(names[c] for c in children)]
            name = f"({' '.join(words)})" if children else words[0]
            names.append(abbreviated(name, number))
        return [names[number] for number in self.numbers[at].tolist()]


class SubsetTree(Kernel):
    r"""Common tree fragments: nodes with all of their children, as far down as one likes.

    .. math:: k(x, z) = \sum_{u \in x} \sum_{v \in z} C(u, v), \qquad
              C(u, v) = \lambda \prod_j \bigl(1 + C(u_j, v_j)\bigr)

    if the nodes u and v have the same label and children u_j, v_j of the same labels, else C = 0.
    So each fragment that grows from a node of x and from one of z counts λ^(number of nodes that it
    expands): the kernel of Collins and Duffy (2002). Leaves expand nothing.

    Parameters
    ----------
    decay : float, default=0.5
        λ, above 0 and at most 1. Without decay a large fragment, which has many fragments itself,
        makes trees similar to themselves alone.

    Notes
    -----
    Trees are nested tuples, see `SubTree`. There are more features than one could list, so this is
    a kernel only. A pair of trees takes as many operations as they have pairs of nodes with the
    same production.

    Examples
    --------
    >>> import minimand as mm
    >>> dogs = ("S", ("NP", "dogs"), ("VP", "bark"))
    >>> cats = ("S", ("NP", "cats"), ("VP", "bark"))
    >>> mm.SubsetTree(decay=1.0)([dogs, cats])
    array([[6., 3.],
           [3., 6.]])
    """

    of_objects = True
    definite = True

    def __init__(self, decay: float = 0.5) -> None:
        self.decay = decay

    def check_parameters(self) -> None:
        """0 < decay ≤ 1."""
        check_number(self, "decay", "above 0 and at most 1", lambda decay: 0 < decay <= 1)

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """The productions of every tree."""
        labels = Labels("labels of trees")
        productions: dict[tuple[int, ...], int] = {}  # keys by labels
        return _Trees([_production_tree(nodes, labels, productions) for nodes in read_trees(X)])

    def block(self, x: Any, z: Any) -> Array:
        """All pairs."""
        own, count = z.arrays(z), z.productions.size
        left, right = (own, None) if x is z else (x.arrays(z), own)
        return finite(self, _core.subset_trees(left, right, count, float(self.decay)))

    def diagonal(self, x: Any) -> Array:
        """Every tree with itself."""
        count = x.productions.size
        return finite(self, _core.own_subset_trees(x.arrays(x), count, float(self.decay)))


class _Tree(NamedTuple):
    """The nodes of a tree that have children, children first."""

    productions: IntArray  # keys
    sizes: IntArray  # numbers of children
    children: IntArray  # −1: a leaf

    def __len__(self) -> int:
        return int(self.productions.size)


def _production_tree(
    nodes: Nodes, labels: Labels, productions: dict[tuple[int, ...], int]
) -> _Tree:
    numbers = [labels.number(label) for label in nodes.labels]
    keys: list[int] = []
    places: list[int] = []  # of every node among those with children
    links: list[int] = []
    for number, children in zip(numbers, nodes.children):
        places.append(len(keys) if children else -1)
        if not children:
            continue
        production = (number, *[numbers[child] for child in children])
        if production not in productions:
            productions[production] = key_of_keys(labels.keys[n] for n in production)
        keys.append(productions[production])
        links.extend(places[child] for child in children)
    sizes = [len(children) for children in nodes.children if children]
    found = np.array(keys, dtype=np.uint64).view(np.int64)
    return _Tree(found, np.array(sizes, dtype=np.int64), np.array(links, dtype=np.int64))


class _Trees(Objects[_Tree]):
    """Trees, put together for the compiled kernel."""

    @cached_property
    def keys(self) -> IntArray:
        """The productions of all nodes."""
        return concatenated([tree.productions for tree in self.samples], np.int64)

    @cached_property
    def productions(self) -> IntArray:
        """The different productions."""
        return np.unique(self.keys)

    @cached_property
    def links(self) -> tuple[IntArray, IntArray]:
        """Where the children of every node begin, and the children."""
        sizes = concatenated([tree.sizes for tree in self.samples], np.int64)
        moved = [
            np.where(tree.children < 0, -1, tree.children + start)
            for tree, start in zip(self.samples, self.starts)
        ]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        return starts, concatenated(moved, np.int64)

    def arrays(self, other: _Trees) -> tuple[AnyArray, ...]:
        """As the compiled kernel takes them, with the productions of other trees."""
        return self.starts, _core.key_numbers(other.productions, self.keys), *self.links
