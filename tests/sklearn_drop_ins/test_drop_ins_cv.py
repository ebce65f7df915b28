"""Drop-ins that choose their own strength choose as scikit-learn does, and prove their model."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as theirs

import minimand as mm
from minimand import sklearn as ours

RNG = np.random.default_rng(3)
TALL, WIDE = RNG.standard_normal((40, 5)) + 0.5, RNG.standard_normal((14, 30))
S = RNG.uniform(0.2, 3.0, 40)
LABELS = np.where(TALL[:, 0] + RNG.standard_normal(40) > 0.5, "yes", "no")
ALPHAS = np.geomspace(1e-2, 1e2, 5)


def targets(X):
    rng = np.random.default_rng(5)
    return X[:, :3] @ rng.standard_normal((3, 2)) + rng.standard_normal((len(X), 2))


@pytest.mark.parametrize("scoring", [None, "r2"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("many", [None, False, True], ids=["one", "shared", "per_target"])
def test_ridge_leaves_one_out_as_scikit_learn_does(X, many, fit_intercept, weighted, scoring):
    y = targets(X)[:, 0] if many is None else targets(X)
    weights = S[: len(X)] if weighted else None
    options = {"alphas": ALPHAS, "fit_intercept": fit_intercept, "scoring": scoring}
    options |= {"store_cv_results": True, "alpha_per_target": bool(many)}
    peer = theirs.RidgeCV(**options).fit(X, y, sample_weight=weights)
    data = X if weighted else sparse.csr_array(X)
    model = ours.RidgeCV(**options).fit(data, y, sample_weight=weights)
    for name in ("alpha_", "best_score_", "coef_", "intercept_", "cv_results_"):
        mine, other = getattr(model, name), getattr(peer, name)
        assert np.shape(mine) == np.shape(other), name
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9, err_msg=name)
    assert model.certificate_.relative < 1e-10
    assert mm.certify(peer, X, y, sample_weight=weights).relative < 1e-10


def test_ridge_by_leaving_out_is_ridge_by_refitting():
    y = targets(TALL)[:, 0]
    model = ours.RidgeCV(ALPHAS, store_cv_results=True).fit(TALL, y, sample_weight=S)
    for i in (0, 17):
        rest = np.delete(np.arange(len(y)), i)
        for k, alpha in enumerate(ALPHAS):
            without = ours.Ridge(alpha).fit(TALL[rest], y[rest], sample_weight=S[rest])
            error = S[i] * (without.predict(TALL[[i]])[0] - y[i]) ** 2
            assert model.cv_results_[i, k] == pytest.approx(error, rel=1e-8)


def test_a_sample_of_weight_zero_is_always_left_out():
    y, weights = targets(TALL)[:, 0], S.copy()
    weights[:3] = 0.0
    how = {"alphas": ALPHAS, "scoring": "r2", "store_cv_results": True}
    model = ours.RidgeCV(**how).fit(TALL, y, sample_weight=weights)
    rest = ours.RidgeCV(**how).fit(TALL[3:], y[3:], sample_weight=weights[3:])
    np.testing.assert_allclose(model.cv_results_[3:], rest.cv_results_)
    for k, alpha in enumerate(ALPHAS):
        fitted = ours.Ridge(alpha).fit(TALL[3:], y[3:], sample_weight=weights[3:])
        np.testing.assert_allclose(model.cv_results_[:3, k], fitted.predict(TALL[:3]))


def test_ridge_over_folds_is_a_grid_search():
    y = targets(TALL)
    options = {"alphas": [0.0, 1.0, 30.0], "cv": 4}
    peer, model = theirs.RidgeCV(**options), ours.RidgeCV(**options)
    peer.fit(TALL, y, sample_weight=S)
    model.fit(TALL, y, sample_weight=S)
    assert model.alpha_ == peer.alpha_
    assert model.best_score_ == pytest.approx(peer.best_score_)
    np.testing.assert_allclose(model.coef_, peer.coef_)
    for name in ("store_cv_results", "alpha_per_target"):
        with pytest.raises(ValueError, match=f"{name}=True are incompatible"):
            ours.RidgeCV(cv=3, **{name: True}).fit(TALL, y)
    with pytest.raises(ValueError, match=r"alphas\[0\] == 0"):
        ours.RidgeCV([0.0, 1.0]).fit(TALL, y)
    with pytest.raises(ValueError, match="one sample"):
        ours.RidgeCV().fit(TALL[:1], y[:1])


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize(
    ("ratios", "solver", "more"),
    [
        (None, "newton-cholesky", {"class_weight": "balanced"}),
        ((0.0,), "lbfgs", {"fit_intercept": False}),
        (np.array([0.5, 1.0]), "saga", {}),
        ((1.0,), "liblinear", {"class_weight": {"yes": 2.0, "no": 1.0}}),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_logistic_regression_over_folds(ratios, solver, more, refit, legacy):
    # saga stops early where the l1 penalty empties the model: its objective is then the worse one.
    options = {"Cs": [0.3, 0.5, 1.0], "l1_ratios": ratios, "solver": solver, "cv": 3, **more}
    options |= {"scoring": "neg_log_loss", "refit": refit, "use_legacy_attributes": legacy}
    peer = theirs.LogisticRegressionCV(**options, tol=1e-12, max_iter=20_000, random_state=0)
    peer.fit(TALL, LABELS, sample_weight=S)
    model = ours.LogisticRegressionCV(**options, tol=1e-10).fit(TALL, LABELS, sample_weight=S)
    for name in ("C_", "Cs_", "l1_ratio_", "l1_ratios_", "scores_", "coefs_paths_", "n_iter_"):
        mine, other = getattr(model, name), getattr(peer, name)
        if isinstance(other, dict):
            assert list(mine) == list(other)
            mine, other = mine["yes"], other["yes"]
        assert np.shape(mine) == np.shape(other), name
        if name == "l1_ratio_" and solver == "liblinear" and not refit:
            other = 1.0  # scikit-learn's is 0.0 wherever there is one ratio
        if name != "n_iter_" and np.asarray(other).dtype != object:
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3, err_msg=name)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-3)
    own = mm.certify(model, TALL, LABELS, sample_weight=S)
    assert own.primal == pytest.approx(model.certificate_.primal)
    if refit:
        assert model.certificate_.relative <= 1e-10
        assert mm.certify(peer, TALL, LABELS, sample_weight=S, against=model).relative < 1e-6


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_logistic_regression_over_folds_refuses():
    with pytest.raises(ValueError, match="liblinear"):
        ours.LogisticRegressionCV(solver="liblinear").fit(TALL, np.arange(40) % 3)
    half = np.arange(40) < 20
    with pytest.raises(ValueError, match="one class to train on"):
        ours.LogisticRegressionCV(cv=[(half, ~half)]).fit(TALL, half)
    with pytest.raises(ValueError, match="Cs must be positive"):
        ours.LogisticRegressionCV(Cs=[1.0, -1.0]).fit(TALL, LABELS)
    with pytest.raises(ValueError, match="between 0 and 1"):
        ours.LogisticRegressionCV(l1_ratios=[0.5, 2.0]).fit(TALL, LABELS)


def test_information_criteria_need_the_noise():
    with pytest.raises(ValueError, match="noise variance"):
        ours.LassoLarsIC().fit(WIDE, targets(WIDE)[:, 0])
    model = ours.LassoLarsIC(noise_variance=1.0).fit(WIDE, targets(WIDE)[:, 0])
    assert model.noise_variance_ == 1.0
    assert model.alphas_[-1] == 0  # the last knot, as scikit-learn has it up to rounding


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_ridge_cv_of_wide_data_ends_with_the_ridge_of_its_alpha(weighted, intercept):
    rng = np.random.default_rng(3)
    wide, target = rng.standard_normal((30, 80)) + 2.0, rng.standard_normal(30)
    weights = rng.uniform(0.5, 2.0, 30) if weighted else None
    found = ours.RidgeCV([0.3, 5.0, 80.0], fit_intercept=intercept).fit(wide, target, weights)
    ridge = ours.Ridge(found.alpha_, fit_intercept=intercept, tol=1e-12).fit(wide, target, weights)
    np.testing.assert_allclose(found.coef_, ridge.coef_, atol=1e-10)
    np.testing.assert_allclose(found.intercept_, ridge.intercept_, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", [TALL, sparse.csr_array(TALL)], ids=["dense", "csr"])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_logistic_folds_are_scored_by_the_accuracy(scoring, data, weighted):
    def accuracy(model, X, y, sample_weight=None):
        return np.average(model.predict(X) == y, weights=sample_weight)

    options = {"Cs": 4, "cv": 3, "use_legacy_attributes": False}
    weights = S if weighted else None
    found = ours.LogisticRegressionCV(scoring=scoring, **options).fit(data, LABELS, weights)
    by_hand = ours.LogisticRegressionCV(scoring=accuracy, **options).fit(data, LABELS, weights)
    np.testing.assert_allclose(found.scores_, by_hand.scores_, rtol=1e-14)
    assert found.C_ == by_hand.C_
