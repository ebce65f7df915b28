"""Labelers that go on from weights they have: batches after a fit, warm starts."""

import numpy as np
import pytest

import minimand as mm

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
        model = mm.SequenceLabeler("max_margin", alpha=0.003, warm_start=True).fit(X, y)
        cold, certificate = cold + model.n_iter_, model.certificate_
        warm += model.fit(X, y).n_iter_
        assert model.certificate_.relative <= 1e-4
        assert model.certificate_.dual <= certificate.primal + certificate.rounding
    assert warm < cold
    assert model.history_.primal[0] == pytest.approx(4.0)  # the scale is that of w = 0
