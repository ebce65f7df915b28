"""Ridge regression on more columns than rows: one Gram of the rows, however far their mean is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

import minimand as mm
from minimand.sklearn import Ridge

# Standard deviations between zero and the mean row: the Gram is centred after the product for
# the first two, before it for the others.
DISTANCES = (0.0, 2.0, 5.0, 1e4)


def _data(distance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 80)) + distance * rng.choice([-1.0, 1.0], size=80)
    return X, rng.normal(size=30) + X[:, 0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_minimiser_is_that_of_the_normal_equations(distance, weighted, order, dtype):
    X, y = _data(distance)
    X = np.asarray(X, dtype=dtype, order=order)
    s = np.linspace(0.5, 3.0, len(y)) if weighted else np.ones(len(y))
    model = Ridge(alpha=0.7).fit(X, y, sample_weight=s if weighted else None)
    X = X.astype(float)
    mean, level = np.average(X, axis=0, weights=s), np.average(y, weights=s)
    Xc, yc = X - mean, y - level
    want = linalg.solve(Xc.T @ (s[:, None] * Xc) + 0.7 * np.eye(80), Xc.T @ (s * yc))
    rtol = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(model.coef_, want, rtol=0, atol=rtol * np.abs(want).max())
    assert model.certificate_.relative < 1e-6


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_dual_point_proves_the_bound(distance, intercept):
    X, y = _data(distance, seed=1)
    n, alpha = len(y), 0.3
    model = mm.Regressor("squared", "l2", alpha=alpha, intercept=intercept).fit(X, y)
    found = model.certificate_
    theta = found.dual_point
    if intercept:
        assert abs(theta.sum()) <= 1e-12 * np.abs(theta).sum()
    slope = X.T @ theta / n
    bound = -np.mean(0.5 * theta**2 + theta * y) - slope @ slope / (2 * alpha)
    w = model.coef_
    value = 0.5 * np.mean((X @ w + model.intercept_ - y) ** 2) + 0.5 * alpha * w @ w
    assert found.primal == pytest.approx(value, rel=1e-9)
    assert value - bound <= found.gap + found.rounding + 1e-9 * value
    assert found.dual <= bound + 1e-9 * value


@pytest.mark.parametrize("distance", DISTANCES)
def test_one_product_gives_coefficients_and_slopes_of_the_dual_point(distance):
    """Passes: the mean row, the Gram's, Xᵀt, and the scores that the model is judged by."""
    X, y = _data(distance, seed=2)
    certificate = Ridge().fit(X, y).certificate_
    assert certificate.passes <= 3
    assert certificate.gap <= 1e-12 * max(certificate.primal, 1e-3)


def test_a_penalty_that_rounding_outweighs_is_still_certified():
    """Nothing but refinement then reaches the target."""
    X, y = _data(0.0, seed=3)
    X[1] = X[0] + 1e-9 * X[2]
    model = Ridge(alpha=1e-10).fit(X, y)
    direct = mm.certify(model, X, y)
    assert model.certificate_.relative < 1e-6
    assert direct.primal == pytest.approx(model.certificate_.primal, rel=1e-6, abs=1e-12)
