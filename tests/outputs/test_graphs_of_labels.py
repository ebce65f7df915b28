"""Sums, maxima, marginals, k best and samples of labelled graphs against all labellings."""

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.outputs.labelled_graphs import graphs, joined, labellings, scores_of, trees, turned

from minimand.outputs.graph import (
    Graphs,
    Topology,
    best,
    entropy,
    expected_pairs,
    k_best,
    labelling_scores,
    log_partition,
    loss_augmented,
    marginals,
    pairwise_marginals,
    sample,
)
from minimand.outputs.graph.elimination import Plan

RNG = np.random.default_rng(3)
SMALL_TREES = [tree for n in (1, 2, 3, 4, 5) for tree in trees(n)]
SMALL_GRAPHS = graphs(4)


def _batch(lists, k, *, per_edge, scale=1.0):
    """All of these graphs as one batch with random scores, and their sizes."""
    lists = [turned(own, RNG) for own in lists]
    sizes = [max([1, *(1 + max(e) for e in own)]) if own else 1 for own in lists]
    offsets, edges = joined(sizes, lists)
    shape = (len(edges), k, k) if per_edge else (k, k)
    unary = scale * RNG.normal(size=(offsets[-1], k))
    return lists, Graphs(Topology(offsets, edges), unary, scale * RNG.normal(size=shape))


def _each(lists, batch):
    """Edges, unary, pair, labellings and their scores of every graph."""
    shape = batch.topology
    for g, edges in enumerate(lists):
        nodes = shape.nodes_of(g)
        pair = batch.pair if batch.pair.ndim == 2 else batch.pair[shape.edges_of(g)]
        rows = labellings(nodes.stop - nodes.start, batch.n_labels)
        yield g, nodes, rows, scores_of(rows, edges, batch.unary[nodes], pair)


def _shares(rows, p, k):
    """The probability of every label at every node."""
    return np.array([[p[column == a].sum() for a in range(k)] for column in rows.T])


@pytest.mark.parametrize("per_edge", [False, True])
@pytest.mark.parametrize("lists", [SMALL_TREES, SMALL_GRAPHS], ids=["trees", "graphs"])
@pytest.mark.parametrize("k", [2, 3])
def test_sums_and_maxima_are_those_of_all_labellings(lists, k, per_edge):
    lists, batch = _batch(lists, k, per_edge=per_edge)
    sums, nodes, pairs = log_partition(batch), marginals(batch), pairwise_marginals(batch)
    labels, values = best(batch)
    disorder = entropy(batch)
    mass = RNG.uniform(size=len(lists))
    total = expected_pairs(batch, mass)[2]
    expected = np.zeros((k, k))
    for g, own, rows, scores in _each(lists, batch):
        assert np.isclose(sums[g], logsumexp(scores), rtol=1e-12)
        p = np.exp(scores - logsumexp(scores))
        np.testing.assert_allclose(nodes[own], _shares(rows, p, k), atol=1e-12)
        for e, (u, v) in zip(range(*batch.topology.edges_of(g).indices(10**9)), lists[g]):
            joint = np.zeros((k, k))
            np.add.at(joint, (rows[:, u], rows[:, v]), p)
            np.testing.assert_allclose(pairs[e], joint, atol=1e-12)
            expected += mass[g] * joint
        assert np.isclose(values[g], scores.max(), rtol=1e-12)
        np.testing.assert_array_equal(labels[own], rows[scores.argmax()])
        assert np.isclose(disorder[g], -(p * np.log(p)).sum(), atol=1e-10)
    np.testing.assert_allclose(total, expected, atol=1e-10)


