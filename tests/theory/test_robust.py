"""Fits with robust losses: they are stationary, good, never worse than the convex fit."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.certificate import judge
from minimand.estimators.prepare import posed
from minimand.problem.tangent import Tangent
from minimand.solvers import Graduated
from minimand.solvers.nested.graduated import _convex_fit

LOSSES = [mm.GemanMcClure(0.4), mm.TruncatedSquared(0.5)]
PENALTIES = [mm.NoPenalty(), mm.L2(), mm.L1(), mm.L1() + mm.L2(), mm.Box(-0.9, 0.9), mm.MCP()]


def contaminated(seed, n=60, d=3, share=0.25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    w = rng.uniform(-2, 2, d)
    y = X @ w + 0.7 + 0.1 * rng.standard_normal(n)
    outliers = rng.random(n) < share
    y[outliers] += rng.uniform(5, 30, outliers.sum())
    return X, y, w


def stationary(model, X, y, tol=1e-6, **data):
    """The certificate, made again from the coefficients, proves the model stationary."""
    assert model.certificate_.kind == "stationary"
    assert model.certificate_.relative <= tol
    audit = mm.certify(model, X, y, **data)
    assert audit.kind == "stationary"
    assert audit.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert audit.relative <= max(2 * tol, 1e-8)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_penalty(loss, penalty):
    X, y, w = contaminated(1)
    model = mm.Regressor(loss, penalty, alpha=0.01).fit(X, y)
    stationary(model, X, y)
    assert model.solver_ == "graduated"
    if not isinstance(penalty, mm.Box):
        assert_allclose(model.coef_, w, atol=0.15)


def test_weak_signal_with_a_gross_outlier():
    """y = 0·x + ε: one outlier drags least squares anywhere, a robust loss not at all."""
    rng = np.random.default_rng(5)
    x = np.linspace(-1, 1, 30)
    y = 0.1 * rng.standard_normal(30)
    y[-1] = 100.0
    least_squares = mm.Regressor("squared", "no_penalty").fit(x[:, None], y)
    assert least_squares.coef_[0] > 5
    inliers = np.polyfit(x[:-1], y[:-1], 1)
    for loss in (mm.GemanMcClure(0.5), mm.TruncatedSquared(0.5)):
        model = mm.Regressor(loss, "no_penalty").fit(x[:, None], y)
        assert abs(model.coef_[0]) < 0.1
        stationary(model, x[:, None], y)
    truncated = model  # least squares without the outlier, exactly
    assert_allclose([truncated.coef_[0], truncated.intercept_], inliers, atol=1e-10)
    y[-1] = 1e6  # and it does not matter how gross it is
    again = mm.Regressor(mm.TruncatedSquared(0.5), "no_penalty").fit(x[:, None], y)
    assert_allclose(again.coef_, truncated.coef_, atol=1e-8)


def test_slopes_are_ordered_by_robustness():
    x = np.arange(10.0)
    y = 0.5 * x + 0.05 * np.cos(7 * x)
    y[-1] += 12.0
    slope = {
        loss: float(mm.Regressor(loss, "no_penalty").fit(x[:, None], y).coef_[0])
        for loss in ("squared", "absolute", "geman_mc_clure")
    }
    assert slope["squared"] > slope["absolute"] + 0.02
    assert slope["absolute"] > slope["geman_mc_clure"] > 0.45


def grid_minimum(loss, x, y, intercept):
    """The least mean loss over a fine grid of lines."""
    shifts = np.linspace(-5, 5, 201) if intercept else np.zeros(1)
    target = np.broadcast_to(y[:, None], (y.size, shifts.size))
    return min(
        float(loss.value(w * x[:, None] + shifts, target).mean(axis=0).min())
        for w in np.linspace(-4, 4, 201)
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_no_line_on_a_grid_is_better(loss, seed):
    X, y, _ = contaminated(seed, n=30, d=1, share=0.35)
    y = np.clip(y, -4, 4)
    model = mm.Regressor(loss, "no_penalty").fit(X, y)
    assert model.certificate_.primal <= grid_minimum(loss, X[:, 0], y, True) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_truncated_squares_against_all_subsets(seed):
    """The optimum is the least-squares fit of some subset."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 1))
    y = X[:, 0] + 0.2 * rng.standard_normal(8)
    y[:2] = rng.uniform(-4, 4, 2)
    A, best = np.column_stack([X, np.ones(8)]), 0.16
    for size in range(1, 9):
        for subset in itertools.combinations(range(8), size):
            w = np.linalg.lstsq(A[list(subset)], y[list(subset)], rcond=None)[0]
            best = min(best, np.minimum(0.16, (A @ w - y) ** 2).mean())
    model = mm.Regressor(mm.TruncatedSquared(0.4), "no_penalty").fit(X, y)
    assert model.certificate_.primal == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_margin_loss_against_a_grid(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 1))
    y = np.where(X[:, 0] + 0.3 > 0, 1.0, -1.0)
    y[:6] *= -1
    model = mm.Classifier(mm.TanhMargin(), "l2", alpha=0.02).fit(X, y)
    stationary(model, X, y)
    shifts = np.linspace(-10, 10, 401)
    least = min(
        float((1 - np.tanh(y[:, None] * (w * X + shifts))).mean(axis=0).min()) + 0.01 * w * w
        for w in np.linspace(-8, 8, 321)
    )
    assert model.certificate_.primal <= least + 1e-9
    assert model.score(X, y) >= 0.8


