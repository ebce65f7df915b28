"""alpha=None is 1/Σs: the penalty weighs as much as one sample."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import minimand as mm


def _made(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_default_regressor_is_ridge_of_alpha_1(weighted: bool) -> None:
    X, y = load_diabetes(return_X_y=True)
    s = np.random.default_rng(0).uniform(0.5, 3.0, len(y)) if weighted else None
    ours, theirs = mm.Regressor().fit(X, y, s), Ridge().fit(X, y, s)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    assert ours.alpha_ == pytest.approx(1 / (len(y) if s is None else s.sum()))
    assert ours.alpha is None


def test_the_default_classifier_is_logistic_regression_and_svc_of_c_1() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    theirs = LogisticRegression(tol=1e-9, max_iter=10_000).fit(X, y)
    assert_allclose(mm.Classifier(tol=1e-12).fit(X, y).coef_, theirs.coef_, atol=1e-4)
    theirs = SVC(kernel="linear", tol=1e-8).fit(X, y)
    assert_allclose(mm.Classifier("hinge", tol=1e-10).fit(X, y).coef_, theirs.coef_, atol=1e-3)
    X, y = load_iris(return_X_y=True)
    assert mm.Classifier().fit(X, y).score(X, y) > 0.95


def test_class_weights_are_in_the_sum() -> None:
    X, y = _made()
    model = mm.Classifier(class_weight={False: 1.0, True: 4.0}).fit(X, y > 0)
    assert 1 / model.alpha_ == pytest.approx(len(y) + 3 * (y > 0).sum())
    balanced = mm.Classifier(class_weight="balanced").fit(X, y > 0)
    assert 1 / balanced.alpha_ == pytest.approx(len(y))


def test_weight_k_is_k_copies_and_weight_0_is_absence() -> None:
    X, y = _made(60)
    s = np.random.default_rng(1).integers(0, 4, 60)
    for make in (
        mm.Regressor,
        lambda: mm.Regressor("huber", "l1"),
        lambda: mm.Regressor("poisson"),
    ):
        target = np.abs(y)
        weighted = make().set_params(tol=1e-12).fit(X, target, s)
        copied = clone(weighted).fit(np.repeat(X, s, axis=0), np.repeat(target, s))
        assert weighted.alpha_ == copied.alpha_ == 1 / s.sum()
        assert_allclose(weighted.coef_, copied.coef_, atol=1e-5)


def test_everything_that_speaks_of_the_problem_agrees() -> None:
    X, y = _made(250)
    model = mm.Regressor("squared", "l1").fit(X, y)
    words = "mean squared(z, y) + 0.004·‖w‖₁, z = X w + b"
    assert model.certificate_.objective == words
    assert mm.explain(mm.Regressor("squared", "l1"), X, y).objective == words
    assert mm.certify(model, X, y).objective == words
    assert mm.certify(model, X, y).relative <= 1e-6
    assert mm.duality(model, X, y).certificate.objective == words
    assert mm.certify(model, X[:50], y[:50]).objective == words  # that of its fit
    found = mm.path(mm.Regressor("squared", "l1"), X, y, alphas=[0.004])
    assert_allclose(found.coefs[0], model.coef_, atol=1e-4)
    assert found.model(0).alpha_ == found.model(0).alpha == 0.004
    assert found.certificates[0].objective == words
    tuned = mm.Tuned(mm.Regressor("squared", "l1"), alphas=5).fit(X, y)
    assert tuned.best_estimator_.alpha_ == tuned.alpha_
    hinge = mm.Classifier("hinge").fit(X, y > 0)
    w = hinge.dual_coef_ @ X[hinge.support_]
    assert_allclose(w, hinge.coef_, atol=1e-4)
    assert np.abs(hinge.dual_coef_).max() <= 1 + 1e-9  # C = 1


def test_a_hidden_layer_learns_at_the_default_alpha() -> None:
    X, y = _made(80)
    model = mm.Regressor(features=mm.HiddenLayer(2, random_state=0)).fit(X, y)
    assert model.features_.alpha_ == model.alpha_ == 1 / 80
    assert model.certificate_.kind == mm.certify(model, X, y).kind == "stationary"


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_stream_counts_the_rows_so_far_wherever_it_is_cut(penalty: str) -> None:
    X, y = _made(3000)
    s = np.random.default_rng(2).integers(0, 3, 3000).astype(float)
    models = []
    for size in (400, 1000, 3000):
        starts = range(0, 3000, size)
        batches = [(X[i : i + size], y[i : i + size], s[i : i + size]) for i in starts]
        models.append(mm.fit_stream(mm.Regressor("squared", penalty), batches))
        assert models[-1].alpha_ == 1 / s.sum()
    assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-12)
    assert_allclose(models[0].coef_, models[2].coef_, rtol=1e-12)
    whole = mm.certify(models[0], X, y, s)
    assert whole.objective == mm.certify(models[0], batches=batches).objective
    assert whole.primal == pytest.approx(mm.certify(models[0], batches=batches).primal)
    assert whole.relative < 0.01


def test_a_stream_goes_on_from_the_weight_of_a_fit() -> None:
    X, y = _made(900)
    model = mm.Regressor().fit(X[:400], y[:400]).partial_fit(X[400:], y[400:])
    assert 1 / model.alpha_ == pytest.approx(900)
    given = mm.Regressor(alpha=0.1).partial_fit(X, y)
    assert given.alpha_ == 0.1


def test_weights_of_any_size() -> None:
    X, y = _made(50)
    assert mm.Regressor().fit(X, y, np.full(50, 1e307)).alpha_ == pytest.approx(2e-309)
    with pytest.raises(ValueError, match="alpha=None stands for 1/Σs"):
        mm.Regressor().fit(X, y, np.full(50, 1e-311))
    with pytest.raises(ValueError, match="alpha must be"):
        mm.Regressor(alpha="none").fit(X, y)
