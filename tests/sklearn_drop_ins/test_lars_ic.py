"""LassoLarsIC: the knots of the lasso path, as scikit-learn's LARS finds them."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as theirs
from sklearn.datasets import load_diabetes

import minimand as mm
from minimand import sklearn as ours
from minimand.audit.foreign.objectives import problem_of
from minimand.solvers.paths.lasso_knots import lasso_knots

rng = np.random.default_rng(0)
RANDOM = rng.standard_normal((80, 8))
CORRELATED = rng.standard_normal((200, 40)) @ (np.eye(40) + 0.9)
WIDE = rng.standard_normal((30, 100))
BINARY = 1.0 * (rng.random((200, 12)) < 0.3)
DATA = {
    "diabetes": load_diabetes(return_X_y=True),
    "random": (RANDOM, RANDOM[:, 0] + 0.5 * RANDOM[:, 1] + rng.standard_normal(80)),
    "correlated": (CORRELATED, CORRELATED[:, :5].sum(axis=1) + 30 * rng.standard_normal(200)),
    "wide": (WIDE, WIDE[:, :5].sum(axis=1) + rng.standard_normal(30)),
    "binary": (BINARY, np.round(BINARY[:, :5].sum(axis=1) + rng.standard_normal(200))),
    "far from zero": (RANDOM + 1e6, RANDOM.sum(axis=1) + rng.standard_normal(80) + 1e6),
}


def knots_of(X, y, positive=False, fit_intercept=True):
    model = ours.Lasso(1.0, positive=positive, fit_intercept=fit_intercept)
    return lasso_knots(problem_of(model, X, y, None).objectives[0], 10_000, positive)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("criterion", ["aic", "bic"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_attributes_are_those_of_scikit_learn(name, criterion, positive, fit_intercept):
    if name == "far from zero" and not fit_intercept:
        return  # eight columns that are all but one: LARS itself drops some of them
    X, y = DATA[name]
    options = {"criterion": criterion, "fit_intercept": fit_intercept, "positive": positive}
    options["noise_variance"] = 1.0 if name == "wide" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's last step is lost in rounding
        peer = theirs.LassoLarsIC(**options).fit(X, y)
    model = ours.LassoLarsIC(**options).fit(X, y)
    assert model.noise_variance_ == pytest.approx(peer.noise_variance_)
    assert model.n_iter_ == peer.n_iter_ == model.alphas_.size - 1
    np.testing.assert_allclose(model.alphas_, peer.alphas_, atol=1e-9 * peer.alphas_[0])
    # scikit-learn's last model of a positive path is not the optimum at alpha = 0.
    same = slice(0, -1) if positive else slice(None)
    np.testing.assert_allclose(model.criterion_[same], peer.criterion_[same], rtol=1e-7)
    assert model.alpha_ == model.alphas_[np.argmin(model.criterion_)]
    if model.alpha_ == pytest.approx(peer.alpha_, abs=1e-12) and model.alpha_ > 0:
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-8 * np.abs(peer.coef_).max())
        assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-6, abs=1e-9)
    assert model.certificate_.relative <= 1e-6
    assert mm.certify(model, X, y).relative <= 1e-6


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_every_knot_is_an_optimum_and_a_line_leads_to_the_next(seed, positive):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(5, 60, 2)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + rng.random() * rng.standard_normal((d, d)))
    if seed % 3 == 0:
        X[:, d // 2 :] = X[:, : d - d // 2]  # every column twice
    if seed % 4 == 0:
        X = np.round(X)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(n)
    alphas, coefs = knots_of(X, y, positive)
    assert (np.diff(alphas) < 0).all()
    assert alphas[-1] == 0
    X, y = X - X.mean(axis=0), y - y.mean()
    between = 0.3 * alphas[1:] + 0.7 * alphas[:-1]
    middle = 0.3 * coefs[1:] + 0.7 * coefs[:-1]
    size = np.abs(X).max() * np.abs(y).max()
    for alpha, w in [*zip(alphas, coefs), *zip(between, middle)]:
        slope = X.T @ (y - X @ w) / n
        assert (slope if positive else np.abs(slope)).max() <= alpha + 1e-10 * size
        used = w != 0
        assert np.abs(slope[used] - alpha * np.sign(w[used])).max(initial=0.0) <= 1e-10 * size
        assert not positive or (w >= 0).all()
    # The support changes at every knot, so that none is there for nothing.
    supports = [tuple(np.flatnonzero(np.abs(w) > 1e-9 * np.abs(coefs).max())) for w in middle]
    assert all(a != b for a, b in pairwise(supports))


def test_sparse_data_single_precision_and_limits():
    X, y = DATA["binary"]
    dense = ours.LassoLarsIC().fit(X, y)
    other = ours.LassoLarsIC().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(other.alphas_, dense.alphas_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-10)
    single = ours.LassoLarsIC().fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    short = ours.LassoLarsIC(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(short.alphas_, dense.alphas_[:4])
    assert short.n_iter_ == 3


def test_nothing_to_explain():
    model = ours.LassoLarsIC().fit(RANDOM, np.ones(80))
    assert model.alphas_.tolist() == [0.0]
    assert not model.coef_.any()
    assert model.intercept_ == 1.0


@pytest.mark.parametrize("level", [0.0, 1e4, 1e6])
def test_the_level_of_y_does_not_choose_the_model(level):
    """An intercept takes it; only rounding is left of it."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((40, 4))
    y = X[:, 0] + rng.standard_normal(40)
    plain = ours.LassoLarsIC().fit(X, y)
    moved = ours.LassoLarsIC().fit(X, level + 1e-3 * y)
    np.testing.assert_array_equal(moved.coef_ != 0, plain.coef_ != 0)
    np.testing.assert_allclose(1e3 * moved.coef_, plain.coef_, atol=1e-3)