def test_far_mistakes_do_not_move_a_tanh_classifier():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    X[:5], y[:5] = [-40.0, 30.0], 1
    logistic = mm.Classifier("logistic", "l2", alpha=0.01).fit(X, y)
    robust = mm.Classifier("tanh_margin", "l2", alpha=0.01).fit(X, y)
    clean = slice(5, None)
    assert robust.score(X[clean], y[clean]) > logistic.score(X[clean], y[clean])
    assert abs(robust.coef_[0, 1] / robust.coef_[0, 0]) < 0.1
    assert not hasattr(robust, "predict_proba")


@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from([*LOSSES, mm.GemanMcClure(0.05), mm.TruncatedSquared(3.0)]),
    penalty=st.sampled_from(["no_penalty", "l2", "l1", mm.NonNegative()]),
    restarts=st.sampled_from([0, 2]),
)
@settings(max_examples=25, deadline=None)
def test_never_worse_than_the_convex_start(seed, loss, penalty, restarts):
    X, y, _ = contaminated(seed, n=20, d=2, share=0.4)
    model = mm.Regressor(loss, penalty, alpha=0.05, solver=Graduated(restarts))
    objective = posed(model, X, y).objectives[0]
    control = model._control([])
    control.target = control.tol * objective.scale
    start = objective.primal(_convex_fit(objective, control))
    model.fit(X, y)
    assert model.certificate_.primal <= start + 1e-12
    assert model.certificate_.relative <= 1e-6


@given(seed=st.integers(0, 10**6), penalty=st.sampled_from(["l2", "l1", mm.MCP()]))
@settings(max_examples=15, deadline=None)
def test_the_tangent_lies_above_and_touches(seed, penalty):
    X, y, _ = contaminated(seed, n=15, d=2)
    rng = np.random.default_rng(seed)
    for loss in LOSSES:
        objective = posed(mm.Regressor(loss, penalty, alpha=0.1), X, y).objectives[0]
        here = objective.point(rng.standard_normal(2), rng.standard_normal())
        tangent = Tangent.at(objective, here)
        bound = lambda p, t=tangent: t.unit * t.problem.primal(p)  # noqa: E731
        constant = objective.primal(here) - bound(here)
        judgement = judge(objective, here)
        for _ in range(10):
            there = objective.point(3 * rng.standard_normal(2), rng.standard_normal())
            assert objective.primal(there) <= bound(there) + constant + 1e-10
            # The dual value bounds the tangent problem from below, everywhere.
            assert judgement.primal - judgement.gap <= bound(there) + constant + 1e-10


@pytest.mark.parametrize("loss", [*LOSSES, mm.TanhMargin()], ids=repr)
def test_objective_never_rises(loss):
    """From the second phase on, each judged point is better than the last."""
    X, y, _ = contaminated(4)
    states = []
    make = mm.Regressor
    if loss.target == "sign":
        make, y = mm.Classifier, np.sign(y - 0.7)
    model = make(loss, "l1", alpha=0.02, tol=1e-10, callbacks=[states.append]).fit(X, y)
    primal = np.array([state.primal for state in states])
    assert (np.diff(primal) <= 1e-12).all()
    assert model.certificate_.relative <= 1e-10


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_weights_are_copies_and_sparse_is_dense(loss):
    X, y, _ = contaminated(7, n=40)
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 4, len(y))
    offset = 0.3 * rng.standard_normal(len(y))
    twice = np.repeat(np.arange(len(y)), counts)
    make = lambda: mm.Regressor(loss, "l1", alpha=0.02, tol=1e-11)  # noqa: E731
    weighted = make().fit(X, y, sample_weight=counts, offset=offset)
    stationary(weighted, X, y, tol=1e-8, sample_weight=counts, offset=offset)
    copied = make().fit(X[twice], y[twice], offset=offset[twice])
    assert_allclose(weighted.coef_, copied.coef_, atol=1e-5)
    for X2 in (sparse.csr_array(X), sparse.csc_array(X)):
        other = make().fit(X2, y, sample_weight=counts, offset=offset)
        assert_allclose(other.coef_, weighted.coef_, atol=1e-5)
    none = mm.Regressor(loss, "l2", alpha=0.02, intercept=False).fit(X, y)
    assert none.intercept_ == 0.0
    stationary(none, X, y)


