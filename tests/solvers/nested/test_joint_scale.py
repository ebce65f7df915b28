"""The Huber loss with its scale: the joint bound, the best scale, and a conic program."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn import linear_model as theirs

import minimand as mm
from minimand.certificate import judge
from minimand.estimators.posing.coded import build
from minimand.estimators.settings import Settings
from minimand.sklearn import HuberRegressor, QuantileRegressor
from minimand.solvers.nested.joint_scale import Scaled, best_scale
from minimand.solvers.nested.scale_search import _Search, null_of


def data(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    y = X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) + 1
    y[: n // 8] += 20 * rng.standard_normal(n // 8)
    return X, y, rng.uniform(0.2, 3.0, n)


def value(X, y, s, epsilon, alpha, w, b, sigma):
    """scikit-learn's objective, divided by Σs: written out from its documentation."""
    t = np.abs(X @ w + b - y) / sigma
    h = np.where(t <= epsilon, t**2, 2 * epsilon * t - epsilon**2)
    return float(s @ (sigma + sigma * h) + alpha * w @ w) / s.sum()


def value_of(model, X, y, s):
    return value(
        X, y, s, model.epsilon, model.alpha, model.coef_, model.intercept_, float(model.scale_)
    )


def conic_optimum(X, y, s, epsilon, alpha, intercept):
    """min σ + t + Σ 2ε·m(p + q) + alpha‖w‖²/S with Xw + b − y = a + p − q, Σ m·a² ≤ t·σ.

    σ·H(r/σ) is the least a²/σ + 2ε|r − a|. Variables: w, b, σ, t, a, p, q.
    """
    (n, d), m = X.shape, s / s.sum()
    k = d + 3
    P = sparse.diags(
        np.concatenate([np.full(d, 2 * alpha / s.sum()), np.zeros(3 + 3 * n)]), format="csc"
    )
    cost = np.concatenate([np.zeros(d + 1), [1.0, 1.0], np.zeros(n), np.tile(2 * epsilon * m, 2)])
    eye, none = sparse.eye(n), sparse.csc_matrix((n, 2))
    column = np.full((n, 1), float(intercept))
    fits = sparse.hstack([sparse.csc_matrix(np.hstack([X, column])), none, -eye, -eye, eye])
    signs = sparse.hstack([sparse.csc_matrix((2 * n, k + n)), -sparse.eye(2 * n)])
    cone = sparse.lil_matrix((n + 2, k + 3 * n))
    cone[0, d + 1] = cone[0, d + 2] = cone[1, d + 2] = -1.0
    cone[1, d + 1] = 1.0
    cone[2:, k : k + n] = sparse.diags(-2 * np.sqrt(m))
    A = sparse.vstack([fits, signs, cone], format="csc")
    limits = np.concatenate([y, np.zeros(2 * n + n + 2)])
    cones = [
        clarabel.ZeroConeT(n),
        clarabel.NonnegativeConeT(2 * n),
        clarabel.SecondOrderConeT(n + 2),
    ]
    options = clarabel.DefaultSettings()
    options.verbose = False
    return clarabel.DefaultSolver(P, cost, A, limits, cones, options).solve().obj_val


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-4, 5.0])
@pytest.mark.parametrize("epsilon", [1.0, 1.05, 1.35, 4.0])
def test_the_optimum_is_that_of_the_conic_program(epsilon, alpha, intercept):
    X, y, s = data()
    expected = conic_optimum(X, y, s, epsilon, alpha, intercept)
    model = HuberRegressor(epsilon=epsilon, alpha=alpha, fit_intercept=intercept)
    model.fit(X, y, sample_weight=s)
    found = model.certificate_
    assert found.relative <= 1e-6
    assert found.primal == pytest.approx(value_of(model, X, y, s), rel=1e-12)
    assert found.dual <= expected * (1 + 1e-6)
    assert found.primal == pytest.approx(expected, rel=2e-6)


@given(seed=st.integers(0, 10_000), epsilon=st.floats(1.0, 3.0), alpha=st.sampled_from([0.0, 0.5]))
@settings(max_examples=25, deadline=None)
def test_no_bound_of_any_point_and_scale_is_above_any_value(seed, epsilon, alpha):
    """Weak duality between arbitrary models: every bound is below every value."""
    rng = np.random.default_rng(seed)
    X, y, s = data(20, 2, seed)
    settings_of = Settings(mm.Huber(epsilon), mm.L2(), alpha / s.sum())
    problem = Scaled(build(settings_of, X, y, s, None, True), 1.0)
    bounds, values = [], []
    for _ in range(4):
        scaled = problem.at(float(np.exp(rng.normal(0, 2))))
        point = scaled.objective.point(rng.standard_normal(2), float(rng.normal()))
        joint = scaled.judged(point, [rng.normal(0, 2, 20)])
        bounds.append(joint.primal - joint.gap)
        values.append(joint.primal)
        assert joint.primal == pytest.approx(
            value(X, y, s, epsilon, alpha, point.w, point.b, scaled.sigma)
        )
        found = scaled.audited(joint, 1.0)
        assert found.by_sample.sum() + found.by_feature.sum() == pytest.approx(joint.gap)
    assert max(bounds) <= min(values)


