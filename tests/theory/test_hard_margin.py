"""The widest margin: optimal by the referee and by Clarabel, refused where there is none."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from svm_oracle import hard_margin

import minimand as mm


def separated(n, d, gap=0.1, seed=0, shift=0.2):
    """Classes on the two sides of a plane, with nothing within `gap` of it."""
    rng = np.random.default_rng(seed)
    X, normal = rng.standard_normal((n, d)), rng.standard_normal(d)
    normal /= np.linalg.norm(normal)
    signs = np.where(X @ normal > shift, 1.0, -1.0)
    signs[:2] = [1.0, -1.0]
    X[:2] = np.outer([1.0, -1.0], normal) + shift * normal
    return X + gap * np.outer(signs, normal), signs


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "d"), [(12, 2), (150, 5), (40, 60), (600, 20)])
def test_it_is_the_quadratic_program(n, d, intercept):
    X, signs = separated(n, d, seed=n, shift=0.2 * intercept)
    model = mm.HardMargin(intercept=intercept).fit(X, signs)
    w, b, alpha = hard_margin(X, signs, intercept)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5 * np.abs(w).max())
    np.testing.assert_allclose(model.intercept_, b, atol=1e-4 * max(abs(b), 1.0))
    assert model.certificate_.relative <= 1e-6
    assert model.certificate_.dual <= 0.5 * w @ w * (1 + 1e-9)
    assert model.certificate_.primal >= 0.5 * w @ w * (1 - 1e-9)
    assert set(np.flatnonzero(alpha > 1e-3 * alpha.max())) <= set(model.support_)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 40), st.integers(1, 6), st.floats(-6, 0))
def test_laws(seed, n, d, log_gap):
    X, signs = separated(n, d, 10**log_gap, seed)
    model = mm.HardMargin().fit(X, signs)
    w, alpha = model.coef_[0], np.abs(model.dual_coef_[0])
    certificate = model.certificate_
    assert certificate.relative <= 1e-6
    margins = signs * model.decision_function(X)
    assert margins.min() >= 1 - 1e-9 * np.linalg.norm(w)  # feasible
    np.testing.assert_allclose(model.margin_, 1 / np.linalg.norm(w))
    distance = np.abs(X @ w + model.intercept_).min() / np.linalg.norm(w)
    np.testing.assert_allclose(model.margin_, distance, rtol=1e-6)
    np.testing.assert_allclose(alpha.sum(), w @ w, rtol=1e-5)  # ‖w‖² = Σα
    np.testing.assert_allclose(model.dual_coef_.sum(), 0, atol=1e-9 * alpha.sum())
    pull = model.dual_coef_[0] @ X[model.support_]
    # The dual objective of what the model shows, by its formula:
    dual = alpha.sum() - 0.5 * pull @ pull
    np.testing.assert_allclose(certificate.dual, dual, rtol=1e-6)
    np.testing.assert_allclose(
        certificate.by_sample.sum() + certificate.by_feature.sum(), certificate.gap
    )
    assert (model.predict(X) == signs).all()


def test_only_support_vectors_matter():
    X, signs = separated(200, 3, seed=5)
    model = mm.HardMargin().fit(X, signs)
    kept = model.support_
    assert 2 <= kept.size <= 4
    less = mm.HardMargin().fit(X[kept], signs[kept])
    np.testing.assert_allclose(less.coef_, model.coef_, rtol=1e-5)
    copies = mm.HardMargin().fit(np.repeat(X, 2, axis=0), np.repeat(signs, 2))
    np.testing.assert_allclose(copies.coef_, model.coef_, rtol=1e-5)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    X, signs = separated(60, 3, seed=6)
    model, scaled = mm.HardMargin().fit(X, signs), mm.HardMargin().fit(factor * X, signs)
    np.testing.assert_allclose(scaled.margin_, factor * model.margin_, rtol=1e-5)


def test_sparse_data_and_labels_of_any_kind():
    X, signs = separated(80, 4, 0.5, seed=7)
    labels = np.where(signs > 0, "yes", "no")
    dense = mm.HardMargin().fit(X, labels)
    thin = mm.HardMargin().fit(sparse.csr_array(X), labels)
    np.testing.assert_allclose(dense.coef_, thin.coef_, rtol=1e-6)
    assert dense.classes_.tolist() == ["no", "yes"]
    assert (pickle.loads(pickle.dumps(dense)).predict(X) == labels).all()


def test_classes_that_no_plane_separates_are_refused_with_a_witness():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"not separable: .* samples 0 and 3 of class 0 .* soft"):
        mm.HardMargin().fit(X, [0, 1, 1, 0])
    with pytest.raises(ValueError, match=r"not separable: a positive combination"):
        mm.HardMargin(intercept=False).fit([[1.0], [-1.0], [3.0]], [1, 1, 0])
    model = mm.HardMargin().fit([[1.0], [-1.0], [3.0]], [1, 1, 0])
    np.testing.assert_allclose(model.margin_, 1.0)


BAD = {
    "three classes": ({}, [[0.0], [1.0], [2.0]], [0, 1, 2], "HardMargin takes two classes, .* 3"),
    "one class": ({}, [[0.0], [1.0]], [1, 1], "y holds one class only"),
    "tol": ({"tol": -1.0}, [[0.0], [1.0]], [0, 1], "tol must be a finite number ≥ 0"),
    "solver": ({"solver": "magic"}, [[0.0], [1.0]], [0, 1], "solver"),
    "intercept": ({"intercept": "yes"}, [[0.0], [1.0]], [0, 1], "intercept must be True or False"),
    "time": ({"max_seconds": "1"}, [[0.0], [1.0]], [0, 1], "max_seconds must be a finite number"),
    "nan": ({}, [[0.0], [np.nan]], [0, 1], "X contains NaN"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence(name):
    options, X, y, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        mm.HardMargin(**options).fit(X, y)


def test_a_fit_that_is_cut_off_is_a_separating_plane_with_its_true_gap():
    X, signs = separated(300, 10, 0.01, seed=8)
    with pytest.warns(ConvergenceWarning, match="HardMargin: stopped with a relative gap"):
        model = mm.HardMargin(max_seconds=0.0, tol=0.0).fit(X, signs)
    assert (model.predict(X) == signs).all()
    best = mm.HardMargin().fit(X, signs).certificate_
    assert model.certificate_.dual <= best.primal
    assert model.certificate_.primal >= best.dual


def test_certify_judges_it_afresh():
    X, signs = separated(50, 3, seed=9)
    model = mm.HardMargin().fit(X, signs)
    audit = mm.certify(model, X, signs)
    np.testing.assert_allclose(audit.primal, model.certificate_.primal, rtol=1e-9)
    assert audit.relative <= 1e-6
    model.coef_ = model.coef_ * [[1.1, 1.0, 0.9]]
    assert mm.certify(model, X, signs).gap > 10 * audit.gap
    with pytest.raises(ValueError, match="are not the data"):
        mm.certify(model, X[1:], signs[1:])
    with pytest.raises(ValueError, match="takes no sample_weight"):
        mm.certify(model, X, signs, np.ones(50))


class SeparableData:
    """Gives scikit-learn's checks two classes that a plane separates, where they ask for tags."""

    def __init__(self, monkeypatch):
        self.last = None
        self.hooks = {}
        for name in ("_enforce_estimator_tags_X", "_enforce_estimator_tags_y"):
            self.hooks[name[-1]] = getattr(estimator_checks, name)
            monkeypatch.setattr(estimator_checks, name, getattr(self, f"of_{name[-1].lower()}"))

    def of_x(self, estimator, X, **options):
        self.last = self.hooks["X"](estimator, X, **options)
        return self.last

    def of_y(self, estimator, y):
        y, X = self.hooks["y"](estimator, y), self.last
        labels = np.unique(y)
        if X is None or X.shape[0] != y.shape[0] or labels.size != 2:
            return y
        right = X[:, 0] > np.median(X[:, 0])
        return labels[right.astype(int)].reshape(y.shape)


@parametrize_with_checks([mm.HardMargin()])
def test_sklearn(estimator, check, monkeypatch):
    SeparableData(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def test_many_support_vectors():
    """More features than samples: nearly every sample is one, and no linear program is needed."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((700, 1400)), rng.integers(0, 2, 700)
    model = mm.HardMargin().fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert model.support_.size > 500
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert margins.min() >= 1 - 1e-9
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_plane_that_soft_margins_miss_is_found_by_the_program(intercept):
    """A margin of 1e-6 of the spread: no moderate C separates, and the answer is still exact."""
    X = np.array([[0.0, 1.0], [1e-6, 1.0], [5.0, 7.0], [-5.0, -9.0]])
    y = np.array([0, 1, 1, 0])
    X = X if intercept else X * np.array([1.0, 0.5])
    if not intercept:
        X[0, 0] = -1e-6
    model = mm.HardMargin(intercept=intercept).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert np.array_equal(model.predict(X), y)
