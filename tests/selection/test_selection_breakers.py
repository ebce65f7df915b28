"""Attacks on paths and tuning that once succeeded."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import minimand as mm

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
Y = -X[:, 0] + X[:, 1] + 0.3 * RNG.standard_normal(30)


@pytest.mark.filterwarnings("ignore:Tuned. the best alpha is the smallest")
@pytest.mark.parametrize("constraint", [mm.NonNegative(), mm.Box(-0.1, 0.1)])
def test_leave_one_out_keeps_constraints(constraint):
    scores = [
        mm.Tuned(mm.Regressor("squared", mm.L2() + constraint), alphas=[0.1, 0.01], cv=cv)
        .fit(X, Y)
        .cv_results_["mean_test_score"]
        for cv in ("loo", KFold(30))
    ]
    np.testing.assert_allclose(*scores, rtol=1e-6)


def test_a_path_of_ridge_keeps_constraints():
    path = mm.path(mm.Regressor("squared", mm.L2() + mm.NonNegative()), X, Y, [0.1, 0.01])
    assert (path.coefs >= 0).all()
    assert max(c.relative for c in path.certificates) <= 1e-6


@pytest.mark.parametrize("penalty", [mm.MCP() + mm.L2Ball(1.0), mm.Lq(0.5) + mm.L1Ball(0.5)])
def test_a_ball_around_a_non_convex_penalty_is_refused_in_words(penalty):
    with pytest.raises(ValueError, match="cannot be added"):
        mm.Regressor("squared", penalty).fit(X, Y)


def test_overflow_is_told_in_words():
    with pytest.raises(ValueError, match="rescale X and y"):
        mm.Regressor("squared", mm.Box(-0.2, 0.3)).fit(X * 1e148, Y * 1e145)


def test_the_grid_of_lq_follows_the_data():
    model = mm.Regressor("squared", mm.Lq(0.5))
    top = mm.alpha_max(model, X, Y)
    fit = model.set_params(alpha=1.01 * top).fit(X, Y)
    assert not fit.coef_.any()
    assert mm.alpha_max(model, X, 1e4 * Y) == pytest.approx(1e6 * top, rel=1e-6)
    assert mm.path(model, X, Y, 5).n_nonzero[-1] > 0


def test_rounding_is_no_slope():
    constant = np.full((20, 1), 3.0)
    y = RNG.gamma(2.0, 1.0, 20)
    model = mm.Regressor("squared", "l1")
    assert mm.alpha_max(model, constant, y) == 0.0
    certificates = mm.path(model, constant, y, 4).certificates
    # The gap of a model that is judged from sums includes what their rounding may be, and no more.
    assert all(c.gap <= c.rounding <= 1e-13 * c.primal for c in certificates)
    assert model.fit(constant, y).certificate_.gap == 0.0


def test_a_perfect_null_model_is_perfect():
    y = np.full(30, 2.0)
    assert mm.Regressor("gamma", "l1").fit(X, y).certificate_.relative == 0.0
    np.testing.assert_array_equal(mm.path(mm.Regressor("gamma", "l1"), X, y, 3).score, 1.0)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_data_that_overflow_are_refused(penalty):
    X = 1e160 * np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match="squares overflow, in column 0 first"):
        mm.path(mm.Regressor("squared", penalty), X, np.arange(20.0), alphas=3)


def test_a_metric_is_no_scorer():
    with pytest.raises(ValueError, match="make_scorer"):
        mm.Tuned(mm.Regressor(), scoring=lambda y, z: 0.0).fit(np.eye(20), np.arange(20.0))


def test_a_path_replaces_a_solver_that_gave_up_as_a_fit_does():
    """Columns far from zero: Newton's steps stall, and interior points go on."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 100)) + 1e6
    y = np.where(X[:, 0] - 1e6 + 0.3 * rng.standard_normal(40) > 0, 1, -1)
    path = mm.path(mm.Classifier("squared_hinge", "l2"), X, y, alphas=[3000.0, 30.0, 0.3])
    assert max(c.relative for c in path.certificates) <= 1e-6
