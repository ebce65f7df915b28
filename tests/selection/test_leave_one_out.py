"""The formula of leave-one-out is what n fits give."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import LeaveOneOut
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import minimand as mm
from minimand.selection import leave_one_out

ALPHAS = np.array([10.0, 0.1, 1e-4])
RNG = np.random.default_rng(3)


def data(n, d):
    X = RNG.standard_normal((n, d)) + 1.0
    return X, X[:, 0] + RNG.standard_normal(n) + 3.0


def refitted(estimator, X, y, alphas, weight=None, offset=None):
    """(n_alphas, n) residuals; NaN for samples of weight zero."""
    left = np.full((len(alphas), len(y)), np.nan)
    weight = np.ones(len(y)) if weight is None else weight
    for i in np.flatnonzero(weight):
        rest = weight.copy()
        rest[i] = 0.0
        for a, alpha in enumerate(alphas):
            model = estimator.set_params(alpha=alpha).fit(X, y, rest, offset)
            shift = None if offset is None else offset[i : i + 1]
            left[a, i] = y[i] - model.predict(X[i : i + 1], shift)[0]
    return left


@pytest.mark.parametrize(("n", "d"), [(9, 20), (24, 4), (12, 11)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_formula_is_refitting(n, d, intercept, weighted):
    X, y = data(n, d)
    weight = np.resize([1.0, 2.0, 0.0, 1.0, 0.5], n) if weighted else None
    offset = RNG.standard_normal(n) if weighted else None
    penalty = mm.L2(weights=RNG.uniform(0.5, 2.0, d))
    estimator = mm.Regressor("squared", penalty, intercept=intercept, tol=1e-13)
    tuned = mm.Tuned(estimator, alphas=ALPHAS, cv="loo").fit(X, y, weight, offset)
    left = refitted(estimator, X, y, ALPHAS, weight, offset)
    kept = np.isfinite(left[0])
    share = np.ones(n) if weight is None else weight
    mean = np.average(0.5 * left[:, kept] ** 2, axis=1, weights=share[kept])
    np.testing.assert_allclose(-tuned.cv_results_["mean_test_score"], mean, rtol=1e-7)
    assert "split0_test_score" not in tuned.cv_results_


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_formula_agrees_with_folds_of_one(make):
    X, y = data(20, 5)
    weight = np.resize([1.0, 2.0, 0.0, 3.0], 20)
    ridge = mm.Regressor("squared", "l2", tol=1e-12)
    exact = mm.Tuned(ridge, alphas=ALPHAS, cv=LeaveOneOut()).fit(make(X), y, weight)
    folds = mm.Tuned(ridge, alphas=ALPHAS, cv="loo", scoring="neg_mean_squared_error")
    folds.fit(make(X), y, weight)
    for column in ("mean_test_score", "std_test_score", "sem_test_score"):
        np.testing.assert_allclose(
            2 * exact.cv_results_[column], folds.cv_results_[column], rtol=1e-8
        )
    assert exact.alpha_ == folds.alpha_


def test_a_sample_that_rules_its_own_prediction():
    """One row alone has a column: its leverage tends to 1 as alpha vanishes."""
    X, y = data(40, 4)
    X[:, 3] = 0.0
    X[7] = [0.0, 0.0, 0.0, 5.0]
    alphas = np.array([1e-3, 1e-9, 1e-13])
    ridge = mm.Regressor("squared", "l2", tol=1e-14)
    tuned = mm.Tuned(ridge, alphas=alphas, cv="loo").fit(X, y)
    without = np.delete(np.arange(40), 7)
    # Without the row its column is empty, so its prediction is the intercept.
    intercept = ridge.set_params(alpha=1e-13).fit(X[without], y[without]).intercept_
    rest = mm.Tuned(ridge, alphas=alphas, cv=[(without, [7])]).fit(X, y)
    loss = -rest.cv_results_["split0_test_score"][-1]
    assert loss == pytest.approx(0.5 * (y[7] - intercept) ** 2)
    left = refitted(ridge, X, y, alphas)
    mean = (0.5 * left**2).mean(axis=1)
    np.testing.assert_allclose(-tuned.cv_results_["mean_test_score"], mean, rtol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(15, 40), (40, 15)])
def test_scikit_learn_finds_the_same_alpha(n, d):
    """Its alpha is ours times the samples that are left: it sums what we average."""
    X, y = data(n, d)
    alphas = np.geomspace(1e-3, 1e2, 30)
    theirs = RidgeCV(alphas=alphas * (n - 1)).fit(X, y)
    ours = mm.Tuned(mm.Regressor("squared", "l2"), alphas=alphas, cv="loo").fit(X, y)
    assert ours.alpha_ * (n - 1) == pytest.approx(theirs.alpha_)
    assert 2 * ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-8)


def test_the_formula_is_used_only_where_it_holds():
    X, y = data(8, 3)
    exact = mm.Tuned(mm.Regressor("squared", "l2"), alphas=ALPHAS, cv="loo").fit(X, y)
    assert "max_relative_gap" not in exact.cv_results_
    for estimator in (
        mm.Regressor("squared", "l1"),
        mm.Regressor("huber", "l2"),
        mm.Regressor("squared", mm.L2(weights=[0.0, 1.0, 1.0])),
    ):
        fitted = mm.Tuned(estimator, alphas=ALPHAS, cv="loo").fit(X, y)
        assert fitted.cv_results_["max_relative_gap"].max() <= 1e-6
        assert "split7_test_score" in fitted.cv_results_
    assert leave_one_out.__doc__.startswith("Leave-one-out")


@pytest.mark.parametrize(("n", "d"), [(12, 20), (30, 4)])
def test_several_outputs_share_the_formula(n, d):
    X, y = data(n, d)
    Y = np.column_stack([y, RNG.standard_normal(n), X[:, 1]])
    weight = np.resize([1.0, 2.0, 0.0, 1.0], n)
    ridge = mm.Regressor("squared", "l2", tol=1e-12)
    tuned = mm.Tuned(ridge, alphas=ALPHAS, cv="loo").fit(X, Y, weight)
    assert "split0_test_score" not in tuned.cv_results_  # no fold was fitted
    alone = [mm.Tuned(ridge, alphas=ALPHAS, cv="loo").fit(X, t, weight) for t in Y.T]
    expected = sum(each.cv_results_["mean_test_score"] for each in alone)
    np.testing.assert_allclose(tuned.cv_results_["mean_test_score"], expected, rtol=1e-10)
    folds = mm.Tuned(ridge, alphas=ALPHAS, cv="loo", scoring="neg_mean_squared_error")
    folds.fit(X, Y, weight)  # the mean over outputs
    found = 1.5 * folds.cv_results_["mean_test_score"]
    np.testing.assert_allclose(tuned.cv_results_["mean_test_score"], found, rtol=1e-6)


def test_maps_that_learn_nothing_of_the_rows_need_no_refits():
    X, y = data(25, 3)
    for features, exact in (
        (mm.Monomials(2), True),
        (PolynomialFeatures(2, include_bias=False), True),
        (mm.Centers(mu=X[:4]), True),
        (StandardScaler(), False),
    ):
        ridge = mm.Regressor("squared", "l2", features=features, tol=1e-12)
        tuned = mm.Tuned(ridge, alphas=ALPHAS[:2], cv="loo").fit(X, y)
        assert ("split0_test_score" not in tuned.cv_results_) == exact
        folds = mm.Tuned(ridge, alphas=ALPHAS[:2], cv="loo", scoring="neg_mean_squared_error")
        found = 0.5 * folds.fit(X, y).cv_results_["mean_test_score"]
        np.testing.assert_allclose(tuned.cv_results_["mean_test_score"], found, rtol=1e-6)
