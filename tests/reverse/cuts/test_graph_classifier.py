"""Labels that spread: the closed form, the certificate, and what unlabelled rows are good for."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

import minimand as mm

X, MOON = make_moons(200, noise=0.08, random_state=0)


def few_labels(per_class=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.full(200, -1)
    for label in (0, 1):
        rows = rng.choice(np.flatnonzero(label == MOON), per_class, replace=False)
        y[rows] = label
    return y


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_margin"])
def test_unlabelled_rows_help_on_two_moons(loss):
    gains = []
    for seed in range(3):
        y = few_labels(seed=seed)
        model = mm.GraphClassifier(loss).fit(X, y)
        known = y >= 0
        alone = mm.Classifier(loss, features=mm.RBF(0.5)).fit(X[known], y[known])
        assert model.certificate_.kind == "global"
        assert model.certificate_.relative <= 1e-6
        gains.append((model.transduction_ == MOON).mean() - alone.score(X, MOON))
        assert (model.transduction_ == MOON).mean() > 0.85
    assert min(gains) >= 0
    assert np.mean(gains) > 0.03


@pytest.mark.parametrize("kernel", [mm.NeighborGraph(8), mm.RBF(0.3)])
def test_scores_minimise_the_objective_on_the_graph(kernel):
    y = few_labels(3)
    known = np.flatnonzero(y >= 0)
    a, alpha = 0.9, 0.05
    model = mm.GraphClassifier("squared", alpha, kernel=kernel, spread=a, tol=1e-10).fit(X, y)
    K = kernel.matrix(X).toarray() if isinstance(kernel, mm.NeighborGraph) else kernel(X)
    degrees = K.sum(axis=1)
    L = (np.diag(degrees) - a * K) / degrees.mean()
    # mean ½(g − y)² over the labelled rows + alpha·½gᵀLg
    mass, target = np.zeros(200), np.zeros(200)
    mass[known], target[known] = 1 / known.size, 2.0 * y[known] - 1
    g = np.linalg.solve(np.diag(mass) + alpha * L, mass * target)
    value = 0.5 * mass @ (g - target) ** 2 + 0.5 * alpha * g @ L @ g
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    assert ((g > 0) == (model.transduction_ == 1)).all()
    scores = model.decision_function(X)
    free = y < 0
    np.testing.assert_allclose(scores[free], g[free], atol=1e-5)  # new rows: the same mean


def test_several_classes_names_and_marks_of_rows_without_label():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [4, 0], [0, 4]])
    group = rng.integers(3, size=150)
    rows = centres[group] + rng.normal(size=(150, 2))
    names = np.array(["red", "green", "blue"])[group]
    y = np.array([None] * 150, dtype=object)
    for colour in ("red", "green", "blue"):
        first = np.flatnonzero(names == colour)[0]
        y[first] = colour
    model = mm.GraphClassifier().fit(pd.DataFrame(rows, columns=["u", "v"]), y.tolist())
    assert (model.transduction_ == names).mean() > 0.85
    assert sorted(model.classes_) == ["blue", "green", "red"]
    probabilities = model.predict_proba(pd.DataFrame(rows, columns=["u", "v"]))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    numbers = np.where(y == None, np.nan, group.astype(float))  # noqa: E711
    floats = mm.GraphClassifier().fit(rows, numbers.astype(float))
    assert (floats.transduction_ == group).mean() > 0.85


def test_weights_count_labelled_rows_as_copies():
    y = few_labels(4)
    weights = np.ones(200)
    rows = np.flatnonzero(y >= 0)
    weights[rows[0]] = 0.0
    fewer = y.copy()
    fewer[rows[0]] = -1
    one = mm.GraphClassifier("squared", 0.1, tol=1e-10).fit(X, y, sample_weight=weights)
    two = mm.GraphClassifier("squared", 0.1, tol=1e-10).fit(X, fewer)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)
    assert clone(one).get_params()["spread"] == 0.99


@pytest.mark.parametrize(
    ("changes", "y", "words"),
    [
        ({}, np.full(200, -1), "no label"),
        ({}, np.where(MOON == 1, 1, -1), "1 class, 1, .*two classes"),
        ({}, np.zeros(7), "y must hold"),
        ({"spread": 1.0}, few_labels(), "spread"),
        ({"kernel": "nearest"}, few_labels(), "kernel"),
    ],
)
def test_bad_input_gets_one_sentence_about_labels(changes, y, words):
    with pytest.raises(ValueError, match=words):
        mm.GraphClassifier(**changes).fit(X, y)


def test_ctrl_c_leaves_a_valid_model():
    def interrupt(state):
        raise KeyboardInterrupt

    model = mm.GraphClassifier(callbacks=[interrupt])
    with pytest.raises(mm.Interrupted) as caught:
        model.fit(X, few_labels())
    assert caught.value.result is model
    assert model.transduction_.shape == (200,)
    assert model.certificate_.gap > 0


def test_callbacks_of_both_kinds_hear_of_it():
    callback = pytest.importorskip("sklearn.callback")

    class Heard(callback.FitCallback if hasattr(callback, "FitCallback") else object):
        ends = 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **facts):
            pass

        def on_fit_task_end(self, estimator, context, **facts):
            self.ends += 1

        def teardown(self, estimator, context):
            pass

    seen, heard = [], Heard()
    X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    y = [0, -1, -1, -1, -1, 1]
    model = mm.GraphClassifier(kernel=mm.NeighborGraph(3), callbacks=[seen.append])
    model.set_callbacks(heard).fit(X, y)
    assert len(seen) >= 1
    assert heard.ends == len(seen) + 1  # and the fit itself


@pytest.mark.parametrize("kernel", ["neighbors", mm.RBF(0.3)])
def test_labels_that_spread_are_certified_anew(kernel):
    """Also those of a stopped fit, whose gap is then its distance from the optimum."""
    y, weights = few_labels(4), np.linspace(0.5, 2.0, 200)
    model = mm.GraphClassifier(kernel=kernel).fit(X, y, sample_weight=weights)
    again = mm.certify(model, X, y, sample_weight=weights)
    assert again.objective == model.certificate_.objective
    assert again.primal == pytest.approx(model.certificate_.primal)
    assert 0 <= again.relative <= 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        early = mm.GraphClassifier(kernel=kernel, callbacks=[lambda state: mm.STOP]).fit(X, y)
    best = mm.GraphClassifier(kernel=kernel).fit(X, y).certificate_
    found = mm.certify(early, X, y)
    assert found.primal == pytest.approx(early.certificate_.primal)
    assert found.dual <= best.primal <= found.primal * (1 + 1e-6)
    assert found.dual >= (1 - 1e-3) * best.dual
    with pytest.raises(ValueError, match="X has 5 rows"):
        mm.certify(model, X[:5], y[:5])
    with pytest.raises(ValueError, match="y must have labels at the rows"):
        mm.certify(model, X, few_labels(5))
    with pytest.raises(ValueError, match="takes no offset"):
        mm.certify(model, X, y, offset=np.ones(200))
