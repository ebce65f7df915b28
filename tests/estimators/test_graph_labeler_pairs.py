"""Which pairs of labels `GraphLabeler` allows, and which weights it has."""

from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.base import clone

import minimand as mm

PATH = [(0, 1), (1, 2), (2, 3)]
CYCLE = [*PATH, (0, 3)]
TABLE = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], bool)  # the next label is the same or the next


def _data(n=20, seed=0):
    """Paths of four nodes; labels go round a, b, c and all of them begin and end paths."""
    rng = np.random.default_rng(seed)
    codes = (rng.integers(3, size=(n, 1)) + np.cumsum(rng.integers(2, size=(n, 4)), axis=1)) % 3
    X = [np.eye(3)[own] * (rng.random((4, 3)) < 0.6) + (rng.random((4, 3)) < 0.2) for own in codes]
    return [np.column_stack([x, own == 1]) for x, own in zip(X, codes)], [
        ["abc"[c] for c in own] for own in codes
    ]


OPTIONS = [
    {"transitions": "observed"},
    {"transitions": TABLE},
    {"weights": "observed"},
    {"transitions": "observed", "weights": "observed"},
    {"transitions": [(a, b) for a, b in product("abc", "abc") if (a, b) != ("b", "a")]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
@pytest.mark.parametrize(("loss", "penalty"), [("crf", "l2"), ("crf", "l1"), ("max_margin", "l2")])
def test_chains_as_graphs_are_those_of_sequence_labelers(loss, penalty, options):
    X, y = _data()
    edges = [PATH] * len(X)
    graph = mm.GraphLabeler(loss, penalty, alpha=0.05, tol=1e-8, **options).fit(X, y, edges)
    chain = mm.SequenceLabeler(loss, penalty, alpha=0.05, tol=1e-8, ends=False, **options)
    chain.fit(X, y)
    assert max(graph.certificate_.relative, chain.certificate_.relative) <= 1e-8
    assert np.isclose(graph.certificate_.primal, chain.certificate_.primal, atol=1e-7)
    assert (np.isneginf(graph.pairs_) == np.isneginf(chain.transitions_)).all()
    again = mm.certify(graph, X, y, edges=edges)
    assert np.isclose(again.primal, graph.certificate_.primal, rtol=1e-9)
    if penalty == "l2":
        np.testing.assert_allclose(graph.coef_, chain.coef_, atol=1e-3)
        np.testing.assert_allclose(graph.pairs_, chain.transitions_, atol=1e-3)
        assert graph.predict(X, edges) == chain.predict(X)


def test_the_perceptron_keeps_to_allowed_pairs():
    X, y = _data()
    model = mm.GraphLabeler("perceptron", transitions=TABLE, random_state=0)
    model.fit(X, y, [PATH] * len(X))
    new = _data(seed=1)[0]
    _keeps_to_the_table(model.predict(new, [PATH] * len(new)), PATH)


def _keeps_to_the_table(predicted, edges):
    for own in predicted:
        assert all(TABLE["abc".index(own[u]), "abc".index(own[v])] for u, v in edges)


@pytest.mark.parametrize("edges", [PATH, CYCLE], ids=["tree", "cycle"])
def test_probabilities_with_forbidden_pairs_are_those_of_enumeration(edges):
    X, y = _data()
    y = [own if edges is PATH else [own[0]] * 4 for own in y]
    model = mm.GraphLabeler(alpha=0.1, transitions=TABLE, tol=1e-9).fit(X, y, [edges] * len(X))
    new = _data(3, seed=2)[0]
    _keeps_to_the_table(model.predict(new, [edges] * 3), edges)
    for x, found, best in zip(
        new, model.predict_marginals(new, [edges] * 3), model.decode(new, [edges] * 3, k=200)
    ):
        p = np.zeros((4, 3))
        legal = 0
        for c in product(range(3), repeat=4):
            pairs = sum(model.pairs_[c[u], c[v]] for u, v in edges)
            legal += np.isfinite(pairs)
            p[np.arange(4), c] += np.exp(pairs + sum(model.coef_[a] @ row for a, row in zip(c, x)))
        np.testing.assert_allclose(found, p / p.sum(axis=1, keepdims=True), atol=1e-10)
        assert len(best) == legal
        assert np.isclose(sum(b.probability for b in best), 1.0)


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_absent_weights_are_zero_also_of_edges_without_directions(loss):
    X, y = _data()
    edges = [PATH] * len(X)
    model = mm.GraphLabeler(
        loss,
        alpha=0.05,
        weights="observed",
        directed=False,
        tol=1e-7,
        edge_features=lambda rows, edges: rows[edges[:, 0], :1] + rows[edges[:, 1], :1],
    ).fit(X, y, edges)
    seen = {frozenset(pair) for own in y for pair in pairwise(own)}
    for a, b in product(range(3), repeat=2):
        if frozenset(("abc"[a], "abc"[b])) not in seen:
            assert model.pairs_[a, b] == 0.0
            assert not model.edge_coef_[:, a, b].any()
    assert model.coef_[0, 3] == model.coef_[2, 3] == 0.0  # that feature is of label b alone
    assert model.certificate_.relative <= 1e-7


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
@pytest.mark.parametrize("seed", [29, 34])
def test_without_directions_the_certificate_is_that_of_the_stored_weights(loss, seed):
    rng = np.random.default_rng(seed)  # columns of 1e5, so that the l2 part hardly counts
    X = [rng.normal(size=(n, 2)) * 1e5 for n in (2, 5)]
    edges = [[(1, 0)], [(1, 0), (0, 3), (4, 0), (2, 1), (3, 1), (3, 2), (3, 4)]]
    y = [[0, 1], [0, 1, 0, 0, 1]]
    model = mm.GraphLabeler(
        loss,
        1.2e-4 * mm.L1() + 2.8e-4 * mm.L2(),
        alpha=0.2,
        directed=False,
        edge_features=lambda rows, edges: np.abs(rows[edges[:, 0], :1] - rows[edges[:, 1], :1]),
    ).fit(X, y, edges)
    audited = mm.certify(model, X, y, edges=edges)
    assert abs(audited.primal - model.certificate_.primal) <= audited.rounding


def test_what_cannot_be_is_said_in_a_sentence():
    X, y = _data()
    edges = [PATH] * len(X)
    with pytest.raises(ValueError, match="forbids"):
        mm.GraphLabeler(transitions=[("a", "b")]).fit(X, y, edges)
    with pytest.raises(ValueError, match="directed=False"):
        mm.GraphLabeler(transitions=np.triu(np.ones((3, 3))), directed=False).fit(
            X, [["a"] * 4, ["b"] * 4, *[["c"] * 4] * 18], edges
        )
    with pytest.raises(ValueError, match="transitions must be 'full'"):
        mm.GraphLabeler(transitions="seen").fit(X, y, edges)
    with pytest.raises(ValueError, match="weights must be 'all'"):
        mm.GraphLabeler(weights="some").fit(X, y, edges)
    with pytest.raises(ValueError, match="weights='observed' needs"):
        mm.GraphLabeler("perceptron", weights="observed").fit(X, y, edges)
    with pytest.raises(ValueError, match="partial_fit takes transitions='full'"):
        mm.GraphLabeler(transitions="observed").partial_fit(X, y, edges)
    two = mm.GraphLabeler(alpha=0.1, transitions="observed")
    two = clone(two).fit([np.ones((2, 1)), np.zeros((2, 1))], [["a", "b"]] * 2, [[(0, 1)]] * 2)
    with pytest.raises(ValueError, match=r"X\[1\] has 3 nodes, and no labelling of it is allowed"):
        two.predict([np.ones((2, 1)), np.ones((3, 1))], [[(0, 1)], [(0, 1), (1, 2)]])
    n = 30
    grid = [(i * n + j, i * n + j + 1) for i in range(n) for j in range(n - 1)]
    grid += [(i * n + j, i * n + n + j) for i in range(n - 1) for j in range(n)]
    rows = np.ones((n * n, 1))
    with pytest.raises(ValueError, match="too wide"):
        mm.GraphLabeler("max_margin", transitions="observed").fit(
            [rows], [["a", "b"] * (n * n // 2)], [grid]
        )