@pytest.mark.parametrize("at_once", [2**22, 1])
@pytest.mark.parametrize("lists", [SMALL_TREES[-20:], SMALL_GRAPHS[-12:]], ids=["trees", "graphs"])
def test_the_k_best_are_the_first_of_all_labellings(lists, at_once, monkeypatch):
    monkeypatch.setattr("minimand.outputs.graph.inference._NUMBERS", at_once)
    lists, batch = _batch(lists, 2, per_edge=True)
    found, values = k_best(batch, 40)
    for g, own, rows, scores in _each(lists, batch):
        order = np.argsort(-scores)[:40]
        np.testing.assert_allclose(values[g, : order.size], scores[order], rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(found[: order.size, own], rows[order])
        assert (values[g, order.size :] == -np.inf).all()
        assert (found[order.size :, own] == -1).all()


def test_the_augmented_maximum_includes_the_cost():
    lists, batch = _batch(SMALL_GRAPHS[-10:], 3, per_edge=False)
    costs = RNG.uniform(size=batch.unary.shape)
    labels, values = loss_augmented(batch, costs)
    for g, own, rows, scores in _each(lists, batch):
        whole = scores + costs[own][np.arange(rows.shape[1]), rows].sum(axis=1)
        assert np.isclose(values[g], whole.max(), rtol=1e-12)
        np.testing.assert_array_equal(labels[own], rows[whole.argmax()])
    assert np.isclose(
        values, labelling_scores(batch.with_unary(batch.unary + costs), labels), rtol=1e-12
    ).all()


@pytest.mark.parametrize("lists", [[trees(4)[7]], [graphs(3)[-1]]], ids=["tree", "cycle"])
def test_samples_have_the_marginals(lists):
    _, batch = _batch(lists, 3, per_edge=True)
    drawn = sample(batch, 4000, random_state=0)
    shares = np.array([(drawn == a).mean(axis=0) for a in range(3)]).T
    np.testing.assert_allclose(shares, marginals(batch), atol=0.04)  # 5 standard deviations


@pytest.mark.parametrize("lists", [SMALL_TREES[-30:], SMALL_GRAPHS[-20:]], ids=["trees", "graphs"])
def test_forbidden_labels_and_pairs_have_no_share(lists):
    lists, batch = _batch(lists, 3, per_edge=False)
    unary, pair = batch.unary.copy(), batch.pair.copy()
    unary[::2, 1], pair[0, 2] = -np.inf, -np.inf
    batch = Graphs(batch.topology, unary, pair)
    sums, nodes, values = log_partition(batch), marginals(batch), best(batch)[1]
    for g, own, rows, scores in _each(lists, batch):
        assert np.isclose(sums[g], logsumexp(scores), rtol=1e-12)
        assert np.isclose(values[g], scores.max(), rtol=1e-12)
        p = np.exp(scores - logsumexp(scores))
        np.testing.assert_allclose(nodes[own], _shares(rows, p, 3), atol=1e-12)


def test_marginals_are_the_slopes_of_the_log_partition():
    _, batch = _batch([SMALL_TREES[-1], SMALL_GRAPHS[-1]], 3, per_edge=False)
    nodes = marginals(batch)
    step = 1e-6
    for v in range(nodes.shape[0]):
        for a in range(3):
            up, down = batch.unary.copy(), batch.unary.copy()
            up[v, a] += step
            down[v, a] -= step
            rise = log_partition(batch.with_unary(up)) - log_partition(batch.with_unary(down))
            assert np.isclose(rise.sum() / (2 * step), nodes[v, a], atol=1e-8)


def test_scores_of_any_size_are_safe_on_long_chains():
    n, k = 100_000, 4
    chain = Topology.of_chains(np.array([0, n]))
    unary, pair = 1e4 * RNG.normal(size=(n, k)), 1e4 * RNG.normal(size=(k, k))
    batch = Graphs(chain, unary, pair)
    nodes = marginals(batch)
    np.testing.assert_allclose(nodes.sum(axis=1), 1.0, atol=1e-9)
    labels, values = best(batch)
    assert np.isclose(labelling_scores(batch, labels)[0], values[0], rtol=1e-12)
    assert values[0] <= log_partition(batch)[0] <= values[0] + n * np.log(k)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [700.0, 710.0, 1e4])
def test_large_scores_of_a_tree_have_their_marginals(k, size):
    scores = np.zeros((3, k))
    scores[1, 0] = size
    found = Graphs(Topology([0, 3], [(0, 1), (1, 2)]), scores, np.zeros((k, k)))
    expected = np.full((3, k), 1.0 / k)
    expected[1] = np.arange(k) == 0
    np.testing.assert_allclose(marginals(found), expected, atol=1e-12)


