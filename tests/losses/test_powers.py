"""Lp: conformance, closed forms, certified fits for every p ≥ 1, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from sklearn.datasets import load_diabetes

import minimand as mm
from minimand.testing import check_loss

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
Y = X @ np.array([1.0, -2.0, 0.0, 0.5, 0.0]) + RNG.standard_normal(60)


@pytest.mark.parametrize("p", [1, 1.01, 1.5, 2, 2.5, 3, 8, 40])
def test_conformance(p):
    check_loss(mm.Lp(p), [-3.0, 0.0, 0.7])


@given(st.floats(1.02, 30), st.floats(-5, 5), st.floats(-5, 5))
def test_fenchel_young_is_the_bregman_divergence(p, t, s):
    loss = mm.Lp(p)
    t, s = np.array([t]), np.array([s])
    v = loss.dpsi(s)
    want = loss.psi(t) - loss.psi(s) - v * (t - s)
    size = loss.psi(t) + p * loss.psi(s) + np.abs(v * t)
    assert abs(loss.young(t, v) - want)[0] <= 1e-12 * size[0] + 1e-300


@pytest.mark.parametrize("p", [1.1, 1.5, 3.0, 7.0])
def test_fenchel_young_terms_keep_their_digits_when_they_are_small(p):
    s, x = 1.7, np.geomspace(1e-9, 1e-3, 7)
    loss = mm.Lp(p)
    got = loss.young(s * (1 + x), np.full(7, loss.dpsi(np.array([s]))[0]))
    want = s**p * p * (p - 1) / 2 * x**2 * (1 + (p - 2) / 3 * x)
    np.testing.assert_allclose(got[3:], want[3:], rtol=1e-5)  # x itself is rounded


def test_special_cases():
    z, y = np.linspace(-3, 3, 13), np.zeros(13)
    np.testing.assert_allclose(mm.Lp(1).value(z, y), mm.Absolute().value(z, y))
    np.testing.assert_allclose(mm.Lp(2).value(z, y), 2 * mm.Squared().value(z, y))
    np.testing.assert_array_equal(mm.Lp(0).value(z, y), (z != 0).astype(float))
    assert mm.Lp(1).plq(y) is not None
    assert mm.Lp(2).plq(y) is not None
    assert mm.Lp(1.5).plq(y) is None
    assert [mm.Lp(p).convex for p in (0, 0.5, 1, 3)] == [False, False, True, True]


@pytest.mark.parametrize("p", [1.2, 1.5, 3.0, 5.0])
def test_prox_is_the_root(p):
    z = np.array([-4.0, -0.1, 0.0, 2.5])
    for step in (0.01, 1.0, 30.0):
        got = mm.Lp(p).prox(z, np.zeros(4), step)
        rest = got - z + step * mm.Lp(p).dpsi(got)
        assert np.abs(rest).max() < 1e-9 * step


def test_the_median_and_the_mean_are_the_ends():
    """With a constant alone, p = 2 is the mean, p → ∞ the mid-range."""
    y = np.array([0.0, 1.0, 2.0, 10.0])
    flat = np.zeros((4, 1))
    assert mm.Regressor(mm.Lp(2), alpha=1.0).fit(flat, y).intercept_ == pytest.approx(y.mean())
    high = mm.Regressor(mm.Lp(200), alpha=1.0).fit(flat, y / 10).intercept_ * 10
    assert high == pytest.approx(5.0, abs=0.05)
    low = mm.Regressor(mm.Lp(1.001), alpha=1.0).fit(flat, y).intercept_
    assert 1.0 <= low <= 2.0


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("p", [1.1, 1.3, 1.5, 2, 3, 4, 8, 20])
def test_every_pair_reaches_the_gap(p, penalty):
    model = mm.Regressor(mm.Lp(p), penalty, alpha=0.05).fit(X, Y)
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize(("p", "alpha"), [(1.01, 1e-3), (1.05, 1e-1), (8, 1e-3), (20, 1e-1)])
def test_wild_scales_reach_the_gap_too(p, alpha, penalty):
    """All but kinks for p near 1; sums of 1e40 for p = 20, beside which the penalty is nothing."""
    data, y = load_diabetes(return_X_y=True)
    model = mm.Regressor(mm.Lp(p), penalty, alpha=alpha).fit(data, y)
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_interpolation_with_p_near_1(penalty):
    """Residuals all vanish, and their slopes can be seen in the dual alone."""
    wide = RNG.standard_normal((20, 40))
    model = mm.Regressor(mm.Lp(1.1), penalty, alpha=1e-3).fit(wide, wide[:, :3].sum(axis=1))
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("p", [1.3, 1.5, 3.0, 6.0])
def test_against_scipy(p):
    model = mm.Regressor(mm.Lp(p), "l2", alpha=0.1, tol=1e-10).fit(X, Y)

    def objective(v):
        return np.mean(np.abs(X @ v[:-1] + v[-1] - Y) ** p) + 0.05 * v[:-1] @ v[:-1]

    found = optimize.minimize(objective, np.zeros(6), method="BFGS", options={"gtol": 1e-9})
    assert model.certificate_.primal <= found.fun * (1 + 1e-8)
    assert model.certificate_.dual <= found.fun * (1 + 1e-12)
    np.testing.assert_allclose(model.coef_, found.x[:-1], atol=1e-4)


def test_refusals_in_words():
    with pytest.raises(ValueError, match=r"Lp\(p=0\).* cannot be minimised: it counts"):
        mm.Regressor(mm.Lp(0)).fit(X, Y)
    for p in (-1, np.nan, "2", True, None):
        with pytest.raises(ValueError, match="p of Lp must be a finite number ≥ 0"):
            mm.Regressor(mm.Lp(p)).fit(X, Y)


@pytest.mark.parametrize("p", [1.05, 1.5])
@pytest.mark.parametrize("penalty", ["no_penalty", "l1", "l2"])
def test_fits_follow_the_units_of_y(p, penalty):
    # c^p·|r/c|^p: with alpha in the same units, coefficients are c times those of c = 1.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ [1.0, -2.0, 0.0, 0.5] + rng.standard_normal(60)
    y[:5] = 0.0  # some residuals of the null model vanish
    degree = {"no_penalty": p, "l1": p - 1, "l2": p - 2}[penalty]
    for c in (1.0, 2.0**-480, 2.0**-60, 2.0**60):
        model = mm.Regressor(mm.Lp(p), penalty, alpha=0.05 * c**degree, intercept=False)
        model.fit(X, c * y)
        assert model.certificate_.relative <= 1e-6
        if c == 1.0:
            plain = model.coef_
        assert model.coef_ / c == pytest.approx(plain, abs=1e-2)