def test_units_of_y_do_not_matter():
    X, y, _ = contaminated(9)
    one = mm.Regressor(mm.GemanMcClure(0.4), "no_penalty", tol=1e-12).fit(X, y)
    other = mm.Regressor(mm.GemanMcClure(400.0), "no_penalty", tol=1e-12).fit(X, 1e3 * y)
    assert_allclose(other.coef_, 1e3 * one.coef_, rtol=1e-6)


def test_many_rows_are_searched_on_some_of_them():
    X, y, w = contaminated(11, n=20_000, d=4, share=0.4)
    for loss in LOSSES:
        model = mm.Regressor(loss, "l2", alpha=1e-4).fit(X, y)
        stationary(model, X, y)
        assert_allclose(model.coef_, w, atol=0.02)


def test_random_state_and_restarts():
    X, y, _ = contaminated(13)
    make = lambda **k: mm.Regressor(mm.TruncatedSquared(0.5), "l2", alpha=1e-3, **k)  # noqa: E731
    assert_allclose(make().fit(X, y).coef_, make().fit(X, y).coef_, atol=0)
    stationary(make(random_state=3).fit(X, y), X, y)
    assert make(solver=Graduated(restarts=0)).fit(X, y).certificate_.relative <= 1e-6
    with pytest.raises(ValueError, match="restarts of Graduated must be an integer ≥ 0"):
        make(solver=Graduated(restarts=-1)).fit(X, y)


def test_warm_starts_are_kept_if_they_are_good():
    X, y, _ = contaminated(15)
    model = mm.Regressor(mm.GemanMcClure(0.4), "l2", alpha=0.01, warm_start=True).fit(X, y)
    first = model.certificate_.primal
    model.fit(X, y)
    assert model.certificate_.primal <= first * (1 + 1e-12)


@pytest.mark.parametrize("limits", [{"max_iter": 1}, {"max_seconds": 1e-9}])
def test_a_fit_that_is_stopped_is_a_model_and_says_so(limits):
    X, y, _ = contaminated(17)
    model = mm.Regressor(mm.GemanMcClure(0.05), "l1", alpha=1e-3, tol=1e-15, **limits)
    with pytest.warns(ConvergenceWarning, match=r"max_.*convex tangent"):
        model.fit(X, y)
    assert model.certificate_.primal == pytest.approx(mm.certify(model, X, y).primal, rel=1e-12)


def test_where_everything_is_an_outlier():
    """Zero weights everywhere: the tangent is the penalty alone, and no number is wrong."""
    X, y, _ = contaminated(19, n=12)
    model = mm.Regressor(mm.TruncatedSquared(0.5), "l2", alpha=0.1).fit(X, y)
    model.coef_, model.intercept_ = np.array([1.0, 2.0, 3.0]), 1e9
    audit = mm.certify(model, X, y)
    assert audit.primal == pytest.approx(0.25 + 0.1 * 0.5 * 14.0)
    assert audit.gap == pytest.approx(0.1 * 0.5 * 14.0)
    constant = mm.Regressor(mm.TruncatedSquared(0.5), "l2").fit(X, np.full(12, 3.0))
    assert constant.intercept_ == pytest.approx(3.0)
    assert constant.certificate_.relative <= 1e-6


def test_explain_and_refusals():
    X, y, _ = contaminated(21)
    found = mm.explain(mm.Regressor("geman_mc_clure", "l1", alpha=0.1), X, y)
    assert found.chosen == "graduated"
    assert "geman_mc_clure(z, y; sigma=1.0)" in found.objective
    for name, verdict in found.verdicts.items():
        assert verdict.ok == (name in ("graduated", "sgd"))
        reason = "design has columns" if name in ("smo", "row_system") else "loss is not convex"
        reason = "not a difference of convex losses" if name == "convex_concave" else reason
        assert verdict.ok or reason in verdict.reason
    with pytest.raises(ValueError, match="the loss is not convex; 'graduated'"):
        mm.Regressor("truncated_squared", "l2", solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="the loss is convex"):
        mm.Regressor("squared", "l2", solver="graduated").fit(X, y)
    with pytest.raises(ValueError, match=r"takes the labels ±1: use minimand.Classifier"):
        mm.Regressor("tanh_margin").fit(X, y)


