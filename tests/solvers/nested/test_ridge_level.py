"""The norm of all coefficients has the solutions of half its square, at another factor."""

import numpy as np
import pytest

import minimand as mm
from minimand.solvers import SOLVERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6)) * [1.0, 3.0, 0.1, 1.0, 1.0, 1.0]
Y = np.sin(X[:, 0]) + 0.3 * RNG.standard_t(2, size=40)
NORM = mm.L21(by="output")
LOSSES = ["squared", "absolute", "huber", "chebyshev", mm.Quantile(0.8), "hinge", "logistic"]


def fitted(loss, penalty, **options):
    labels = loss in ("hinge", "logistic")
    make = mm.Classifier if labels else mm.Regressor
    return make(loss, penalty, **options).fit(X, Y > 0.2 if labels else Y)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_it_is_l2_at_the_level_of_the_model(loss, intercept):
    options = {"intercept": intercept, "tol": 1e-9}
    model = fitted(loss, NORM, alpha=0.02, solver="ridge_level", **options)
    assert model.certificate_.relative <= 1e-9
    size = float(np.linalg.norm(model.coef_))
    ridge = fitted(loss, "l2", alpha=0.02 / size, **options).certificate_
    # ½·level·size² in place of norm·size
    assert model.certificate_.primal - 0.01 * size == pytest.approx(ridge.primal, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_norm_beyond_all_slopes_leaves_nothing(loss):
    model = fitted(loss, NORM, alpha=100.0, solver="ridge_level")
    assert model.certificate_.relative <= 1e-6
    assert float(np.linalg.norm(model.coef_)) <= 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_of_kernel_machines_with_kinks(seed):
    """Rounding off the kinks took seconds on these, and left gaps of up to 1e-3 of the scale."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 16))
    rows = rng.normal(size=(n, 3))
    y = np.sin(2 * rows[:, 0]) + 0.3 * rng.normal(size=n)
    for loss in (mm.Hinge(), mm.Absolute(), mm.Quantile(0.7)):
        make, target = (
            (mm.Classifier, y > np.median(y)) if loss.target == "sign" else (mm.Regressor, y)
        )
        for alpha in (3e-6, 3e-5):
            model = make(loss, NORM, features=mm.Matern(1.0), alpha=alpha).fit(rows, target)
            assert model.certificate_.relative <= 1e-6


def test_groups_within_the_coefficients_are_refused():
    penalty = mm.GroupL2(np.arange(6) // 2)
    with pytest.raises(ValueError, match="norm of all coefficients together"):
        mm.Regressor("absolute", penalty, solver="ridge_level").fit(X, Y)


def test_a_single_group_of_columns_is_one_too():
    model = mm.Regressor("absolute", mm.GroupL2(np.zeros(6, dtype=int)), alpha=0.05).fit(X, Y)
    assert model.solver_ == SOLVERS["ridge_level"].name
    assert model.certificate_.relative <= 1e-6


def test_a_single_coefficient_is_left_to_solvers_of_l1():
    x, y = np.array([[-1.0], [0.0], [1.0]]), np.array([-1.0, 0.0, 1.0])
    model = mm.Regressor("squared", "l1", alpha=0.1).fit(x, y)
    assert model.coef_ == pytest.approx([0.85], abs=1e-12)  # soft(2/3, 0.1) / (2/3)
    assert model.solver_ != "ridge_level"
    with pytest.raises(ValueError, match="sum over features"):
        mm.Regressor("squared", "l1", alpha=0.1, solver="ridge_level").fit(x, y)
