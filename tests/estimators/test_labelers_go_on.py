"""Labelers that go on from weights they have: batches after a fit, warm starts."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.estimators.labelers.sequences.stream import slope

TREE = [(0, 1), (1, 2), (1, 3)]


def _trees(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(4, 3)) for _ in range(n)]
    y = [np.where(x[:, 0] + 0.3 * x[:, 1] > 0, "a", "b").tolist() for x in X]
    return X, y, [TREE] * n


def _products(rows, edges):
    return rows[edges[:, 0]] * rows[edges[:, 1]]


@pytest.mark.parametrize("loss", ["crf", "max_margin", "perceptron"])
def test_a_batch_of_graphs_goes_on_from_the_fit(loss):
    X, y, edges = _trees()
    model = mm.GraphLabeler(loss, random_state=0).fit(X, y, edges)
    fitted, before = model.coef_.copy(), model.score(X, y, edges)
    model.partial_fit(X[:1], y[:1], edges[:1])
    assert np.linalg.norm(model.coef_ - fitted) <= 0.2 * np.linalg.norm(fitted)
    assert model.score(X, y, edges) >= before - 0.05
    assert not hasattr(model, "certificate_")


def test_batches_without_an_edge_keep_the_weights_of_edge_features():
    X, y, edges = _trees()
    model = mm.GraphLabeler("crf", alpha=0.1, edge_features=_products)
    model.partial_fit(X, y, edges).partial_fit(X[:2], y[:2], [[], []])
    assert model.edge_coef_.shape == (3, 2, 2)
    assert model.edge_coef_.any()
    model.edge_features = None
    with pytest.raises(ValueError, match="as many columns as in the fit or batch before"):
        model.partial_fit(X, y, edges)


@pytest.mark.parametrize("loss", ["crf", "max_margin", "perceptron"])
def test_batches_know_how_many_features_there_are(loss):
    X, y, edges = _trees(6)
    assert mm.SequenceLabeler(loss).partial_fit(X, y).n_features_in_ == 3
    assert mm.GraphLabeler(loss).partial_fit(X, y, edges).n_features_in_ == 3


def test_warm_starts_of_max_margin_need_fewer_rounds():
    cold = warm = 0
    for seed in range(4):  # of one alone the number of rounds may be equal
        X, y, _ = _trees(60, seed=seed)
        y = [own[::-1] if i % 7 == 0 else own for i, own in enumerate(y)]
        model = mm.SequenceLabeler("max_margin", alpha=0.02, warm_start=True).fit(X, y)
        cold, certificate = cold + model.n_iter_, model.certificate_
        warm += model.fit(X, y).n_iter_
        assert model.certificate_.relative <= 1e-4
        assert model.certificate_.dual <= certificate.primal + certificate.rounding
    assert warm < cold
    assert model.history_.primal[0] == pytest.approx(4.0)  # the scale is that of w = 0


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("ends", [False, True])
def test_a_perceptron_with_features_of_steps_takes_the_textbook_steps(ends, as_csr):
    """All labellings are tried; of equal ones that of smaller labels counts, from the last on."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)).round(2) for n in (3, 1, 2, 4)]
    y = [rng.integers(2, size=len(x)).tolist() for x in X]
    y[0][:2] = [0, 1]
    d, k = 2, 2

    def features(x, c):
        coef, steps, start, stop = np.zeros((d, k)), np.zeros((k, k)), np.zeros(k), np.zeros(k)
        edge = np.zeros((d, k, k))
        for t, label in enumerate(c):
            coef[:, label] += x[t]
            if t:
                steps[c[t - 1], label] += 1
                edge[:, c[t - 1], label] += x[t]
        if ends:
            start[c[0]] += 1
            stop[c[-1]] += 1
        return np.concatenate([part.ravel() for part in (coef, steps, start, stop, edge)])

    w, mistakes, random = np.zeros(d * k + k * k + 2 * k + d * k * k), 0, np.random.RandomState(7)
    total = w.copy()
    for _ in range(3):
        for i in random.permutation(len(X)):
            labellings = [c[::-1] for c in itertools.product(range(k), repeat=len(X[i]))]
            scores = [features(X[i], c) @ w for c in labellings]
            best = labellings[int(np.argmax(np.round(scores, 9)))]
            if list(best) != y[i]:
                w = w + features(X[i], y[i]) - features(X[i], best)
                mistakes += 1
            total = total + w
    given = [sparse.csr_array(x) for x in X] if as_csr else X
    model = mm.SequenceLabeler(
        "perceptron", edge_features="later", ends=ends, max_iter=3, random_state=7
    ).fit(given, y)
    parts = (model.coef_.T, model.transitions_, model.start_, model.stop_, model.edge_coef_)
    np.testing.assert_allclose(np.concatenate([p.ravel() for p in parts]), total / 12, atol=1e-9)
    assert model.mistakes_ == mistakes


