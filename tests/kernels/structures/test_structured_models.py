"""Models of strings, trees and graphs: columns that can be read, and kernels, in all tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import minimand as mm

RNG = np.random.default_rng(0)
TEXTS = ["".join(RNG.choice(list("abcd"), 12)) for _ in range(40)]
Y = np.array(["ab" in text for text in TEXTS])
TREES = [("S", ("NP", *"abc"[: 1 + i % 3]), ("VP", str(i % 2))) for i in range(24)]
RINGS = [np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0) for n in range(4, 28)]
HALF = np.arange(24) % 2 == 0
EXPLICIT = [
    (mm.Spectrum(2), TEXTS, Y),
    (mm.Mismatch(2, 1), TEXTS, Y),
    (mm.SubTree(), TREES, HALF),
    (mm.WeisfeilerLehman(2), RINGS, HALF),
    (mm.ShortestPath(), RINGS, HALF),
    (mm.Graphlet(3), RINGS, HALF),
]
IMPLICIT = [
    (mm.Subsequence(2), TEXTS, Y),
    (mm.SubsetTree(), TREES, HALF),
    (mm.WeisfeilerLehman(1).normalize(), RINGS, HALF),
    (mm.Spectrum(1) + mm.Spectrum(2), TEXTS, Y),
]


def named(cases):
    return pytest.mark.parametrize(("kernel", "X", "y"), cases, ids=[repr(c[0]) for c in cases])


@named(EXPLICIT)
def test_columns_and_kernel_give_the_same_model(kernel, X, y):
    columns = mm.Classifier(features=kernel, alpha=0.1, tol=1e-10).fit(X, y)
    assert columns.coef_.shape[1] == columns.features_.get_feature_names_out().size
    values = mm.Classifier(features=1.0 * kernel, alpha=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(
        columns.decision_function(X[::-1]), values.decision_function(X[::-1]), atol=1e-5
    )
    assert columns.certificate_.relative <= 1e-10
    np.testing.assert_allclose(columns.certificate_.primal, values.certificate_.primal, rtol=1e-7)


@named(EXPLICIT + IMPLICIT)
def test_searches_folds_and_pickles(kernel, X, y):
    model = mm.Classifier("squared_hinge", features=kernel, alpha=0.1)
    assert cross_val_score(model, X, y, cv=2).shape == (2,)
    search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    tuned = mm.Tuned(model, cv=2, alphas=[1.0, 0.1, 0.01]).fit(X, y)
    assert tuned.predict(X[:1]).shape == (1,)
    assert mm.certify(search.best_estimator_, X, y).relative <= 1e-6


def test_searches_reach_the_parameters_of_a_kernel():
    for kernel, name, values in [
        (mm.Spectrum(1), "features__k", [1, 2]),
        (mm.Subsequence(2).normalize(), "features__kernel__decay", [0.2, 0.8]),
    ]:
        search = GridSearchCV(mm.Classifier(features=kernel), {name: values}, cv=2).fit(TEXTS, Y)
        assert search.best_params_[name] in values
    pipeline = make_pipeline(mm.Spectrum(1), mm.Classifier())
    search = GridSearchCV(pipeline, {"spectrum__k": [1, 2]}, cv=2).fit(TEXTS, Y)
    assert search.best_params_ == {"spectrum__k": 2}


def test_l1_finds_the_substring_that_decides():
    model = mm.Classifier("logistic", "l1", alpha=0.05, features=mm.Spectrum(2)).fit(TEXTS, Y)
    strongest = np.argmax(np.abs(model.coef_[0]))
    assert model.features_.get_feature_names_out()[strongest] == "ab"
    assert model.score(TEXTS, Y) > 0.9
    assert mm.Classifier(features="spectrum").fit(TEXTS, Y).score(TEXTS, Y) == 1.0


def test_a_kernel_without_columns_takes_no_penalty_of_single_coefficients():
    with pytest.raises(ValueError, match="no function of the norm"):
        mm.Classifier(penalty="l1", features=mm.Subsequence(2)).fit(TEXTS, Y)


def test_new_samples_may_have_other_shapes_and_parts():
    for kernel in (mm.SubTree(), mm.SubsetTree()):
        model = mm.Classifier(features=kernel).fit(TREES, HALF)
        assert not hasattr(model, "n_features_in_")
        scores = model.decision_function([("S", "x"), ("S", *"abcdef"), "leaf"])
        np.testing.assert_allclose(scores[2], model.intercept_[0])
    graphs = mm.Classifier(features=mm.WeisfeilerLehman(1)).fit(RINGS, HALF)
    scores = graphs.decision_function([(np.zeros((2, 2)), ["Xe", "Xe"])])
    np.testing.assert_allclose(scores, graphs.intercept_)


def test_text_beside_numbers_in_a_data_frame():
    frame = pd.DataFrame({"text": TEXTS, "size": np.arange(40.0)})
    kernel = mm.Spectrum(2).on("text") + mm.RBF(tau=10.0).on(["size"])
    model = mm.Classifier(features=kernel, alpha=0.01).fit(frame, Y)
    assert model.score(frame, Y) > 0.9
    expected = mm.Spectrum(2)(TEXTS) + mm.RBF(tau=10.0)(frame[["size"]])
    np.testing.assert_allclose(kernel(frame), expected)


def test_weights_are_copies():
    weights = np.tile([1, 2, 0], 14)[:40]
    copies = [text for text, times in zip(TEXTS, weights) for _ in range(times)]
    for kernel in (mm.Spectrum(2), mm.Subsequence(2)):
        model = mm.Classifier(features=kernel, alpha=0.1, tol=1e-10)
        weighted = model.fit(TEXTS, Y, weights).decision_function(TEXTS)
        repeated = model.fit(copies, np.repeat(Y, weights)).decision_function(TEXTS)
        np.testing.assert_allclose(weighted, repeated, atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_texts_in_a_column_of_a_frame(loss):
    """The kernel of one column of texts is that of the texts."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcd"), 12)) for _ in range(150)]
    y = [text.count("ab") > 0 for text in texts]
    frame = pd.DataFrame({"text": texts, "length": 12.0})
    inside = mm.Classifier(loss, features=mm.Spectrum(3).on("text"), tol=1e-8).fit(frame, y)
    alone = mm.Classifier(loss, features=mm.Spectrum(3), tol=1e-8).fit(texts, y)
    assert inside.certificate_.relative <= 1e-8
    np.testing.assert_allclose(
        inside.decision_function(frame), alone.decision_function(texts), atol=0.01
    )
