"""Default grids move with the units of the data, as the best alpha does."""

import numpy as np
import pytest
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