def test_the_order_of_nodes_and_edges_does_not_matter():
    _, batch = _batch([SMALL_TREES[-5]], 3, per_edge=True)
    shape, n = batch.topology, batch.topology.n_nodes
    moved = RNG.permutation(n)  # node v is called moved[v]
    order = RNG.permutation(len(shape.edges))
    unary = np.empty_like(batch.unary)
    unary[moved] = batch.unary
    renamed = Graphs(Topology(shape.offsets, moved[shape.edges[order]]), unary, batch.pair[order])
    assert np.isclose(log_partition(batch), log_partition(renamed), rtol=1e-13).all()
    np.testing.assert_array_equal(best(batch)[0], best(renamed)[0][moved])
    np.testing.assert_allclose(marginals(batch), marginals(renamed)[moved], atol=1e-13)


def test_wide_graphs_are_refused_in_a_sentence():
    side = 14
    number = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [
            np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
            np.column_stack([number[:-1].ravel(), number[1:].ravel()]),
        ]
    )
    grid = Topology([0, side * side], edges)
    with pytest.raises(ValueError, match=r"graph 0 has cycles of width .* linear relaxation"):
        best(Graphs(grid, np.zeros((side * side, 10)), np.zeros((10, 10))))


def test_every_plan_takes_the_node_that_adds_the_fewest_edges():
    rng = np.random.default_rng(5)
    pairs = np.array([(u, v) for u in range(14) for v in range(u)])
    for share in (0.15, 0.3, 0.6):
        plan = Plan(14, pairs[rng.random(len(pairs)) < share], 2**24)
        near = {v: set() for v in range(14)}
        for u, v in plan.edges:
            near[u].add(v)
            near[v].add(u)
        for v, *rest in plan.scopes:
            new = {u: [(a, b) for a in near[u] for b in near[u] - near[a] if a < b] for u in near}
            assert v == min(near, key=lambda u: (len(new[u]), len(near[u]), u))
            assert set(rest) == near.pop(v)
            for u in rest:
                near[u] = (near[u] | set(rest)) - {u, v}


def test_planning_takes_a_look_at_what_has_changed():
    """A long cycle, a node that is joined to all others, and a graph far too wide."""
    n = 3000
    ring = np.column_stack([np.arange(n), np.roll(np.arange(n), -1)])
    assert Plan(n, ring, 2**24).width == 2
    assert Plan(n + 1, [*ring, *((v, n) for v in range(n))], 2**24).width == 3
    dense = [(u, v) for u in range(300) for v in range(u)]
    assert Plan(300, dense, 2**24).width == 299


def test_all_tables_together_have_a_limit(monkeypatch):
    ring = Topology([0, 20], [(v, (v + 1) % 20) for v in range(20)])
    assert not ring.too_wide(3)
    monkeypatch.setattr("minimand.outputs.graph.topology.MOST", 300)  # 18 tables of 27 numbers
    assert ring.too_wide(3) == [0]
    assert not ring.too_wide(2)


@pytest.mark.parametrize(
    ("offsets", "edges", "words"),
    [
        ([0, 2, 4], [[1, 2]], "within their group"),
        ([0, 2], [[0, 0]], "two different nodes"),
        ([0, 2], [[0, 5]], "two different nodes"),
        ([0, 2, 4], [[2, 3], [0, 1]], "graph by graph"),
    ],
)
def test_bad_edges_are_refused(offsets, edges, words):
    with pytest.raises(ValueError, match=words):
        Topology(offsets, edges)


def test_scores_that_are_no_numbers_are_refused():
    pair = Topology([0, 2], [[0, 1]])
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="scores must"):
            Graphs(pair, np.full((2, 2), bad), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one row for each of 2 nodes"):
        Graphs(pair, np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="pair must be"):
        Graphs(pair, np.zeros((2, 2)), np.zeros((3, 3)))