def test_the_gap_with_the_scale_fixed_is_not_that_of_the_joint_problem():
    """A model that is optimal for a wrong scale has no gap there, and one here."""
    X, y, s = data()
    problem = Scaled(build(Settings(mm.Huber(1.35), mm.L2(), 0.01), X, y, s, None, True), 1.0)
    wrong = problem.at(10.0)
    model = mm.Regressor(wrong.objective.loss, alpha=0.1, tol=1e-12).fit(X, y, sample_weight=s)
    point = wrong.objective.point(model.coef_, model.intercept_)
    assert judge(wrong.objective, point).gap < 1e-9
    gap = wrong.judged(point).gap
    assert gap >= wrong.value(point) - wrong.at(wrong.best(point)).value(point) > 0.1


@given(
    r=st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=12),
    epsilon=st.floats(1.0, 4.0),
    seed=st.integers(0, 100),
)
@settings(max_examples=100, deadline=None)
def test_the_best_scale_is_the_best(r, epsilon, seed):
    r = np.array(r)
    mass = np.random.default_rng(seed).uniform(0.1, 1, r.size)
    mass /= mass.sum()

    def at(sigma):
        t = np.abs(r) / sigma
        return sigma + sigma * (mass @ np.where(t <= epsilon, t**2, 2 * epsilon * t - epsilon**2))

    found, value = best_scale(r, mass, epsilon)
    least = 2 * epsilon * float(mass @ np.abs(r)) if found == 0 else at(found)
    assert value == pytest.approx(least, rel=1e-12, abs=1e-300)
    grid = np.geomspace(1e-6, 20, 400)
    assert least <= min(map(at, grid)) * (1 + 1e-12) + 1e-12
    around = optimize.minimize_scalar(at, bounds=(1e-9, 20), method="bounded")
    assert least <= around.fun * (1 + 1e-12) + 1e-12


def test_large_epsilon_is_least_squares_with_its_root_mean_square():
    X, y, s = data()
    model = HuberRegressor(epsilon=1e4, alpha=0.0, tol=1e-10).fit(X, y, sample_weight=s)
    plain = theirs.LinearRegression().fit(X, y, sample_weight=s)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6)
    size = np.sqrt(np.average((plain.predict(X) - y) ** 2, weights=s))
    assert model.scale_ == pytest.approx(size)
    assert model.certificate_.primal == pytest.approx(2 * size)
    assert not model.outliers_.any()


def test_epsilon_one_is_least_absolute_deviations():
    X, y, s = data()
    model = HuberRegressor(epsilon=1.0, alpha=0.0, tol=1e-9).fit(X, y, sample_weight=s)
    least = QuantileRegressor(alpha=0.0).fit(X, y, sample_weight=s)
    assert model.certificate_.primal == pytest.approx(4 * least.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(model.coef_, least.coef_, rtol=1e-5)


def test_everything_scales_with_y_and_follows_shifts_along_X():
    X, y, _ = data()
    model = HuberRegressor(alpha=0.0, tol=1e-11).fit(X, y)
    g = np.array([3.0, -1.0, 0.5])
    twin = HuberRegressor(alpha=0.0, tol=1e-11).fit(X, 1e6 * (y + X @ g - 2))
    np.testing.assert_allclose(twin.coef_, 1e6 * (model.coef_ + g), rtol=1e-4)
    assert twin.intercept_ == pytest.approx(1e6 * (model.intercept_ - 2), rel=1e-4)
    assert twin.scale_ == pytest.approx(1e6 * model.scale_, rel=1e-4)
    np.testing.assert_array_equal(twin.outliers_, model.outliers_)


def test_weights_are_copies():
    X, y, _ = data()
    copies = np.random.default_rng(3).integers(0, 4, y.size)
    weighted = HuberRegressor(alpha=0.5, tol=1e-11).fit(X, y, sample_weight=copies)
    repeated = HuberRegressor(alpha=0.5, tol=1e-11)
    repeated.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5)
    assert weighted.scale_ == pytest.approx(repeated.scale_, rel=1e-5)
    assert weighted.outliers_.shape == y.shape


