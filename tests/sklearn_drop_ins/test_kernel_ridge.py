"""KernelRidge as a drop-in, and leave-one-out of kernel ridge regression."""

import numpy as np
import pytest
from sklearn import kernel_ridge
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
from minimand.sklearn import KernelRidge

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 3)), RNG.normal(size=(50, 2))
WEIGHT = RNG.integers(0, 3, size=50).astype(float)


@parametrize_with_checks([KernelRidge()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": "rbf", "gamma": 0.3}, {"kernel": "poly", "degree": 2}, {"alpha": [0.1, 3.0]}],
    ids=str,
)
def test_models_are_scikit_learns_and_certified(options, weight):
    model = KernelRidge(**options).fit(X, Y, weight)
    peer = kernel_ridge.KernelRidge(**options).fit(X, Y, weight)
    np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_)
    np.testing.assert_allclose(model.predict(X), peer.predict(X))
    assert model.certificate_.relative <= 1e-12
    if "alpha" not in options and options.get("kernel") == "rbf":
        total = 50.0 if weight is None else weight.sum()
        own = mm.Regressor(features=mm.RBF(0.6**-0.5), alpha=1 / total, intercept=False)
        own.fit(X, Y, sample_weight=weight)
        assert abs(own.certificate_.primal - model.certificate_.primal) <= 1e-10
        np.testing.assert_allclose(own.predict(X), model.predict(X), atol=1e-8)


def test_systems_that_rounding_has_destroyed_are_reported():
    with pytest.warns() as found:
        model = KernelRidge(alpha=1e-14, kernel="rbf", gamma=1e-3).fit(X, Y[:, 0])
    assert any(
        issubclass(w.category, ConvergenceWarning) and "raise alpha" in str(w.message)
        for w in found
    )
    assert model.certificate_.relative > 1e-6


def test_what_has_no_minimum_is_refused():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelRidge(kernel="precomputed").fit([[1.0, 2.0], [2.0, 1.0]], [0.0, 1.0])


@pytest.mark.parametrize("weight", [None, WEIGHT + 0.5], ids=["equal", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_is_that_of_refits(intercept, weight):
    """The formula, over alphas and bandwidths, is what n fits of n − 1 samples give."""
    some, y = X[:15], Y[:15, 0]
    s = np.ones(15) if weight is None else weight[:15]
    alphas, taus = np.array([0.1, 0.01]), [0.7, 2.0]
    model = mm.Regressor(features=mm.RBF(), intercept=intercept, tol=1e-12)
    grid = {"features__tau": taus}
    tuned = mm.Tuned(model, alphas, cv="loo", grid=grid, refit=False)
    tuned.fit(some, y, sample_weight=None if weight is None else s)
    for params, score in zip(tuned.cv_results_["params"], tuned.cv_results_["mean_test_score"]):
        losses = []
        for i in range(15):
            rest = np.arange(15) != i
            one = mm.Regressor(
                features=mm.RBF(params["features__tau"]), alpha=params["alpha"], intercept=intercept
            ).fit(some[rest], y[rest], sample_weight=s[rest])
            losses.append(0.5 * (one.predict(some[i : i + 1])[0] - y[i]) ** 2)
        assert abs(score + np.average(losses, weights=s)) <= 1e-8


def test_kernels_of_minimand_are_taken():
    plain = KernelRidge(kernel="rbf", gamma=0.5).fit(X, Y)
    given = KernelRidge(kernel=mm.RBF(1.0)).fit(X, Y)
    np.testing.assert_allclose(given.predict(X), plain.predict(X), atol=1e-9)
    bound = KernelRidge(kernel=mm.RBF("median").center()).fit(X[:20], Y[:20])
    by_hand = mm.RBF("median").center().bind(X[:20])(X, X[:20]) @ bound.dual_coef_
    np.testing.assert_allclose(bound.predict(X), by_hand, atol=1e-9)
    assert bound.certificate_.relative <= 1e-9


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "precomputed"])
def test_weights_alphas_and_targets_together(kernel):
    """A penalty for each target, weights of which some are zero, and X is not changed."""
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    weight = rng.integers(0, 4, size=40).astype(float)
    given = rbf_kernel(X) if kernel == "precomputed" else X
    kept = given.copy()
    ours = KernelRidge(alpha=[0.5, 2.0], kernel=kernel).fit(given, Y, sample_weight=weight)
    theirs = kernel_ridge.KernelRidge(alpha=[0.5, 2.0], kernel=kernel)
    theirs.fit(given, Y, sample_weight=weight)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-9)
    np.testing.assert_allclose(ours.predict(given[:7]), theirs.predict(given[:7]), atol=1e-9)
    np.testing.assert_array_equal(given, kept)
    assert ours.certificate_.relative < 1e-12
    with pytest.raises(ValueError, match="at least one non-zero"):
        KernelRidge().fit(X, Y, sample_weight=np.zeros(40))


def test_a_matrix_that_a_function_keeps_is_not_written_to():
    kept = rbf_kernel(X)
    before = kept.copy()
    KernelRidge(kernel=mm.Callable(lambda x, z: kept)).fit(X, Y)
    np.testing.assert_array_equal(kept, before)
