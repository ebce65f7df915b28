"""Complaints about other libraries that must not come true here (scikit-learn issue numbers)."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning

import minimand as mm


def fit(model, *args, **kwargs):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(*args, **kwargs)
    return model, [w for w in seen if issubclass(w.category, ConvergenceWarning)]


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("alpha", [10.0, 0.1, 1e-3])
def test_13394_a_gap_below_tol_never_warns(alpha, tol):
    X, y = load_diabetes(return_X_y=True)
    for penalty in ("l1", mm.L1() + mm.L2()):
        model, seen = fit(mm.Regressor("squared", penalty, alpha=alpha, tol=tol), X, y)
        assert model.certificate_.relative <= tol or (
            model.certificate_.gap <= model.certificate_.rounding
        )
        assert not seen


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_gap_above_tol_always_warns(penalty, tol):
    X, y = load_breast_cancer(return_X_y=True)
    model = mm.Classifier("logistic", penalty, alpha=1e-3, tol=tol, max_iter=1)
    model, seen = fit(model, X, y)
    assert len(seen) == (model.certificate_.relative > tol)
    if not seen:  # one round over all 30 columns may be enough for the lasso
        assert penalty == "l1"
        return
    message = str(seen[0].message)
    assert "max_iter=1" in message
    assert f"{model.certificate_.relative:.1e}" in message
    assert "passes" in message


def test_15556_18264_unscaled_columns_converge_and_no_seed_matters():
    X, y = load_breast_cancer(return_X_y=True)  # columns from 1e-3 to 1e3
    first = None
    for seed in (0, 1, 2):
        for penalty in ("l1", "l2"):
            model, seen = fit(
                mm.Classifier("logistic", penalty, alpha=1e-3, random_state=seed), X, y
            )
            assert not seen
            assert model.certificate_.relative <= 1e-6
            if penalty == "l1":
                first = model.coef_ if first is None else first
                np.testing.assert_array_equal(model.coef_, first)


def test_unscaled_columns_in_other_units_are_the_same_problem():
    X, y = load_breast_cancer(return_X_y=True)
    scale = X.std(axis=0)
    raw, one = fit(mm.Classifier("logistic", mm.L1(scale), alpha=0.01, tol=1e-9), X, y)
    std, two = fit(mm.Classifier("logistic", "l1", alpha=0.01, tol=1e-9), X / scale, y)
    assert not one
    assert not two
    assert raw.certificate_.primal == pytest.approx(std.certificate_.primal, rel=1e-7)


def test_18074_tol_is_obeyed():
    """A smaller tol gives a smaller gap, in every solver, and the gap is what tol says."""
    X, y = load_breast_cancer(return_X_y=True)
    for penalty, solver in (("l2", "newton"), ("l1", "working_set"), ("l2", "working_set")):
        for tol in (1e-1, 1e-4, 1e-7, 1e-10):
            model, seen = fit(
                mm.Classifier("logistic", penalty, alpha=1e-2, tol=tol, solver=solver), X, y
            )
            assert not seen
            assert model.certificate_.relative <= tol


def test_34029_no_false_warning_and_a_sane_n_iter():
    X, y = load_diabetes(return_X_y=True)
    for loss, target in (("squared", y), ("huber", y), ("poisson", y)):
        for penalty in ("l1", "l2", "no_penalty"):
            model, seen = fit(mm.Regressor(loss, penalty, alpha=0.1), X, target)
            assert not seen, (loss, penalty, model.certificate_)
            assert isinstance(model.n_iter_, int | np.integer)
            assert 1 <= model.n_iter_ <= 100
            assert model.n_iter_ == max(1, model.certificate_.iterations)
            assert np.isfinite(model.certificate_.passes)


@pytest.mark.parametrize("penalty", ["l1", "l2", "no_penalty"])
def test_16298_21700_sample_weights_are_multiplicities(penalty):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:80], y[:80]
    k = np.random.default_rng(0).integers(0, 4, 80)
    for intercept in (True, False):
        model = mm.Regressor("squared", penalty, alpha=0.05, intercept=intercept, tol=1e-11)
        one, _ = fit(clone(model), X, y, sample_weight=k)
        two, _ = fit(clone(model), np.repeat(X, k, axis=0), np.repeat(y, k))
        three, _ = fit(clone(model), X[k > 0], y[k > 0], sample_weight=1e-3 * k[k > 0])
        for other in (two, three):
            np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-3, atol=1e-2)
            assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-8)


def test_refitting_is_deterministic():
    X, y = load_breast_cancer(return_X_y=True)
    for penalty in ("l1", "l2"):
        a = mm.Classifier("logistic", penalty, alpha=1e-3).fit(X, y)
        b = mm.Classifier("logistic", penalty, alpha=1e-3).fit(X, y)
        np.testing.assert_array_equal(a.coef_, b.coef_)
        assert a.certificate_.gap == b.certificate_.gap
