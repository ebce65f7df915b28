"""Kernels of graphs equal what brute force gives, and do not see the order of nodes."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minimand as mm
from minimand.testing import check_kernel

KERNELS = [
    mm.WeisfeilerLehman(0),
    mm.WeisfeilerLehman(),
    mm.ShortestPath(),
    mm.Graphlet(2),
    mm.Graphlet(3),
    mm.Graphlet(5),
]


@st.composite
def graphs(draw, most=7):
    n = draw(st.integers(1, most))
    pairs = list(combinations(range(n), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    adjacency = np.zeros((n, n), dtype=int)
    for i, j in chosen:
        adjacency[i, j] = adjacency[j, i] = 1
    return adjacency, draw(st.lists(st.sampled_from("CNO"), min_size=n, max_size=n))


def products(count, x, z):
    mine, theirs = count(*x), count(*z)
    return sum(times * theirs[part] for part, times in mine.items())


def colours(adjacency, labels, h):
    """Colours as nested tuples."""
    now, found = [(label,) for label in labels], Counter((0, (label,)) for label in labels)
    for r in range(1, h + 1):
        now = [
            (now[v], tuple(sorted(now[u] for u in np.flatnonzero(adjacency[v]))))
            for v in range(len(labels))
        ]
        found.update((r, colour) for colour in now)
    return found


def paths(adjacency, labels):
    """Labels and distances, by powers of the adjacency matrix."""
    n = len(labels)
    reached, power, found = np.eye(n, dtype=bool), np.eye(n, dtype=int), Counter()
    for d in range(1, n):
        power = (power @ adjacency > 0).astype(int)
        fresh = (power > 0) & ~reached
        reached |= fresh
        for u, v in zip(*np.nonzero(fresh)):
            if u < v:
                found[(*sorted([labels[u], labels[v]]), d)] += 1
    return found


def subgraphs(adjacency, labels, k):
    """Connected induced subgraphs in their least numbering."""
    found = Counter()
    for nodes in combinations(range(len(labels)), k):
        inside = adjacency[np.ix_(nodes, nodes)]
        if (np.linalg.matrix_power(inside + np.eye(k, dtype=int), k) > 0).all():
            found[min(
                (tuple(labels[nodes[i]] for i in p), tuple(inside[np.ix_(p, p)].ravel().tolist()))
                for p in permutations(range(k))
            )] += 1  # fmt: skip
    return found


@pytest.mark.parametrize("kernel", [*KERNELS, mm.WeisfeilerLehman(2).normalize()], ids=repr)
def test_every_kernel_obeys_the_laws(kernel):
    rng = np.random.default_rng(0)
    X = [some_graph(rng, 4 + i % 5) for i in range(12)]
    check_kernel(kernel, X)


def some_graph(rng, n):
    adjacency = np.triu(rng.random((n, n)) < 0.5, 1)
    adjacency[0, 1] = True
    return adjacency | adjacency.T, rng.choice(list("CNO"), n)


@given(x=graphs(), z=graphs(), h=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_weisfeiler_lehman_counts_colours(x, z, h):
    expected = products(lambda a, b: colours(a, b, h), x, z)
    assert mm.WeisfeilerLehman(h)([x], [z]).item() == expected


@given(x=graphs(), z=graphs())
@settings(max_examples=40, deadline=None)
def test_shortest_paths_count_pairs_of_nodes(x, z):
    assert mm.ShortestPath()([x], [z]).item() == products(paths, x, z)


@given(x=graphs(6), z=graphs(6), k=st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_graphlets_are_all_connected_subgraphs(x, z, k):
    expected = products(lambda a, b: subgraphs(a, b, k), x, z)
    assert mm.Graphlet(k)([x], [z]).item() == expected


@given(x=graphs(), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_the_order_of_nodes_does_not_matter(x, seed):
    adjacency, labels = x
    order = np.random.default_rng(seed).permutation(len(labels))
    y = adjacency[np.ix_(order, order)], [labels[i] for i in order]
    for kernel in (mm.WeisfeilerLehman(3), mm.ShortestPath(), mm.Graphlet(4)):
        values = kernel([x, y])
        assert (values == values[0, 0]).all()
        assert kernel([x], [y]).item() == values[0, 0]


class Networkx:
    """The methods of a networkx graph that are read."""

    def __init__(self, labels, edges, directed=False):
        self.labels, self.pairs, self.directed = labels, edges, directed

    def is_directed(self):
        return self.directed

    def nodes(self, data=False):
        return [(n, {} if c is None else {"label": c}) for n, c in self.labels.items()]

    def edges(self):
        return self.pairs


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_all_ways_of_writing_a_graph_are_one(kernel):
    adjacency = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    labels = ["O", "H", "H"]
    same = [
        (adjacency, labels),
        (adjacency.tolist(), np.array(labels)),
        (adjacency.astype(bool), tuple(labels)),
        (sparse.csr_array(adjacency), labels),
        (sparse.coo_matrix(adjacency), labels),
        Networkx({"x": "H", "o": "O", "y": "H"}, [("o", "x"), ("o", "y"), ("y", "o")]),
    ]
    values = kernel(same)
    assert (values == values[0, 0]).all()
    plain = kernel(
        [
            adjacency,
            (adjacency, [None] * 3),
            Networkx({0: None, 1: None, 2: None}, [(0, 1), (0, 2)]),
        ]
    )
    assert (plain == plain[0, 0]).all()


def test_water_and_hydrogen():
    water = [[0, 1, 1], [1, 0, 0], [1, 0, 0]], ["O", "H", "H"]
    fitted = mm.WeisfeilerLehman(2).fit([water, (np.zeros((1, 1)), ["H"])])
    names = [
        "O",
        "O(H, H)",
        "O(H(O), H(O))",
        "H",
        "H(O)",
        "H(O(H, H))",
        "H(alone, 1)",
        "H(alone, 2)",
    ]
    assert list(fitted.get_feature_names_out()) == names
    hydrogen = [[0, 1], [1, 0]], ["H", "H"]
    np.testing.assert_array_equal(
        fitted.transform([hydrogen]).toarray(), [[0, 0, 0, 2, 0, 0, 0, 0]]
    )
    assert sorted(mm.Graphlet(3).fit([water]).get_feature_names_out())[0].count("-") == 2
    paths_of_water = mm.ShortestPath().fit([water])
    assert sorted(paths_of_water.get_feature_names_out()) == ["H, H at 2", "H, O at 1"]


def test_a_node_is_not_confused_with_its_neighbour():
    star = np.zeros((4, 4), dtype=int)
    star[0, 1:] = star[1:, 0] = 1
    one, other = (star, [1, 0, 0, 2]), (star, [2, 0, 0, 1])
    k = mm.WeisfeilerLehman(1)([one, other])
    assert k[0, 1] == products(lambda a, b: colours(a, b, 1), one, other) < k[0, 0]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.eye(3), "one per sample"),
        (Networkx({0: None}, []), "one Networkx"),
        (["C"], "entry 0 is none of these"),
        ([[[0, 1], [1]]], "entry 0 is none of these"),
        ([np.zeros((2, 3))], "must be square"),
        ([np.zeros((2, 2)), np.array([[0, 1], [0, 0]])], "graph 1 must be symmetric"),
        ([np.eye(2)], "graph 0 has an edge from a node to itself"),
        ([np.zeros((2, 2)), np.array([[0, 0.5], [0.5, 0]])], "graph 1 holds 0.5"),
        ([(np.zeros((2, 2)), ["C"])], "2 nodes, but 1 labels"),
        ([(np.zeros((2, 2)), ["C", "C"], 1)], "a tuple of 3 entries"),
        ([(np.zeros((1, 1)), [{}])], "labels of nodes must be texts, numbers"),
        ([Networkx({0: "C", 1: None}, [])], "label all nodes or none"),
        ([Networkx({0: "C"}, [], directed=True)], "graph 0 is directed"),
    ],
)
def test_what_is_no_graph_is_refused_in_words(X, words):
    for kernel in (mm.WeisfeilerLehman(), mm.ShortestPath(), mm.Graphlet()):
        with pytest.raises(ValueError, match=words):
            kernel(X)


def test_parameters_are_checked():
    for kernel, words in [
        (mm.WeisfeilerLehman(-1), "h of WeisfeilerLehman"),
        (mm.WeisfeilerLehman(1.5), "h of WeisfeilerLehman"),
        (mm.Graphlet(1), "k of Graphlet must be from 2 to 5"),
        (mm.Graphlet(6), "k of Graphlet must be from 2 to 5"),
    ]:
        with pytest.raises(ValueError, match=words):
            kernel([np.zeros((2, 2))])


def test_graphs_without_edges_or_nodes_are_graphs():
    empty, single = np.zeros((0, 0)), np.zeros((1, 1))
    np.testing.assert_array_equal(mm.WeisfeilerLehman(1)([empty, single]), [[0, 0], [0, 2]])
    for kernel in (mm.ShortestPath(), mm.Graphlet()):
        np.testing.assert_array_equal(kernel([empty, single]), np.zeros((2, 2)))