def test_features_of_steps_separate_what_tokens_alone_do_not():
    rng = np.random.default_rng(1)
    X = [rng.choice([-1.0, 1.0], size=(5, 1)) for _ in range(40)]
    y = [np.append(0, np.cumsum(x[1:, 0] > 0) % 2).tolist() for x in X]  # +1 changes the label
    model = mm.SequenceLabeler("perceptron", edge_features="later", random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert mm.certify(model, X, y).primal == 0.0
    assert mm.SequenceLabeler("perceptron", random_state=0).fit(X, y).score(X, y) < 0.9


@pytest.mark.parametrize("loss", ["crf", "max_margin", "perceptron"])
@pytest.mark.parametrize("as_csr", [False, True])
def test_batches_learn_features_of_steps(loss, as_csr):
    rng = np.random.default_rng(1)
    X = [rng.choice([-1.0, 1.0], size=(n, 1)) for n in [1, 1, *[5] * 60]]
    y = [np.append(0, np.cumsum(x[1:, 0] > 0) % 2).tolist() for x in X]  # +1 changes the label
    given = [sparse.csr_array(x) for x in X] if as_csr else X
    penalised = {"random_state": 0} if loss == "perceptron" else {"alpha": 1e-3}
    functions = [lambda rows: rows[1:], "later"] if not as_csr else ["later"]
    for edge_features in functions:
        model = mm.SequenceLabeler(loss, edge_features=edge_features, **penalised)
        model.partial_fit(given[:2], y[:2], classes=[0, 1])  # no step yet
        for _ in range(60):
            model.partial_fit(given, y)
        assert model.score(given, y) > 0.95
        assert model.edge_coef_.shape == (1, 2, 2)
        fitted = mm.SequenceLabeler(loss, edge_features=edge_features, **penalised).fit(given, y)
        assert fitted.partial_fit(given[:2], y[:2]).score(given, y) > 0.85
    model.edge_features = None
    with pytest.raises(ValueError, match="edge_features must give 1 columns"):
        model.partial_fit(given, y)


def test_the_step_of_a_batch_is_along_the_slope_of_its_objective():
    rng = np.random.default_rng(3)
    X, y = [rng.normal(size=(4, 2)) for _ in range(8)], [rng.integers(2, size=4) for _ in range(8)]
    labeler = mm.SequenceLabeler(alpha=0.1, edge_features="later").fit(X, y)
    posed = labeler._posed_again(X, y)
    near = slope(posed.problem, labeler._weights, "crf")
    for own, found in zip(near, labeler._weights, strict=True):
        np.testing.assert_allclose(own, -0.1 * found, atol=2e-2)
    exact = mm.SequenceLabeler(alpha=0.1, edge_features="later", tol=1e-12).fit(X, y)
    for own, found in zip(slope(posed.problem, exact._weights, "crf"), exact._weights, strict=True):
        np.testing.assert_allclose(own, -0.1 * found, atol=1e-5)
