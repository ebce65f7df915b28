"""The linear relaxation: never below the best labelling, and equal to it on trees."""

import numpy as np
import pytest
from tests.outputs.labelled_graphs import graphs, labellings, scores_of, trees

from minimand.outputs.graph import Graphs, Topology, best
from minimand.solvers.structured.relaxation import message_bound, relaxed, relaxed_best

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("k", [2, 3])
def test_the_bound_is_never_below_the_best_labelling(k):
    for edges in graphs(4)[40:]:
        unary, pair = RNG.normal(size=(4, k)), 2 * RNG.normal(size=(len(edges), k, k))
        found = relaxed(np.array(edges).reshape(-1, 2), unary, pair)
        rows = labellings(4, k)
        scores = scores_of(rows, edges, unary, pair)
        assert found.bound >= scores.max() - 1e-9
        assert np.isclose(found.value, scores[(rows == found.labels).all(axis=1)][0])
        if found.integral:
            assert np.isclose(found.value, scores.max(), atol=1e-5)
        # the relaxed point lies in the polytope, and attains the bound
        np.testing.assert_allclose(found.nodes.sum(axis=1), 1.0, atol=1e-12)
        for e, (u, v) in enumerate(edges):
            np.testing.assert_allclose(found.edges[e].sum(axis=1), found.nodes[u], atol=1e-12)
            np.testing.assert_allclose(found.edges[e].sum(axis=0), found.nodes[v], atol=1e-12)
        attained = (found.nodes * unary).sum() + (found.edges * pair).sum()
        assert np.isclose(attained, found.bound, atol=1e-5)


def test_on_trees_the_relaxation_is_exact():
    for edges in trees(5)[::9]:
        shape = Topology([0, 5], edges)
        batch = Graphs(shape, RNG.normal(size=(5, 3)), RNG.normal(size=(3, 3)))
        (found,) = relaxed_best(batch)
        labels, values = best(batch)
        assert found.integral
        assert np.isclose(found.bound, values[0], atol=1e-7)
        np.testing.assert_array_equal(found.labels, labels)


def test_a_frustrated_cycle_has_fractions_and_says_so():
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    found = relaxed(edges, np.zeros((3, 2)), 1.0 - np.eye(2))  # three nodes, all to be different
    assert not found.integral
    assert np.isclose([found.bound, found.value], [3.0, 2.0]).all()


def test_any_messages_prove_a_bound():
    edges, k = np.array([[0, 1], [1, 2], [0, 2], [2, 3]]), 3
    unary, pair = RNG.normal(size=(4, k)), RNG.normal(size=(4, k, k))
    most = scores_of(labellings(4, k), edges, unary, pair).max()
    for _ in range(50):
        assert message_bound(edges, unary, pair, 3 * RNG.normal(size=(2, 4, k))) >= most - 1e-12


def test_forbidden_labels_stay_out():
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    unary = RNG.normal(size=(3, 3))
    unary[1, 2] = -np.inf
    pair = RNG.normal(size=(3, 3))
    pair[0, 0] = -np.inf
    found = relaxed(edges, unary, pair)
    rows = labellings(3, 3)
    scores = scores_of(rows, edges, unary, pair)
    assert np.isfinite([found.bound, found.value]).all()
    assert found.bound >= scores.max() - 1e-9
    assert found.nodes[1, 2] == 0
