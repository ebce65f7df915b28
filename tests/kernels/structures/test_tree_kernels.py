"""Kernels of trees equal what a list of all subtrees or fragments gives."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand.testing import check_kernel

LABELS = st.sampled_from("ab")
TREES = st.recursive(
    LABELS,
    lambda below: st.builds(
        lambda label, children: (label, *children), LABELS, st.lists(below, min_size=1, max_size=3)
    ),
    max_leaves=6,
)
FOREST = [
    ("S", ("NP", "dogs"), ("VP", "bark")),
    ("S", ("NP", "cats"), ("VP", "bark")),
    ("S", ("NP", ("D", "the"), ("N", "dogs")), ("VP", ("V", "chase"), ("NP", "cats"))),
    ("NP", ("D", "the"), ("N", "dogs")),
    ("S", "S"),
]


def nodes(tree):
    yield tree
    if isinstance(tree, tuple):
        for child in tree[1:]:
            yield from nodes(child)


def label(tree):
    return tree[0] if isinstance(tree, tuple) else tree


def fragments(tree):
    """All fragments that expand the root, with the number of nodes that they expand."""
    if not isinstance(tree, tuple) or len(tree) == 1:
        return
    choices = [[(label(child), 0), *fragments(child)] for child in tree[1:]]
    for chosen in product(*choices):
        yield (tree[0], *(part for part, _ in chosen)), 1 + sum(size for _, size in chosen)


def by_fragments(x, z, decay):
    """Σ over pairs of equal fragments of decay^(nodes expanded)."""
    found = Counter(f for node in nodes(z) for f in fragments(node))
    return sum(found[f] * decay ** f[1] for node in nodes(x) for f in fragments(node))


@pytest.mark.parametrize(
    "kernel",
    [mm.SubTree(), mm.SubsetTree(), mm.SubsetTree(1.0).normalize(), mm.SubTree() * mm.SubsetTree()],
    ids=repr,
)
def test_every_kernel_obeys_the_laws(kernel):
    check_kernel(kernel, FOREST * 2)


@given(x=TREES, z=TREES)
@settings(max_examples=60, deadline=None)
def test_subtrees_are_those_of_all_nodes(x, z):
    mine, theirs = Counter(nodes(x)), Counter(nodes(z))
    expected = sum(times * theirs[t] for t, times in mine.items())
    assert mm.SubTree()([x], [z]).item() == expected
    assert mm.SubTree().diag([x]).item() == sum(times**2 for times in mine.values())


@given(x=TREES, z=TREES, decay=st.sampled_from([0.4, 1.0]))
@settings(max_examples=60, deadline=None)
def test_fragments_are_those_of_an_enumeration(x, z, decay):
    kernel = mm.SubsetTree(decay)
    np.testing.assert_allclose(kernel([x], [z]).item(), by_fragments(x, z, decay), rtol=1e-12)
    both = [[by_fragments(a, b, decay) for b in (x, z)] for a in (x, z)]
    np.testing.assert_allclose(kernel([x, z]), both, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag([x, z]), np.diag(both), rtol=1e-12)


def test_a_tuple_of_a_label_alone_is_a_leaf():
    for kernel in (mm.SubTree(), mm.SubsetTree()):
        plain = kernel([("a", "b", "c")], FOREST)
        np.testing.assert_array_equal(kernel([["a", ("b",), ("c",)]], FOREST), plain)
    np.testing.assert_array_equal(mm.SubTree()([("a", ("b",))], ["b"]), [[1.0]])


def test_the_order_of_children_counts_and_labels_may_be_numbers():
    assert mm.SubTree()([(1, 2, 3)], [(1, 3, 2)]).item() == 2
    assert mm.SubTree()([(1, 2, 3)], [(1.0, 2, "3")]).item() == 1


def test_names_are_the_subtrees():
    fitted = mm.SubTree().fit(FOREST[:1])
    columns = dict(zip(fitted.get_feature_names_out(), fitted.transform(FOREST[1:2]).toarray()[0]))
    assert columns == {
        "bark": 1, "dogs": 0, "(VP bark)": 1, "(NP dogs)": 0, "(S (NP dogs) (VP bark))": 0,
    }  # fmt: skip
    names = mm.SubTree().fit([("a", 1, "1")]).get_feature_names_out()
    assert len(set(names)) == 3


def test_deep_trees_are_read_without_recursion():
    deep = "leaf"
    for _ in range(5000):
        deep = ("a", deep)
    assert mm.SubTree()([deep]).item() == 5001
    assert len(set(mm.SubTree().fit([deep]).get_feature_names_out())) == 5001
    n = 3000  # all fragments of a chain: k expanded nodes fit in n + 1 − k places
    chain = "leaf"
    for _ in range(n):
        chain = ("a", chain)
    assert np.isfinite(mm.SubsetTree(0.5)([chain])).all()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ("S", "one text"),
        ([()], "does not begin with a label"),
        ([("S", (("NP",), "x"))], "tree 0 has the node"),
        ([("S", {"a": 1})], "labels of trees must be texts, numbers"),
        (5, "one int"),
    ],
)
@pytest.mark.parametrize("kernel", [mm.SubTree(), mm.SubsetTree()], ids=repr)
def test_what_is_no_tree_is_refused_in_words(kernel, X, words):
    with pytest.raises(ValueError, match=words):
        kernel(X)


def test_decay_is_checked():
    with pytest.raises(ValueError, match="decay of SubsetTree must be above 0 and at most 1"):
        mm.SubsetTree(2.0)(FOREST)
    wide = "a"
    for _ in range(4):  # C is 1, 2¹¹, (1 + 2¹¹)¹¹, …
        wide = ("a", *[wide] * 11)
    with pytest.raises(ValueError, match="take a smaller decay"):
        mm.SubsetTree(1.0)([wide])
