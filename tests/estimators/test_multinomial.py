"""The multinomial loss in a classifier: scikit-learn's model, with a certificate."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

import minimand as mm


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_the_model_is_that_of_scikit_learn(load):
    X, y = (part[:300] for part in load(return_X_y=True))
    X = (X - X.mean(axis=0)) / X.std(axis=0).clip(0.1)
    model = mm.Classifier("multinomial", alpha=1e-2, tol=1e-10).fit(X, y)
    C = 1 / (1e-2 * len(y))
    theirs = LogisticRegression(C=C, tol=1e-7, max_iter=10_000, solver="newton-cg").fit(X, y)
    assert np.allclose(model.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())
    assert np.allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    assert np.array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    assert model.certificate_.relative <= 1e-10
    assert model.coef_.shape == theirs.coef_.shape


@pytest.mark.parametrize("kind", [str, bool, object, np.int8])
def test_labels_of_every_kind(kind):
    X, y = load_iris(return_X_y=True)
    if kind is bool:
        X, y = X[50:], y[50:] == 2
    labels = y.astype(str).astype(object) if kind is object else y.astype(kind)
    model = mm.Classifier("multinomial").fit(X, labels)
    assert set(model.classes_) == set(labels)
    assert model.score(X, labels) > 0.9
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("reference", [0, 1, -1])
def test_two_classes_are_the_logistic_model(reference):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    logistic = mm.Classifier("logistic", alpha=0.01, tol=1e-10).fit(X, y).predict_proba(X)
    symmetric = mm.Classifier("multinomial", alpha=0.02, tol=1e-10).fit(X, y).predict_proba(X)
    odds = mm.Classifier(mm.Multinomial(reference), alpha=0.01, tol=1e-10).fit(X, y)
    assert np.allclose(symmetric, logistic, atol=1e-5)
    assert np.allclose(odds.predict_proba(X), logistic, atol=1e-5)


def test_class_weights_and_sparse_data():
    X, y = load_iris(return_X_y=True)
    weight = {0: 1.0, 1: 3.0, 2: 0.5}
    dense = mm.Classifier("multinomial", alpha=0.01, class_weight=weight, tol=1e-10).fit(X, y)
    by_row = np.array([weight[c] for c in y])
    other = mm.Classifier("multinomial", alpha=0.01, tol=1e-10)
    other.fit(sp.csr_array(X), y, sample_weight=by_row)
    assert np.allclose(dense.coef_, other.coef_, atol=1e-5)


def test_paths_and_tuning():
    X, y = load_iris(return_X_y=True)
    path = mm.path(mm.Classifier("multinomial"), X, y, alphas=[0.1, 0.01, 0.001])
    assert path.coefs.shape == (3, 3, 4)
    for alpha, w in zip(path.alphas, path.coefs):
        single = mm.Classifier("multinomial", alpha=alpha).fit(X, y)
        assert np.allclose(w, single.coef_, atol=2e-2 * np.abs(single.coef_).max())
    assert max(certificate.relative for certificate in path.certificates) <= 1e-6
    tuned = mm.Tuned(mm.Classifier("multinomial"), alphas=[1.0, 0.01, 1e-8], cv=3).fit(X, y)
    assert tuned.alpha_ == 0.01


def test_audits():
    X, y = load_iris(return_X_y=True)
    model = mm.Classifier("multinomial", alpha=0.01).fit(X, y)
    again = mm.certify(model, X, y)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert again.by_sample.shape == (150,)
    words = str(mm.explain(clone(model), X, y))
    assert "→ newton" in words


@pytest.mark.parametrize("loss", [mm.Multinomial(), mm.Multinomial(reference=1)])
def test_stochastic_training(loss):
    X, y = load_wine(return_X_y=True)
    model = mm.Classifier(loss, alpha=1e-2, solver="sgd", max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, y).score(X, y) > 0.9
    stream = mm.Classifier(loss, alpha=1e-2)
    order = np.random.default_rng(0).permutation(len(y))
    for rows in np.array_split(order, 3):
        stream.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert stream.score(X, y) > 0.8
    assert stream.coef_.shape == (loss.scores_for(3), 13)


def test_a_reference_that_is_no_class_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="reference=7"):
        mm.Classifier(mm.Multinomial(7)).fit(X, y)
    with pytest.raises(ValueError, match="number of a class"):
        mm.Classifier(mm.Multinomial("setosa")).fit(X, y)
    with pytest.raises(ValueError, match=r"minimand\.Classifier"):
        mm.Regressor(mm.Multinomial()).fit(X, y)


@pytest.mark.parametrize("loss", ["multinomial", "crammer_singer"])
@pytest.mark.parametrize("constant", [1.0, 1e8])
def test_a_constant_column_beside_the_intercept_changes_nothing(loss, constant):
    X, y = (part[50:130] for part in load_iris(return_X_y=True))
    y = np.where(np.arange(len(y)) % 7, y, 0)  # no class can be separated
    model = mm.Classifier(loss, "no_penalty")
    base = clone(model).fit(X, y)
    found = clone(model).fit(np.column_stack([np.full(len(X), constant), X]), y)
    assert found.certificate_.relative <= 1e-6
    assert found.certificate_.rounding <= 1e-12
    assert found.certificate_.primal == pytest.approx(base.certificate_.primal, abs=2e-6)
    assert np.abs(found.coef_[:, 0]).max() <= 1e-6
