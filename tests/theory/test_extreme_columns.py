"""Columns of sizes from 1e-30 to 1e30: every fit is certified, as are those in other units."""

import warnings

import numpy as np
import pytest

import minimand as mm

LOSSES = ["squared", "huber", "absolute", "quantile", "logistic", "hinge", "squared_hinge"]
LABELS = {"logistic", "hinge", "squared_hinge"}
PENALTIES = ["l1", "l2", mm.L1Ball(0.5), mm.L2Ball(0.5)]
HUGE = 2.0**100


def data(loss, seed, n=40, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    return X, np.where(y > 0, 1.0, -1.0) if loss in LABELS else y


def fitted(loss, penalty, X, y, **options):
    """The fit; a warning is an error."""
    kind = mm.Classifier if loss in LABELS else mm.Regressor
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kind(loss, penalty, **{"alpha": 0.05, **options}).fit(X, y)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_huge_column_is_certified(loss, penalty):
    X, y = data(loss, seed=len(loss))
    X[:, 1] *= HUGE
    model = fitted(loss, penalty, X, y)
    assert model.certificate_.relative <= 1e-6
    audit = mm.certify(model, X, y)
    assert audit.gap <= 1.01 * model.certificate_.gap + audit.rounding


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1e9, 1e16])
@pytest.mark.parametrize("loss", ["squared", "absolute", "logistic"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_any_size_is_certified(loss, penalty, size):
    X, y = data(loss, seed=3)
    X[:, 2] *= size
    assert fitted(loss, penalty, X, y, intercept=False).certificate_.relative <= 1e-6


@pytest.mark.parametrize("loss", ["squared", "absolute", "logistic"])
def test_the_bound_is_below_what_the_problem_without_that_penalty_attains(loss):
    """Freeing the huge column changes P by less than rounding, so both bounds hold for both."""
    X, y = data(loss, seed=5)
    plain = fitted(loss, mm.L1(weights=[1, 0, 1, 1]), X, y, tol=1e-9).certificate_
    X[:, 1] *= HUGE
    huge = fitted(loss, "l1", X, y, tol=1e-9).certificate_
    noise = 1e-12 * plain.primal
    assert huge.dual <= plain.primal + noise
    assert plain.dual <= huge.primal + noise


def test_sparse_columns_get_units_too():
    from scipy import sparse

    X, y = data("logistic", seed=7)
    X[np.abs(X) < 0.5] = 0.0
    X[:, 0] *= HUGE
    dense, thin = (fitted("logistic", "l1", x, y) for x in (X, sparse.csr_array(X)))
    assert thin.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-6)


@pytest.mark.parametrize("loss", ["absolute", "quantile", "hinge", "epsilon_insensitive"])
def test_kinks_with_columns_of_different_scales(loss):
    X, y = data(loss, seed=1, d=3)
    X *= np.array([3.0, 0.0, 1e8])
    if loss == "hinge":
        y = np.sign(y)
    for alpha in (1e-3, 0.1):
        assert fitted(loss, "l2", X, y, alpha=alpha).certificate_.relative <= 1e-6


def test_a_penalty_that_only_looks_negligible_is_taken_again():
    """Columns of mean 1e6 are faint by their size, but their differences are not."""
    rng = np.random.default_rng(0)
    X = 1e6 + rng.normal(size=(200, 4))
    y = np.sign((X - 1e6).sum(axis=1) + rng.normal(size=200))
    model = fitted("logistic", "l2", X, y, alpha=1e-3, intercept=False)
    assert model.certificate_.relative <= 1e-6


def test_solvers_by_name_get_units():
    X, y = data("squared", seed=2)
    X[:, 1] *= 1e12
    for solver in ("newton", "working_set", "closed_form"):
        assert fitted("squared", "l2", X, y, solver=solver).certificate_.relative <= 1e-6
