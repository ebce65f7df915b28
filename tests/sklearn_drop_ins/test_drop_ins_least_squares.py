"""LinearRegression, Ridge and RidgeClassifier: ranks, norms and digits as in scikit-learn."""

import numpy as np
import pytest
from models import LABELS, THREE, D, N, S, X, Y, pair, shapes_agree
from scipy import sparse
from sklearn import linear_model as theirs
from sklearn.base import clone

import minimand as mm
from minimand import sklearn as ours


@pytest.mark.parametrize("y", [LABELS, THREE, (Y > 0).astype(int)], ids=["two", "three", "many"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_classifier_takes_any_number_of_labels(y, fit_intercept):
    peer, model = (m.fit(X, y) for m in pair("RidgeClassifier", {"fit_intercept": fit_intercept}))
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-8)
    np.testing.assert_array_equal(model.classes_, peer.classes_)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    assert mm.certify(peer, X, y).relative < 1e-12


def test_ridge_classifier_balances_counts_and_not_weights():
    peer, model = pair("RidgeClassifier", {"class_weight": "balanced"})
    peer.fit(X, THREE, sample_weight=S)
    model.fit(X, THREE, sample_weight=S)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-8)
    assert mm.certify(peer, X, THREE, sample_weight=S).relative < 1e-12


def test_ridge_with_a_strength_per_target():
    alphas = [0.1, 10.0, 0.0]
    model = ours.Ridge(alpha=alphas).fit(X, Y, sample_weight=S)
    for k, alpha in enumerate(alphas):
        alone = theirs.Ridge(alpha=alpha).fit(X, Y[:, k], sample_weight=S)
        np.testing.assert_allclose(model.coef_[k], alone.coef_, rtol=1e-8)
    assert mm.certify(model, X, Y, sample_weight=S).relative < 1e-12
    with pytest.raises(ValueError, match="do not correspond: 2 != 3"):
        ours.Ridge(alpha=[1.0, 2.0]).fit(X, Y)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("model", [ours.LinearRegression(), ours.Ridge(alpha=0.0)])
def test_least_norm_among_the_minimisers(model, fit_intercept, kind):
    wide = np.random.default_rng(0).standard_normal((12, 30)) * np.geomspace(0.1, 10, 30)
    y = np.arange(12.0)
    centred, shift = wide, 0.0
    if fit_intercept:
        centred, shift = wide - wide.mean(axis=0), y.mean()
    expected = np.linalg.pinv(centred) @ (y - shift)
    found = clone(model).set_params(fit_intercept=fit_intercept).fit(kind(wide), y)
    np.testing.assert_allclose(found.coef_, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.predict(wide), y, atol=1e-9)
    assert found.certificate_.relative < 1e-12


def test_rank_and_singular_values():
    peer, model = (m.fit(X, Y, sample_weight=S) for m in pair("LinearRegression", {}))
    assert model.rank_ == peer.rank_ == D
    np.testing.assert_allclose(model.singular_, peer.singular_)
    twice = np.column_stack([X, X[:, 0]])
    model = ours.LinearRegression().fit(twice, Y[:, 0])
    assert model.rank_ == D
    assert model.coef_[0] == pytest.approx(model.coef_[-1])
    tiny = ours.LinearRegression().fit(X * np.geomspace(1, 1e-18, D), Y[:, 0])
    np.testing.assert_allclose(tiny.predict(X * np.geomspace(1, 1e-18, D)), model.predict(twice))


@pytest.mark.parametrize("alpha", [1e-16, 1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("shape", [(40, 8), (8, 40)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_keeps_its_digits_however_strong_the_penalty(alpha, shape, fit_intercept):
    data = np.random.default_rng(1).standard_normal(shape)
    y = data[:, 0] + np.arange(shape[0])
    expected = theirs.Ridge(alpha=alpha, solver="svd", fit_intercept=fit_intercept).fit(data, y)
    found = ours.Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(data, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-7)


def test_centring_noise_is_no_rank():
    """Two rows about a large mean: one direction is rounding, and the norm is the least."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((2, 2)) + 20, rng.standard_normal(2)
        mine, other = (library.LinearRegression().fit(X, y) for library in (ours, theirs))
        np.testing.assert_allclose(mine.coef_, other.coef_, atol=1e-6)
        assert mine.rank_ == 1


@pytest.mark.parametrize("solver", ["auto", "cholesky", "svd", "sparse_cg", "lsqr", "sag", "saga"])
@pytest.mark.parametrize("y", [Y[:, 0], Y[:, :2]], ids=["one", "two"])
def test_ridge_counts_iterations_where_scikit_learn_does(solver, y):
    pair = [kind(solver=solver).fit(X, y) for kind in (ours.Ridge, theirs.Ridge)]
    shapes_agree(*pair, ["n_iter_", "coef_", "intercept_"])


@pytest.mark.parametrize("kept", [N, 40, 4, 1])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_singular_values_of_weighted_rows(kept, fit_intercept):
    weight = np.where(np.arange(N) < kept, S, 0.0)
    pair = [
        kind(fit_intercept=fit_intercept).fit(X, Y[:, 0], sample_weight=weight)
        for kind in (ours.LinearRegression, theirs.LinearRegression)
    ]
    shapes_agree(*pair, ["singular_", "rank_"])
    assert pair[0].rank_ == pair[1].rank_
    np.testing.assert_allclose(pair[0].singular_, pair[1].singular_, rtol=1e-8, atol=1e-12)


def test_single_precision_is_left_where_it_has_too_few_digits():
    # Columns that are dependent up to rounding have a minimiser with huge coefficients.
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((400, 3)) @ rng.standard_normal((3, 45))).astype(np.float32)
    y = 1e5 * (rng.standard_normal(400) + X[:, 0])
    model = ours.LinearRegression().fit(X, y)
    assert model.certificate_.relative <= 1e-6
    left = np.mean((X.astype(float) @ model.coef_ + model.intercept_ - y) ** 2) / 2
    np.testing.assert_allclose(left, model.certificate_.primal, rtol=1e-4)
    assert ours.LinearRegression().fit(X[:, :3], y).coef_.dtype == np.float32


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-9])
def test_wide_sparse_least_squares_is_certified_by_its_residual(tol):
    """The zero multiplier proves the bound 0, also where too many columns are free for a repair."""
    rng = np.random.default_rng(3)
    X = sparse.random_array((100, 4500), density=0.01, rng=rng, format="csr")
    y = rng.normal(size=100)
    model = ours.LinearRegression(tol=tol).fit(X, y)
    residual = model.predict(X) - y
    assert 0 < model.certificate_.relative <= tol
    np.testing.assert_allclose(model.certificate_.gap, 0.5 * np.mean(residual**2))
    least = theirs.LinearRegression().fit(X.toarray(), y)
    np.testing.assert_allclose(model.coef_, least.coef_, atol=np.sqrt(tol))