@pytest.mark.parametrize("alpha", [0.0, 1e-4])
def test_where_samples_are_fitted_exactly_the_scale_is_small_and_positive(alpha):
    X, _, _ = data()
    y = X @ [1.0, 2.0, 3.0] + 4
    y[:5] = 100.0  # the best scale is still 0: the others are the larger part
    model = HuberRegressor(alpha=alpha).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert 0 < model.scale_ <= 1e-3
    np.testing.assert_allclose(model.coef_, [1, 2, 3], atol=1e-2)
    assert model.outliers_[:5].all()
    flat = HuberRegressor(alpha=alpha).fit(X, np.full(y.size, 7.0))
    assert flat.certificate_.relative == 0
    assert flat.scale_ > 0
    np.testing.assert_allclose(flat.predict(X), 7.0)


def test_the_null_model_is_the_best_without_features():
    X, y, s = data()
    problem = Scaled(build(Settings(mm.Huber(1.35), mm.L2(), 0.01), X, y, s, None, True), 1.0)
    best = optimize.minimize(
        lambda p: value(X, y, s, 1.35, 0.0, np.zeros(3), p[0], np.exp(p[1])), [0.0, 0.0], tol=1e-12
    )
    assert null_of(problem).value == pytest.approx(best.fun, rel=1e-6)
    assert null_of(problem.at(7.0)).value == pytest.approx(best.fun, rel=1e-6)


def test_scikit_learns_fit_is_audited_with_its_scale():
    X, y, s = data()
    ours = HuberRegressor(tol=1e-10).fit(X, y, sample_weight=s)
    peer = theirs.HuberRegressor(max_iter=5)
    with pytest.warns(match="lbfgs"):
        peer.fit(X, y, sample_weight=s)
    optimum = ours.certificate_.primal
    for evidence in (None, ours):
        audit = mm.certify(peer, X, y, sample_weight=s, against=evidence)
        true = value_of(peer, X, y, s) - optimum
        assert true <= audit.gap <= true * 1.01 + 1e-6
    peer.coef_, peer.intercept_, peer.scale_ = ours.coef_, ours.intercept_, 3 * ours.scale_
    audit = mm.certify(peer, X, y, sample_weight=s)
    assert audit.gap == pytest.approx(value_of(peer, X, y, s) - optimum, rel=1e-3)
    assert "σ ≥ 0" in audit.objective


def test_a_fit_that_stops_short_keeps_its_true_bound():
    X, y, _ = data()
    best = HuberRegressor(tol=1e-10).fit(X, y).certificate_.primal
    for most in (0, 1):
        model = HuberRegressor(max_iter=most, tol=1e-10)
        if most == 0:
            with pytest.warns(match=f"max_iter={most}"):
                model.fit(X, y)
        else:  # the first round finds coefficients and scale together
            model.fit(X, y)
        assert model.n_iter_ == most
        assert model.certificate_.dual <= best <= model.certificate_.primal


def test_a_warm_start_at_the_optimum_has_nothing_to_do():
    X, y, _ = data()
    model = HuberRegressor(alpha=1.0, warm_start=True, tol=1e-8).fit(X, y)
    scale = model.scale_
    assert model.fit(X, y).n_iter_ <= 1
    assert model.scale_ == pytest.approx(scale, rel=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_primal_is_that_of_the_model_where_columns_of_other_units_outnumber_rows(intercept):
    X = np.array([[-1.05e-2, 2366.7, 1e6], [5.63e-2, 2367.2, 1e6]])
    y = np.array([305609.0, -303609.0])
    model = HuberRegressor(fit_intercept=intercept).fit(X, y)
    assert model.certificate_.primal == pytest.approx(value_of(model, X, y, np.ones(2)), rel=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 1e-4])
@pytest.mark.filterwarnings("error")
def test_scale_is_found_where_the_slope_in_it_hardly_changes(alpha):
    numbers = """10034 -140 1490 124 9889 780 1170 176 10032 1220 -960 200 9978 80 780 173
        10005 460 2060 59 10121 2050 60 159 10025 -350 -230 -12"""
    X = np.array(numbers.split(), dtype=float).reshape(7, 4)
    y = np.array([985.0, 978, 1008, 1018, 995, 1009, 987])
    model, ones = HuberRegressor(alpha=alpha).fit(X, y), np.ones(7)
    assert model.certificate_.relative <= model.tol
    assert model.certificate_.primal == pytest.approx(value_of(model, X, y, ones), rel=1e-9)


def test_search_stays_below_a_value_of_the_objective_and_ends_in_a_flat_slope():
    def excess(sigma):  # almost flat, except near σ = 2
        return 1.0 + 0.01 * np.tanh(1e4 * np.log(2.0 / sigma))

    search, sigma, seen = _Search(most=50.0), 1e-3, []
    for _ in range(60):
        seen.append(sigma)
        sigma = search.next(sigma, excess(sigma), sigma * np.sqrt(excess(sigma)))
    assert max(seen) <= 50.0 * (1 + 1e-14)
    assert sigma == pytest.approx(2.0, rel=1e-8)
