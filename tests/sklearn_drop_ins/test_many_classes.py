"""LogisticRegression, its CV form and LinearSVC with more than two classes in one problem."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn import linear_model
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale

import minimand as mm
from minimand.sklearn import LogisticRegression, LogisticRegressionCV

X, Y = load_wine(return_X_y=True)
X, Y = scale(X)[::2], Y[::2]
NAMES = np.array(["barolo", "grignolino", "barbera"])
LABELS = NAMES[Y]
RNG = np.random.default_rng(3)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_optimum_is_that_of_scikit_learn(ratio, intercept):
    ours = LogisticRegression(C=0.3, l1_ratio=ratio, fit_intercept=intercept, tol=1e-9)
    ours.fit(X, LABELS)
    peer = linear_model.LogisticRegression(
        C=0.3, l1_ratio=ratio, fit_intercept=intercept, solver="saga", tol=1e-6, max_iter=5000
    ).fit(X, LABELS)
    assert ours.coef_.shape == (3, 13)
    assert ours.intercept_.shape == (3,)
    assert ours.n_iter_.shape == (1,)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=2e-3)
    assert mm.certify(peer, X, LABELS).primal >= ours.certificate_.dual - 1e-12
    assert ours.certificate_.relative <= 1e-9


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_names_of_solvers_have_no_effect(solver):
    plain = LogisticRegression().fit(X, LABELS)
    other = LogisticRegression(solver=solver).fit(X, LABELS)
    np.testing.assert_array_equal(plain.coef_, other.coef_)


def test_liblinear_is_refused_in_scikit_learns_words():
    with pytest.raises(ValueError, match="'liblinear' solver does not support multiclass"):
        LogisticRegression(solver="liblinear").fit(X, LABELS)
    assert not LogisticRegression(solver="liblinear").__sklearn_tags__().classifier_tags.multi_class
    assert LogisticRegression().__sklearn_tags__().classifier_tags.multi_class


def test_probabilities_are_the_softmax_and_agree_with_predictions():
    model = LogisticRegression().fit(X, LABELS)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p, softmax(model.decision_function(X), axis=1))
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X))
    shares = [np.mean(label == LABELS) for label in model.classes_]
    np.testing.assert_allclose(p.mean(axis=0), shares, atol=1e-5)  # the intercepts are free


def test_weights_are_repetitions():
    counts = RNG.integers(0, 4, len(X))
    weighted = LogisticRegression(tol=1e-12).fit(X, LABELS, counts)
    repeated = LogisticRegression(tol=1e-12).fit(X.repeat(counts, 0), LABELS.repeat(counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-5)


@pytest.mark.parametrize("by_class", ["balanced", {"barolo": 3.0, "barbera": 0.2}])
def test_class_weights_are_sample_weights(by_class):
    model = LogisticRegression(class_weight=by_class, tol=1e-12).fit(X, LABELS)
    if by_class == "balanced":
        by_class = {name: len(Y) / (3 * np.sum(name == LABELS)) for name in NAMES}
    weights = np.array([by_class.get(label, 1.0) for label in LABELS])
    same = LogisticRegression(tol=1e-12).fit(X, LABELS, weights)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-6)


def test_names_of_classes_permute_the_rows():
    model = LogisticRegression(tol=1e-12).fit(X, Y)
    order = np.array([2, 0, 1])
    other = LogisticRegression(tol=1e-12).fit(X, order[Y])
    np.testing.assert_allclose(other.coef_[order], model.coef_, atol=1e-6)
    np.testing.assert_allclose(other.intercept_[order], model.intercept_, atol=1e-6)


def test_precision_layout_and_a_warm_start():
    model = LogisticRegression().fit(X, LABELS)
    single = LogisticRegression().fit(X.astype(np.float32), LABELS)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, model.coef_, atol=1e-3)
    spread = LogisticRegression().fit(sparse.csr_array(X), LABELS)
    np.testing.assert_allclose(spread.coef_, model.coef_, atol=1e-3)
    warm = LogisticRegression(warm_start=True).fit(X, LABELS)
    assert warm.fit(X, LABELS).certificate_.passes < model.certificate_.passes


def test_a_fit_that_is_stopped_has_its_true_gap():
    optimum = LogisticRegression(C=100.0, tol=1e-10).fit(X, LABELS).certificate_.primal
    for limit in (0, 1):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = LogisticRegression(C=100.0, max_iter=limit).fit(X, LABELS)
        assert model.certificate_.gap >= model.certificate_.primal - optimum
        loss = log_loss(LABELS, model.predict_proba(X))
        value = loss + 0.5 * (model.coef_**2).sum() / (100.0 * len(X))
        assert model.certificate_.primal == pytest.approx(value)


def test_a_class_of_one_sample_and_a_class_without_weight():
    y = np.array(["many", "few"])[Y % 2].astype(object)
    y[0] = "one"
    model = LogisticRegression().fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert list(model.classes_) == ["few", "many", "one"]
    weights = np.where(y == "one", 0.0, 1.0)
    absent = LogisticRegression().fit(X, y, weights)
    assert list(absent.classes_) == ["few", "many", "one"]
    assert absent.predict_proba(X)[:, 2].max() < 1e-15
    assert not absent.coef_[2].any()
    assert absent.certificate_.relative <= 1e-6
    assert mm.certify(absent, X, y, weights).primal == pytest.approx(absent.certificate_.primal)
    # The other two have the model of two classes, in which w₁ = −w₀: twice the penalty.
    two = LogisticRegression(C=2.0, tol=1e-10).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(2 * absent.coef_[1], two.coef_[0], atol=1e-3)
    # Without an intercept there is a minimiser.
    free = LogisticRegression(fit_intercept=False).fit(X, y, weights)
    assert free.certificate_.relative <= 1e-6
    assert free.coef_[2].any()


@pytest.mark.parametrize("ratios", [(0.0,), (0.0, 0.7)])
@pytest.mark.parametrize(("legacy", "refit"), [(True, True), (False, True), (False, False)])
def test_shapes_with_cross_validation(legacy, ratios, refit):
    settings = {"Cs": [0.1, 0.5], "l1_ratios": np.array(ratios), "cv": 3, "refit": refit}
    settings |= {"scoring": "neg_log_loss", "use_legacy_attributes": legacy, "solver": "saga"}
    ours = LogisticRegressionCV(**settings).fit(X, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        how = {"tol": 1e-7, "max_iter": 2000, "random_state": 0}
        peer = linear_model.LogisticRegressionCV(**settings, **how).fit(X, LABELS)
    for name in ("coef_", "intercept_", "C_", "l1_ratio_", "n_iter_", "Cs_", "l1_ratios_"):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(peer, name)), name
    assert np.all(ours.C_ == peer.C_)
    for name in ("coefs_paths_", "scores_"):
        mine, other = getattr(ours, name), getattr(peer, name)
        if legacy:
            assert list(mine) == list(other) == sorted(NAMES)
            mine, other = np.array(list(mine.values())), np.array(list(other.values()))
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, atol=1e-2)
    assert not refit or ours.certificate_.relative <= 1e-6
    np.testing.assert_allclose(mm.certify(ours, X, LABELS).primal, ours.certificate_.primal)


def test_folds_may_lack_a_class():
    iris, y = load_iris(return_X_y=True)
    rows = np.arange(150)
    folds = [(rows[y != label], rows[y == label]) for label in (2, 0)]
    model = LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=folds, scoring="neg_log_loss", l1_ratios=(0.0,)
    ).set_params(use_legacy_attributes=False)
    model.fit(iris, y)
    assert np.isfinite(model.scores_).all()
    assert np.isfinite(model.coefs_paths_).all()
    assert (model.scores_ < -5).all()  # a class that was never seen has hardly any probability
    assert model.certificate_.relative <= 1e-6
