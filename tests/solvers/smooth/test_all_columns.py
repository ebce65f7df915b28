"""Least squares on few columns at once: optimal, and judged as the referee would."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import minimand as mm

RNG = np.random.default_rng(5)
X = RNG.normal(size=(80, 6)) * [1, 10, 0.1, 1, 1, 1] + [0, 100, 0, 0, 1e4, 0]
Y = X @ [1.0, 0.2, 0.0, 0.0, 0.5, 0.0] + RNG.normal(size=80)
WEIGHTS = RNG.integers(0, 4, size=80).astype(float)
PENALTIES = {"l1": mm.L1(), "both": 0.7 * mm.L1() + 0.3 * mm.L2()}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_conditions_of_an_optimum_hold(penalty, dtype, intercept):
    alpha, x = 0.05, X.astype(dtype)
    model = mm.Regressor("squared", PENALTIES[penalty], alpha=alpha, intercept=intercept)
    offset = 0.3 * X[:, 0]
    model.fit(x, Y, sample_weight=WEIGHTS, offset=offset)
    mass, w = WEIGHTS / WEIGHTS.sum(), model.coef_
    residual = model.predict(x, offset=offset) - Y
    l1, l2 = (alpha, 0.0) if penalty == "l1" else (0.7 * alpha, 0.3 * alpha)
    slope = x.astype(float).T @ (mass * residual) + l2 * w
    size = np.sqrt((x.astype(float) ** 2).T @ mass)
    assert (np.abs(slope) <= l1 + 1e-6 * size).all()
    np.testing.assert_allclose((slope + l1 * np.sign(w))[w != 0] / size[w != 0], 0.0, atol=1e-6)
    if intercept:
        assert abs(mass @ residual) <= 1e-9
    assert model.solver_ == "working_set"


@pytest.mark.parametrize("alpha", [1e-4, 0.1, 10.0])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_certificate_is_that_of_a_later_judgement(penalty, alpha):
    model = mm.Regressor("squared", PENALTIES[penalty], alpha=alpha).fit(X, Y, WEIGHTS)
    found, again = model.certificate_, mm.certify(model, X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(found.primal, again.primal, rtol=1e-12)
    assert found.gap <= 1e-6 * found.primal
    assert found.dual <= again.primal + found.rounding
    assert again.dual <= found.primal + again.rounding
    np.testing.assert_allclose(found.rounding, again.rounding, rtol=0.5)
    assert model.history_[0].primal >= found.primal
    assert model.history_.gap[-1] == found.gap


def test_a_gram_that_has_lost_its_digits_is_no_obstacle():
    """Columns that differ in their eighth digit: rounds on the columns themselves go on."""
    base = RNG.normal(size=(60, 1))
    x = base + 1e-8 * RNG.normal(size=(60, 5))
    y = 1e7 * (x[:, 0] - x[:, 1]) + RNG.normal(size=60)
    model = mm.Regressor("squared", "l1", alpha=1e-9).fit(x, y)
    assert model.certificate_.relative <= 1e-6


def test_a_stop_leaves_the_null_model_with_its_bound():
    model = mm.Regressor("squared", "l1", alpha=0.01, callbacks=[lambda state: mm.STOP])
    with pytest.warns(ConvergenceWarning, match="callback"):
        model.fit(X, Y)
    best = mm.Regressor("squared", "l1", alpha=0.01).fit(X, Y).certificate_.primal
    assert model.certificate_.dual <= best <= model.certificate_.primal
