"""`GraphLabeler`: laws of its fits, and one clear sentence for every bad input."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import minimand as mm

TREE = [(0, 1), (1, 2), (1, 3)]
CYCLE = [(0, 1), (1, 2), (2, 3), (0, 3)]


def _data(edges, n=14, seed=0, size=4):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(size, 3)) for _ in range(n)]
    y = [["a" if v > 0 else "b" for v in x[:, 0] + 0.5 * x[-1, 0]] for x in X]
    return X, y, [edges] * n


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
@pytest.mark.parametrize("edges", [TREE, CYCLE], ids=["tree", "cycle"])
def test_fits_are_certified_and_predict_their_labels(loss, edges):
    X, y, edges = _data(edges)
    model = mm.GraphLabeler(loss, alpha=0.05).fit(X, y, edges)
    assert model.certificate_.relative <= 1e-4
    assert model.certificate_.kind == "global"
    assert model.history_.dual.max() <= model.history_.primal.min() + 1e-12
    assert model.score(X, y, edges) > 0.9
    assert model.predict(list(zip(X, edges))) == model.predict(X, edges)  # pairs in X


def test_the_crf_is_at_a_minimum_of_the_likelihood():
    X, y, edges = _data(CYCLE)
    model = mm.GraphLabeler("crf", alpha=0.1, tol=1e-9).fit(X, y, edges)

    def objective(scale):
        moved = pickle.loads(pickle.dumps(model))
        moved.coef_, moved.pairs_ = scale * model.coef_, scale * model.pairs_
        squares = (moved.coef_**2).sum() + (moved.pairs_**2).sum()
        return -moved.log_likelihood(X, y, edges).mean() + 0.05 * squares

    assert np.isclose(objective(1.0), model.certificate_.primal, rtol=1e-10)
    assert objective(1.0) < min(objective(0.99), objective(1.01))
    marginals = model.predict_marginals(X, edges)
    assert all(np.allclose(m.sum(axis=1), 1.0) for m in marginals)
    best = [d[0] for d in model.decode(X, edges, k=3)]
    assert [b.labels for b in best] == model.predict(X, edges)
    assert np.allclose([b.probability for b in best], model.predict_proba(X, edges=edges))


@pytest.mark.parametrize(
    ("loss", "penalty"),
    list(itertools.product(["crf", "max_margin"], ["l2", "l1", "elastic_net"])),
)
def test_chains_are_labelled_as_sequence_labelers_do(loss, penalty):
    X, y, edges = _data([(0, 1), (1, 2), (2, 3)])
    graph = mm.GraphLabeler(loss, penalty, alpha=0.1, tol=1e-8).fit(X, y, edges)
    chain = mm.SequenceLabeler(loss, penalty, alpha=0.1, ends=False, tol=1e-8).fit(X, y)
    assert np.isclose(graph.certificate_.primal, chain.certificate_.primal, atol=1e-7)
    assert max(graph.certificate_.relative, chain.certificate_.relative) <= 1e-8
    if penalty == "l1":
        # One label's weights are enough for a crf; elsewhere both may share them at no cost.
        assert np.mean(graph.coef_ == 0) >= (0.5 if loss == "crf" else 0.3)
        return  # the weights are not unique
    np.testing.assert_allclose(graph.coef_, chain.coef_, atol=1e-3)
    np.testing.assert_allclose(graph.pairs_, chain.transitions_, atol=1e-3)


def test_single_nodes_are_a_crammer_singer_fit():
    X, y, _ = _data([], n=40, size=1)
    model = mm.GraphLabeler("max_margin", alpha=0.05, tol=1e-7).fit(X, y, [[]] * 40)
    rows, labels = np.concatenate(X), np.concatenate(y)
    cost = 1.0 - np.eye(2)
    other = mm.Classifier(mm.CrammerSinger(cost), "l2", alpha=0.05, intercept=False, tol=1e-7)
    other.fit(rows, labels)
    assert abs(model.certificate_.primal - other.certificate_.primal) <= 2e-7
    assert (np.concatenate(model.predict(X, [[]] * 40)) == other.predict(rows)).all()


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_names_of_nodes_and_labels_and_the_order_of_graphs_do_not_matter(loss):
    X, y, edges = _data(TREE)
    model = mm.GraphLabeler(loss, alpha=0.1, tol=1e-7).fit(X, y, edges)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(X))
    other = {"a": 7, "b": -2}
    new_X, new_y, new_edges = [], [], []
    for g in order:
        name = rng.permutation(4)  # node v is called name[v]
        back = np.argsort(name)
        new_X.append(X[g][back])
        new_y.append([other[y[g][v]] for v in back])
        new_edges.append([(name[u], name[v]) for u, v in TREE])
    renamed = mm.GraphLabeler(loss, alpha=0.1, tol=1e-7).fit(new_X, new_y, new_edges)
    assert np.isclose(model.certificate_.primal, renamed.certificate_.primal, atol=1e-6)
    np.testing.assert_allclose(model.coef_, renamed.coef_[::-1], atol=1e-3)


def test_without_directions_edges_may_be_turned():
    X, y, edges = _data(TREE)
    turned = [[(v, u) if (u + g) % 2 else (u, v) for u, v in TREE] for g in range(len(X))]
    for loss in ("crf", "max_margin"):
        model = mm.GraphLabeler(loss, alpha=0.1, directed=False, tol=1e-7)
        one, two = clone(model).fit(X, y, edges), clone(model).fit(X, y, turned)
        np.testing.assert_allclose(one.pairs_, one.pairs_.T)
        np.testing.assert_allclose(one.pairs_, two.pairs_, atol=1e-3)


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_a_weight_of_two_is_two_copies_and_zero_is_absence(loss):
    X, y, edges = _data(TREE, n=6)
    model = mm.GraphLabeler(loss, alpha=0.1, tol=1e-8)
    weighted = clone(model).fit(X, y, edges, sample_weight=[2, 1, 1, 1, 1, 0])
    copied = clone(model).fit([X[0], *X[:5]], [y[0], *y[:5]], edges)
    assert np.isclose(weighted.certificate_.primal, copied.certificate_.primal, atol=1e-7)
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-3)


def test_features_of_edges_and_sparse_rows():
    X, y, edges = _data(CYCLE)

    def far(rows, pairs):
        return np.abs(rows[pairs[:, 0]] - rows[pairs[:, 1]])[:, :1]

    for loss in ("crf", "max_margin"):
        model = mm.GraphLabeler(loss, alpha=0.1, edge_features=far, tol=1e-6).fit(X, y, edges)
        assert model.edge_coef_.shape == (1, 2, 2)
        assert model.certificate_.relative <= 1e-6
        assert model.score(X, y, edges) > 0.8
    rows = [sparse.csr_array(x) for x in X]
    dense = mm.GraphLabeler("max_margin", alpha=0.1).fit(X, y, edges)
    thin = mm.GraphLabeler("max_margin", alpha=0.1).fit(rows, y, edges)
    assert np.isclose(dense.certificate_.primal, thin.certificate_.primal, atol=1e-4)


@pytest.mark.parametrize("loss", ["crf", "max_margin"])
def test_columns_may_have_any_units(loss):
    X, y, edges = _data(TREE)
    X = [np.column_stack([x * [1.0, 1e4, 1e-3], np.ones(4)]) for x in X]
    model = mm.GraphLabeler(loss, alpha=0.01).fit(X, y, edges)
    assert model.certificate_.relative <= 1e-4


def test_the_perceptron_separates_what_can_be_separated():
    X, y, edges = _data(TREE, n=10, seed=3)
    y = [["a" if v > 0 else "b" for v in x[:, 0]] for x in X]
    X = [x + np.sign(x) * [0.5, 0, 0] for x in X]
    model = mm.GraphLabeler("perceptron", random_state=0, max_iter=100).fit(X, y, edges)
    assert model.score(X, y, edges) == 1.0
    assert model.certificate_.primal == 0
    for loss in ("crf", "max_margin"):
        batches = mm.GraphLabeler(loss, alpha=0.01)
        for _ in range(20):
            batches.partial_fit(X, y, edges)
        assert batches.score(X, y, edges) > 0.9
        assert not hasattr(batches, "certificate_")
    with pytest.raises(ValueError, match="takes penalty='l2'"):
        mm.GraphLabeler("crf", "l1").partial_fit(X, y, edges)
    with pytest.raises(ValueError, match="declare all of them"):
        mm.GraphLabeler("crf").partial_fit(X[:1], [["a"] * 4], edges[:1])


def test_gradient_steps_approach_the_optimum():
    X, y, edges = _data(CYCLE)
    whole = mm.GraphLabeler("crf", alpha=0.5, tol=1e-8).fit(X, y, edges)
    stream = mm.GraphLabeler("crf", alpha=0.5)
    for _ in range(100):
        stream.partial_fit(X, y, edges)
    np.testing.assert_allclose(stream.coef_, whole.coef_, atol=0.05)
    np.testing.assert_allclose(stream.pairs_, whole.pairs_, atol=0.05)


def test_wide_graphs_are_relaxed_with_a_bound(monkeypatch):
    X, y, edges = _data([*CYCLE, (0, 2), (1, 3)], n=6)
    exact = mm.GraphLabeler("max_margin", alpha=0.1).fit(X, y, edges)
    monkeypatch.setattr("minimand.outputs.graph.topology.WIDEST", 4)
    model = mm.GraphLabeler("max_margin", alpha=0.1).fit(X, y, edges)
    assert "relaxed for 6 graphs" in model.certificate_.objective
    assert model.certificate_.relative <= 1e-4
    assert model.certificate_.primal >= exact.certificate_.dual - 1e-9
    for score, bound, proved in model.optimality(X, edges):
        assert score <= bound + 1e-9
        assert not proved or np.isclose(score, bound, atol=1e-5)
    with pytest.raises(ValueError, match="linear relaxation"):
        mm.GraphLabeler("crf").fit(X, y, edges)
    differ = pickle.loads(pickle.dumps(model))
    differ.coef_, differ.pairs_ = 0 * model.coef_, 1.0 - np.eye(2)
    with pytest.warns(UserWarning, match="not proved to be the best"):
        differ.predict(X[:1], edges[:1])


def _impatient(state):
    raise KeyboardInterrupt


def test_limits_callbacks_and_interrupts_leave_a_valid_model():
    X, y, edges = _data(TREE)
    for loss in ("crf", "max_margin"):
        with pytest.warns(ConvergenceWarning, match="GraphLabeler"):
            model = mm.GraphLabeler(loss, alpha=1e-4, max_iter=1, tol=1e-12).fit(X, y, edges)
        assert model.certificate_.gap > 0
        assert len(model.predict(X, edges)) == len(X)
        model = mm.GraphLabeler(loss, tol=0.0, callbacks=[lambda state: mm.STOP])
        with pytest.warns(ConvergenceWarning, match="a callback"):
            model.fit(X, y, edges)
        assert len(model.history_) == 1
        with pytest.raises(mm.Interrupted) as stopped:
            mm.GraphLabeler(loss, callbacks=[_impatient]).fit(X, y, edges)
        assert len(stopped.value.result.predict(X, edges)) == len(X)


X0, Y0, E0 = _data(TREE, n=2)


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        ({"loss": "hinge"}, (X0, Y0, E0), "loss of GraphLabeler must be one of"),
        (
            {"loss": "max_margin", "penalty": "no_penalty"},
            (X0, Y0, E0),
            "takes a penalty with alpha > 0",
        ),
        ({"loss": "max_margin", "alpha": 0.0}, (X0, Y0, E0), "takes a penalty with alpha > 0"),
        ({"alpha": -1}, (X0, Y0, E0), "alpha must be a finite number"),
        ({"directed": "no"}, (X0, Y0, E0), "directed must be True or False"),
        ({"loss": "perceptron", "alpha": 1.0}, (X0, Y0, E0), "alpha has no meaning"),
        ({"loss": "max_margin", "cost": [[0, -1], [1, 0]]}, (X0, Y0, E0), "cost must be"),
        ({}, (X0, Y0, E0[:1]), "X and edges must hold the same graphs"),
        ({}, (X0, Y0[:1], E0), "X and y must hold the same"),
        ({}, (X0, Y0), r"X\[0\] comes without edges"),
        ({}, (X0, Y0, [[(0, 9)], []]), r"edges\[0\] names node 9"),
        ({}, (X0, Y0, [[(0, -1)], []]), r"edges\[0\] names node -1"),
        ({}, (X0, Y0, [[(1, 1)], []]), "joins node 1 to itself"),
        ({}, (X0, Y0, [[(0, 1, 2)], []]), r"must be an \(m, 2\) array"),
        ({}, (X0, Y0, [[(0.5, 1)], []]), r"must be an \(m, 2\) array"),
        ({}, (X0, [Y0[0], Y0[1][:2]], E0), "4 .* 2 labels"),
        ({}, (X0, [["a"] * 4] * 2, E0), "one label only"),
        ({}, ([X0[0], X0[1] * np.nan], Y0, E0), r"X\[1\] contains NaN"),
        ({}, ([X0[0], X0[1][:0]], [Y0[0], []], [TREE, []]), "empty"),
    ],
)
def test_bad_input_gets_one_sentence(change, arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        mm.GraphLabeler(**change).fit(*arguments)


def test_prediction_refuses_what_the_fit_did_not_see():
    model = mm.GraphLabeler(alpha=0.1).fit(X0, Y0, E0)
    with pytest.raises(ValueError, match="feature"):
        model.predict([np.zeros((2, 5))], [[]])
    with pytest.raises(ValueError, match="not among the"):
        model.log_likelihood(X0[:1], [["z"] * 4], E0[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict([X0[0][:1]], [[]])[0][0] in ("a", "b")


def test_pairs_of_labels_are_listed_and_drawn():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(3, 2)) for _ in range(20)]
    edges = [[(0, 1), (1, 2)]] * 20
    y = [["a", "b", "a"] if x[0, 0] > 0 else ["b", "a", "b"] for x in X]  # neighbours differ
    model = mm.GraphLabeler(alpha=0.1).fit(X, y, edges)
    assert {found[:2] for found in model.top_transitions(2)} == {("a", "b"), ("b", "a")}
    assert {found[:2] for found in model.top_transitions(2, lowest=True)} == {
        ("a", "a"),
        ("b", "b"),
    }
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = model.plot()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]
    np.testing.assert_allclose(ax.images[0].get_array(), model.pairs_)


def test_searches_split_lists_of_graphs_with_their_edges():
    rng = np.random.default_rng(1)
    X = [(rng.normal(size=(3, 2)), [(0, 1), (1, 2)]) for _ in range(20)]
    y = [(nodes[:, 0] > 0).astype(int).tolist() for nodes, _ in X]
    search = GridSearchCV(mm.GraphLabeler(), {"alpha": [0.01, 10.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"alpha": 0.01}
    assert search.best_score_ > 0.8


def test_a_callback_that_stops_a_fit_is_told_of():
    model = mm.GraphLabeler(alpha=0.1, callbacks=[lambda state: mm.STOP])
    with pytest.warns(ConvergenceWarning, match="fit without the callback that stopped it"):
        model.fit(X0, Y0, E0)
