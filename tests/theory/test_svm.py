"""The support vector machine: the quadratic program, its multipliers, and what they mean."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR
from svm_oracle import hard_margin, soft_margin

import minimand as mm


def classes(n=80, d=3, noise=0.8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    signs = np.where(X.sum(axis=1) + 0.3 + noise * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, signs


def machine(X, signs, C, weights=None, **options):
    """Classifier on the scale of C: alpha = 1/(C·Σs)."""
    total = len(signs) if weights is None else np.sum(weights)
    options = {"tol": 1e-10, **options}
    model = mm.Classifier(mm.Hinge(), mm.L2(), alpha=1 / (C * total), **options)
    return model.fit(X, signs, sample_weight=weights)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_it_is_the_quadratic_program(C, weighted, intercept):
    X, signs = classes()
    weights = np.random.default_rng(1).integers(1, 4, len(signs)) if weighted else None
    model = machine(X, signs, C, weights, intercept=intercept)
    w, _, alpha, value = soft_margin(X, signs, C, weights, intercept)
    total = len(signs) if weights is None else weights.sum()
    certificate = model.certificate_
    assert certificate.dual <= value / (C * total) * (1 + 1e-9)
    assert certificate.primal >= value / (C * total) * (1 - 1e-9)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-5 * np.abs(w).max())
    ours = np.zeros(len(signs))
    ours[model.support_] = model.dual_coef_[0]
    if C >= 1:  # α is unique there; with C small, both classes may offer several
        np.testing.assert_allclose(ours, signs * alpha, atol=2e-4 * C * 3)


@pytest.mark.parametrize("C", [0.02, 0.5, 10.0])
def test_the_three_cases_of_alpha(C):
    X, signs = classes(seed=2)
    model = machine(X, signs, C, tol=1e-6)  # the default: multipliers are plain all the same
    alpha = np.zeros(len(signs))
    alpha[model.support_] = signs[model.support_] * model.dual_coef_[0]
    margins = signs * model.decision_function(X)
    zero, full = alpha == 0, alpha >= C * (1 - 1e-9)
    assert (alpha >= 0).all()
    assert (alpha <= C * (1 + 1e-9)).all()
    near = model.margin_points_.tolerance.max()
    assert (margins[zero] >= 1 - near).all()
    assert (margins[full] <= 1 + near).all()
    np.testing.assert_allclose(margins[~zero & ~full], 1, atol=near)
    assert (~zero & ~full).sum() <= X.shape[1] + 1
    assert abs(alpha @ signs) <= 1e-9 * alpha.sum()


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_w_is_a_combination_of_the_support_vectors(C):
    X, signs = classes(seed=3)
    model = machine(X, signs, C)
    found = model.dual_coef_ @ X[model.support_]
    np.testing.assert_allclose(found, model.coef_, atol=1e-5 * np.abs(model.coef_).max())
    # The certificate says how far the two can be apart: ½·alpha·‖w − w(θ)‖² ≤ gap.
    distance = 0.5 * model.alpha * np.sum((found - model.coef_) ** 2)
    assert distance <= model.certificate_.gap + 1e-15


def test_support_vectors_are_those_of_libsvm():
    X, signs = classes(200, 4, seed=4)
    model = machine(X, signs, 1.0, tol=1e-6)
    peer = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, signs)
    np.testing.assert_array_equal(model.support_, peer.support_[np.argsort(peer.support_)])
    ours, theirs = np.zeros(200), np.zeros(200)
    ours[model.support_], theirs[peer.support_] = model.dual_coef_[0], peer.dual_coef_[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-2)


@pytest.mark.parametrize("C", [0.05, 5.0])
def test_other_samples_may_be_removed(C):
    X, signs = classes(120, seed=5)
    model = machine(X, signs, C)
    kept = model.support_
    assert kept.size < 120
    less = machine(X[kept], signs[kept], C)
    np.testing.assert_allclose(less.coef_, model.coef_, atol=1e-4 * np.abs(model.coef_).max())
    np.testing.assert_allclose(less.intercept_, model.intercept_, atol=1e-3)


def test_a_large_c_is_the_hard_margin():
    X, signs = classes(60, noise=0.0, seed=6)
    hard = mm.HardMargin(tol=1e-9).fit(X, signs)
    soft = machine(X, signs, 1e7, tol=1e-14)
    np.testing.assert_allclose(soft.coef_, hard.coef_, rtol=1e-4)
    np.testing.assert_allclose(soft.margin_, 1 / np.linalg.norm(hard.coef_), rtol=1e-4)
    np.testing.assert_allclose(np.abs(hard.dual_coef_).sum(), hard.coef_[0] @ hard.coef_[0])
    w = hard_margin(X, signs)[0]
    np.testing.assert_allclose(hard.coef_[0], w, rtol=1e-5)
    assert soft.slack_.max() <= 1e-4


def test_a_small_c_is_the_constant_model():
    X, signs = classes(seed=7)
    signs[:60] = 1.0  # more of one class: the constant is its label
    model = machine(X, signs, 1e-9)
    assert np.abs(model.coef_).max() <= 1e-6
    np.testing.assert_allclose(model.intercept_, 1.0, atol=1e-4)
    assert (model.predict(X) == 1).all()
    assert model.margin_ > 1e6


def test_slacks_of_known_margins():
    """Margins 0.8, −1 and 2.5 have slacks 0.2, 2 and 0."""
    offset = np.array([0.8, -1.0, -2.5])
    model = mm.Classifier("hinge", "l2", intercept=False).fit(
        np.zeros((3, 1)), [1, 1, 0], None, offset
    )
    np.testing.assert_allclose(model.slack_, [0.2, 2.0, 0.0])
    assert model.margin_ == np.inf
    points = model.margin_points_
    assert points.inside.tolist() == [True, True, False]
    assert points.beyond.tolist() == [False, False, True]


def test_weights_are_copies():
    X, signs = classes(50, seed=8)
    counts = np.random.default_rng(8).integers(0, 4, 50)
    weighted = machine(X, signs, 0.7, counts)
    copied = machine(np.repeat(X, counts, axis=0), np.repeat(signs, counts), 0.7)
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-6)
    np.testing.assert_allclose(weighted.margin_, copied.margin_, rtol=1e-6)
    left_out = counts == 0
    assert np.isnan(weighted.slack_[left_out]).all()
    assert np.isfinite(weighted.slack_[~left_out]).all()
    assert not np.isin(np.flatnonzero(left_out), weighted.support_).any()
    found = weighted.dual_coef_ @ X[weighted.support_]
    np.testing.assert_allclose(found, weighted.coef_, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(-3, 3), st.booleans())
def test_every_sample_is_in_one_place(seed, log_c, squared):
    X, signs = classes(30, 2, seed=seed)
    loss = "squared_hinge" if squared else "hinge"
    model = mm.Classifier(loss, "l2", alpha=1 / (30 * 10**log_c)).fit(X, signs)
    points = model.margin_points_
    assert (points.on.astype(int) + points.inside + points.beyond == 1).all()
    np.testing.assert_allclose(points.margins, signs * model.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(model.slack_, np.maximum(0, 1 - points.margins))
    assert np.isin(np.flatnonzero(points.inside), model.support_).all()
    if not squared:  # the law of complementary slackness, to the tolerance that is stated
        share = np.zeros(30)
        share[model.support_] = np.abs(model.dual_coef_[0]) / 10**log_c
        assert (share <= points.tolerance)[points.beyond].all()
        assert (1 - share <= points.tolerance)[points.inside].all()
        assert points.beyond.sum() < 5 or (share[points.beyond] == 0).mean() > 0.8
    assert model.certificate_.relative <= 1e-6


def test_sparse_data_have_the_same_support_vectors():
    X, signs = classes(seed=9)
    X[np.abs(X) < 0.7] = 0
    dense, thin = machine(X, signs, 1.0), machine(sparse.csr_matrix(X), signs, 1.0)
    np.testing.assert_array_equal(dense.support_, thin.support_)
    np.testing.assert_allclose(dense.dual_coef_, thin.dual_coef_, atol=1e-4)


def test_several_classes_have_rows():
    X, y = load_iris(return_X_y=True)
    model = mm.Classifier("hinge", "l2", alpha=0.01, tol=1e-10).fit(X, y)
    support = model.support_
    assert model.dual_coef_.shape == (3, support.size)
    assert model.slack_.shape == model.margin_points_.on.shape == (150, 3)
    assert model.margin_.shape == (3,)
    np.testing.assert_allclose(model.dual_coef_ @ X[support], model.coef_, atol=1e-4)
    np.testing.assert_allclose(model.margin_, 1 / np.linalg.norm(model.coef_, axis=1))


def test_regression_has_support_vectors_outside_the_tube():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((80, 2))
    y = X @ [1.0, -2.0] + 0.3 * rng.standard_normal(80)
    model = mm.Regressor(mm.EpsilonInsensitive(0.2), alpha=1 / 80, tol=1e-10).fit(X, y)
    outside = np.abs(model.predict(X) - y) >= 0.2 - 1e-5
    np.testing.assert_array_equal(model.support_, np.flatnonzero(outside))
    np.testing.assert_allclose(model.dual_coef_[0] @ X[model.support_], model.coef_, atol=1e-6)
    peer = SVR(kernel="linear", C=1.0, epsilon=0.2, tol=1e-9).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.sort(peer.support_))


def test_what_there_is_not_is_refused_in_words():
    X, signs = classes()
    with pytest.raises(AttributeError, match="has no support_ before fit"):
        _ = mm.Classifier("hinge").support_
    logistic = mm.Classifier("logistic").fit(X, signs)
    assert logistic.support_.size == len(signs)
    np.testing.assert_allclose(logistic.dual_coef_ @ X, logistic.coef_, atol=1e-4)
    for name in ("margin_", "slack_", "margin_points_"):
        assert not hasattr(logistic, name)
        with pytest.raises(AttributeError, match=f"{name} needs a loss that vanishes"):
            getattr(logistic, name)
    lasso = mm.Classifier("hinge", "l1", alpha=0.01).fit(X, signs)
    assert lasso.support_.size > 0
    with pytest.raises(AttributeError, match="dual_coef_ needs the penalty L2"):
        _ = lasso.dual_coef_
    on_path = mm.path(mm.Classifier("logistic"), X, signs, alphas=3).model(1)
    with pytest.raises(AttributeError, match="call fit, models of a path have none for this loss"):
        _ = on_path.support_


def test_the_attributes_survive_pickling_and_not_cloning():
    X, signs = classes()
    model = machine(X, signs, 1.0)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.support_, model.support_)
    assert "MarginPoints(on: " in repr(again.margin_points_)
    assert not hasattr(clone(model), "support_")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("labels", [2, 3])
def test_models_of_a_path_know_their_support_vectors(loss, labels):
    """The same as those of a fit at that alpha, samples of weight zero included."""
    X, signs = classes()
    y = signs if labels == 2 else np.where(X[:, 1] > 1, 2, signs)
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0)
    estimator = mm.Classifier(loss, "l2", tol=1e-9, class_weight=dict.fromkeys(set(y), 2.0))
    path = mm.path(estimator, X, y, alphas=[0.1, 0.01], sample_weight=weight)
    tuned = mm.Tuned(estimator, alphas=[0.1, 0.01], cv=3).fit(X, y, sample_weight=weight)
    models = [path.model(0), path.model(1), tuned.best_estimator_]
    for model in models:
        alone = clone(estimator).set_params(alpha=model.alpha).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(model.support_, alone.support_)
        size = np.abs(alone.dual_coef_).max()
        np.testing.assert_allclose(model.dual_coef_, alone.dual_coef_, atol=1e-2 * size)
        np.testing.assert_allclose(model.slack_, alone.slack_, atol=1e-3)
        np.testing.assert_allclose(model.margin_, alone.margin_, rtol=1e-3)
        combined = model.dual_coef_ @ X[model.support_]
        np.testing.assert_allclose(combined, model.coef_, atol=1e-3 * np.abs(model.coef_).max())
        assert model.margin_points_.on.shape == model.slack_.shape


def test_a_regressor_of_a_path_knows_its_support_vectors():
    X, _ = classes()
    y = X[:, 0] + 0.3 * np.sin(9 * X[:, 1])
    path = mm.path(mm.Regressor(mm.EpsilonInsensitive(0.2), tol=1e-9), X, y, alphas=[0.1, 0.01])
    for model in (path.model(0), path.model(1)):
        alone = mm.Regressor(mm.EpsilonInsensitive(0.2), alpha=model.alpha, tol=1e-9).fit(X, y)
        np.testing.assert_array_equal(model.support_, alone.support_)