class Cauchy(mm.RobustLoss):
    def curve(self, s):
        return np.log1p(s)

    def slope(self, s):
        return 1 / (1 + s)


def test_a_users_own_loss_fits_and_paths_work():
    X, y, w = contaminated(23)
    model = mm.Regressor(Cauchy(), "no_penalty").fit(X, y)
    stationary(model, X, y)
    assert_allclose(model.coef_, w, atol=0.3)
    path = mm.path(mm.Regressor(mm.GemanMcClure(0.5), "l1"), X, y, alphas=5)
    assert all(c.kind == "stationary" and c.relative <= 1e-6 for c in path.certificates)
    assert path.n_nonzero[-1] == 3


def test_separable_classes_and_several_classes():
    X = np.linspace(-1, 1, 40)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = mm.Classifier("tanh_margin", "l2", alpha=0.01).fit(X, X[:, 0] > 0.1)
    assert held.certificate_.relative <= 1e-6
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 90)
    points = np.eye(3)[labels] * 3 + rng.standard_normal((90, 3))
    several = mm.Classifier("tanh_margin", "l2", alpha=0.01).fit(points, labels)
    assert several.coef_.shape == (3, 3)
    assert several.certificate_.kind == "stationary"
    assert several.score(points, labels) > 0.85


@pytest.mark.parametrize("seed", range(3))
def test_powers_below_one_pass_through_samples(seed):
    """|r|^p is concave between samples: without a penalty its minima are vertices."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, 1))
    y = X[:, 0] + 0.2 * rng.standard_normal(14)
    y[:4] = rng.uniform(2, 6, 4)
    A = np.column_stack([X, np.ones(14)])
    heights = []
    for pair in itertools.combinations(range(14), 2):
        r = A @ np.linalg.solve(A[list(pair)], y[list(pair)]) - y
        r[list(pair)] = 0.0
        heights.append(np.sqrt(np.abs(r)).mean())
    model = mm.Regressor(mm.Lp(0.5), "no_penalty").fit(X, y)
    stationary(model, X, y)
    assert (np.abs(model.predict(X) - y) < 1e-12).sum() >= 2
    assert model.certificate_.primal <= np.quantile(heights, 0.03)
    absolute = mm.Regressor("absolute", "no_penalty").fit(X, y)
    assert model.certificate_.primal <= np.sqrt(np.abs(absolute.predict(X) - y)).mean() + 1e-9


def test_powers_below_one_with_l1():
    X, y, w = contaminated(31, n=30, d=2)
    model = mm.Regressor(mm.Lp(0.5), "l1", alpha=0.02).fit(X, y)
    assert model.certificate_.kind == "stationary"
    assert model.certificate_.relative <= 1e-6
    assert_allclose(model.coef_, w, atol=0.2)


@pytest.mark.parametrize("loss", [mm.GemanMcClure(), mm.TruncatedSquared()], ids=repr)
def test_goals_below_the_rounding_of_a_tangent_are_given_up(loss):
    """y of 1e6 and a residual of 1 that matters: no tangent can be solved to that."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((8, 20))
    y = 1e6 * (X[:, 0] + rng.standard_normal(8))
    model = mm.Regressor(loss, "l1", alpha=0.01).fit(X, y)
    stationary(model, X, y)
    assert model.certificate_.passes < 3000


@pytest.mark.parametrize("p", [0.9, 0.7])
@pytest.mark.parametrize("alpha", [0.1, 1e-3])
@pytest.mark.parametrize("shape", [(20, 2), (60, 5)])
def test_powers_below_one_are_proved_stationary(p, alpha, shape):
    """Samples on the plane are held by huge slopes; only the right multipliers prove it."""
    X, y, _ = contaminated(1, *shape)
    model = mm.Regressor(mm.Lp(p), "l2", alpha=alpha).fit(X, y)
    assert model.certificate_.kind == "stationary"
    assert model.certificate_.relative <= 1e-6


def test_a_path_searches_less_and_is_never_worse_than_convex_starts():
    X, y, _ = contaminated(2, share=0.4)
    estimator = mm.Regressor(mm.TruncatedSquared(0.5), "l1")
    path = mm.path(estimator, X, y, alphas=6)
    afresh = 0.0
    for alpha, certificate in zip(path.alphas, path.certificates, strict=True):
        model = mm.Regressor(mm.TruncatedSquared(0.5), "l1", alpha=alpha)
        objective = posed(model, X, y).objectives[0]
        control = model._control([])
        control.target = control.tol * objective.scale
        assert certificate.primal <= objective.primal(_convex_fit(objective, control)) + 1e-12
        afresh += model.fit(X, y).certificate_.passes
    assert sum(certificate.passes for certificate in path.certificates) < 0.8 * afresh
