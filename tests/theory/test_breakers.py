"""Attempts to get a false certificate or a crash, each of which once succeeded."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand import sklearn as drop_ins

X = np.random.default_rng(0).standard_normal((50, 3))
Y = X[:, 0] + 5


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs).certificate_


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("mean", [1e4, 1e8, 1.7e12])
def test_an_unpenalised_column_far_from_zero(loss, mean):
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal(2000) * 16)[:, None] / 16  # exact after the shift
    y = 0.1 * x[:, 0] + rng.standard_normal(2000)
    optimum = quietly(mm.Regressor(loss, "no_penalty"), x, y).primal
    found = quietly(mm.Regressor(loss, "no_penalty"), mean + x, y)
    assert found.dual <= optimum + 1e-9 + found.rounding
    assert found.primal <= optimum + 1e-3


def test_an_intercept_where_none_was_fitted_is_refused():
    model = mm.Regressor(intercept=False, alpha=0.1).fit(X, Y)
    model.intercept_ = 20.0
    with pytest.raises(ValueError, match="intercept_=20"):
        mm.certify(model, X, Y)


def test_coefficients_of_another_shape_are_refused():
    model = mm.Regressor(alpha=0.1).fit(X, Y)
    model.coef_ = np.ones((2, 3))
    with pytest.raises(ValueError, match="coef_ has shape"):
        mm.certify(model, X, Y)


def test_huge_weights_are_only_weights():
    plain = mm.Regressor("squared", "l2", alpha=0.1).fit(X, Y)
    huge = mm.Regressor("squared", "l2", alpha=0.1).fit(X, Y, sample_weight=np.full(50, 1e308))
    np.testing.assert_allclose(plain.coef_, huge.coef_, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e155, 1e200])
def test_columns_whose_squares_overflow_are_columns(factor):
    found = quietly(mm.Regressor("squared", "no_penalty"), X * factor, X[:, 0])
    assert found.dual <= 0.0 <= found.primal <= 1e-20


def test_tiny_free_columns_are_columns():
    labels = X[:, 0] + np.random.default_rng(1).standard_normal(50) > 0
    optimum = quietly(mm.Classifier("logistic", "no_penalty"), X, labels).primal
    found = quietly(mm.Classifier("logistic", "no_penalty"), X * 1e-300, labels)
    assert found.dual <= optimum + 1e-9
    assert found.primal <= optimum + 1e-6


def test_the_dual_of_a_runaway_model_is_a_lower_bound():
    y = np.exp(X[:, 0])
    model = mm.Regressor("poisson", "l1", alpha=0.1).fit(X, y)
    optimum = model.certificate_.primal
    for size in (200.0, 400.0):
        model.coef_ = np.array([size, 0.0, 0.0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert mm.certify(model, X, y).dual <= optimum


def test_a_start_that_all_but_overflows_proves_nothing():
    model = mm.Regressor("poisson", "no_penalty", intercept=False)
    y = np.arange(1.0, 6.0)
    found = quietly(model, np.ones((5, 1)), y, offset=np.full(5, 400.0))
    optimum = float(mm.Poisson().value(np.full(5, np.log(3.0)), y).mean())
    assert found.dual <= optimum


def test_rounding_that_drowns_the_problem_warns():
    with pytest.warns(ConvergenceWarning):
        mm.Regressor("squared", "l1", alpha=0.1).fit(X, X[:, 0], offset=np.full(50, 1e16))


@pytest.mark.parametrize("index", [-1, 99])
def test_malformed_sparse_indices_are_refused(index):
    broken = sparse.csr_array(X)
    broken.indices[3] = index
    with pytest.raises(ValueError, match="malformed CSR"):
        mm.Regressor("squared", "l1", alpha=0.1).fit(broken, Y)


def test_malformed_sparse_pointers_are_refused():
    broken = sparse.csc_array(X)
    broken.indptr[2] = 1000
    with pytest.raises(ValueError, match="malformed CSC"):
        mm.Regressor("squared", "l1", alpha=0.1).fit(broken, Y)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "Lasso", "LogisticRegression"])
def test_data_whose_squares_overflow_are_refused_in_words(name, kind):
    y = Y + np.random.default_rng(1).standard_normal(50)
    y = y > 5 if name == "LogisticRegression" else y
    for factor in (1e155, 1e300):
        with pytest.raises(ValueError, match="numbers overflow on these data: rescale X"):
            getattr(drop_ins, name)().fit(kind(X * factor), y)
