"""Default grids move with the units of the data, as the best alpha does."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes

import minimand as mm

X, Y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("penalty", ["l2", mm.L2(weights=np.linspace(1.0, 2.0, 10))])
def test_ridge_grids_do_not_depend_on_the_units_of_y(penalty):
    estimator = mm.Regressor("squared", penalty)
    plain = mm.Tuned(estimator, cv="loo", alphas=30).fit(X, Y)
    scaled = mm.Tuned(estimator, cv="loo", alphas=30).fit(X, 1e6 * Y)
    np.testing.assert_allclose(scaled.alphas_, plain.alphas_)
    assert scaled.best_index_ == plain.best_index_
    assert 0 < plain.best_index_ < 29  # neither end of the grid


def test_ridge_grids_follow_the_units_of_x():
    estimator = mm.Regressor("squared", "l2")
    plain = mm.path(estimator, X, Y, alphas=5)
    scaled = mm.path(estimator, 100 * X, Y, alphas=5)
    np.testing.assert_allclose(scaled.alphas, 1e4 * plain.alphas, rtol=1e-6)


@pytest.mark.parametrize("penalty", ["l1", mm.L1() + mm.L2()])
def test_grids_with_kinks_begin_where_the_model_is_empty(penalty):
    path = mm.path(mm.Regressor("squared", penalty), X, Y, alphas=10)
    assert path.n_nonzero[0] == 0
    assert path.n_nonzero[1] > 0
    assert path.alphas[0] == pytest.approx(mm.alpha_max(mm.Regressor("squared", penalty), X, Y))


@pytest.mark.parametrize("penalty", [mm.L1(), mm.L1([1.0, 2.0, 0.5]), mm.L1() + mm.NonNegative()])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.5, 0.35])
def test_alpha_max_of_the_hinge_is_the_smallest(penalty, seed, share):
    """All samples of a class lie at the kink: of their slopes the best ones count."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((60, 3))
    score = features[:, 0] + 0.5 * rng.standard_normal(60)
    labels = score > np.quantile(score, 1 - share)
    make = lambda alpha: mm.Classifier("hinge", penalty, alpha=alpha, tol=1e-10)  # noqa: E731
    for data in (features, sparse.csr_array(features)):
        top = mm.alpha_max(make(1.0), data, labels)
        above, below = (make(factor * top).fit(data, labels) for factor in (1.0001, 0.99))
        np.testing.assert_allclose(above.coef_, 0.0, atol=1e-12)
        null = 2 * min(labels.mean(), 1 - labels.mean())
        assert below.certificate_.primal < null - 1e-6


def test_alpha_max_of_ties_and_of_l2():
    rng = np.random.default_rng(1)
    features, counts = rng.standard_normal((50, 2)), rng.integers(0, 4, 50).astype(float)
    median = mm.Regressor("absolute", "l1", tol=1e-10)
    top = mm.alpha_max(median, features, counts)
    assert not median.set_params(alpha=1.0001 * top).fit(features, counts).coef_.any()
    best = median.set_params(alpha=0.99 * top).fit(features, counts)
    assert best.certificate_.primal < np.abs(counts - np.median(counts)).mean() - 1e-9
    with pytest.raises(ValueError, match="never makes coefficients exactly zero"):
        mm.alpha_max(mm.Classifier("hinge", "l2"), features, counts > 1)


def test_alpha_max_keeps_its_digits_far_from_zero():
    rng = np.random.default_rng(0)
    X = 1e6 + rng.standard_normal((100, 5))
    y = X[:, 0] + rng.standard_normal(100)
    top = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / 100
    assert mm.alpha_max(mm.Regressor("squared", "l1"), X, y) == pytest.approx(top, rel=1e-9)


@pytest.mark.parametrize(
    "penalty",
    [
        mm.TraceNorm(squared=True),
        mm.L21(squared=True),
        mm.L21(squared=True) + 0.1 * mm.L2(),
        mm.GroupL2([0, 0, 1, 1], squared=True),
    ],
    ids=repr,
)
def test_squared_norms_have_a_grid_from_nearly_nothing_to_nearly_all(penalty):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 4)) * [1.0, 2.0, 5.0, 0.5]
    Y = X @ rng.standard_normal((4, 3)) + rng.standard_normal((50, 3))
    Y = Y[:, 0] if isinstance(penalty, mm.GroupL2) else Y
    path = mm.path(mm.Regressor("squared", penalty), X, Y, alphas=4)
    free = mm.Regressor("squared", "no_penalty").fit(X, Y).coef_
    sizes = np.linalg.norm((path.coefs * X.std(axis=0)).reshape(4, -1), axis=1)
    whole = np.linalg.norm(free * X.std(axis=0))
    assert sizes[0] < 2e-3 * whole
    assert sizes[-1] > 0.99 * whole
    with pytest.raises(ValueError, match="never makes coefficients exactly zero"):
        mm.alpha_max(mm.Regressor("squared", penalty), X, Y)
