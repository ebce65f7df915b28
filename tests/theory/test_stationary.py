"""Fits with non-convex penalties: stationary, never worse than the lasso, the same every way."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import minimand as mm
import problems
from minimand.estimators.prepare import copy_of, posed
from own_models import Kinked, Logarithm
from problems import KINDS, PAIRS, rng_of

PENALTIES = {
    "mcp": mm.MCP(),
    "scad": mm.SCAD(),
    "lq": mm.Lq(0.5),
    "weighted": mm.MCP(2.0, weights=np.linspace(0.0, 2.0, 12)),
    "sum": mm.SCAD() + 0.1 * mm.L2() + 0.05 * mm.L1(),
}
TASKS = ["squared", "huber", "poisson", "cross_entropy", "logistic", "squared_hinge"]


def data(*names, n=80, d=12, rho=0.5):
    """X with mean squares near 1, a few strong coefficients, noise."""
    rng = rng_of(*names)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    w = np.zeros(d)
    w[:4] = [2.0, -1.5, 1.0, 0.5]
    return X, X @ w + rng.standard_normal(n), rng


def problem(loss, name, **kwargs):
    X, z, rng = data(loss, name)
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(z / 3, -2, 2))).astype(float)
    elif loss == "cross_entropy":
        y = 1 / (1 + np.exp(-z))
    else:
        y = z if loss in ("squared", "huber") else np.sign(z + rng.standard_normal(len(z)))
    make = mm.Classifier if loss in ("logistic", "squared_hinge") else mm.Regressor
    return make(loss, PENALTIES[name], **{"alpha": 0.1, **kwargs}), X, y


def value(model, X, y, coef=None, intercept=None):
    """The objective of a fitted model, or of other coefficients."""
    (objective,) = posed(copy_of(model), X, y).objectives
    coef = model.coef_ if coef is None else coef
    b = model.intercept_ if intercept is None else intercept
    point = objective.point(np.ravel(coef).astype(float), float(np.ravel(b)[0]))
    return objective.primal(point)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("loss", TASKS)
def test_stationary_and_never_worse_than_the_lasso(loss, name):
    model, X, y = problem(loss, name, tol=1e-9)
    model.fit(X, y)
    certificate = model.certificate_
    assert certificate.kind == "stationary"
    assert certificate.relative <= 1e-9
    assert certificate.primal == pytest.approx(value(model, X, y), rel=1e-14)
    assert certificate.dual == pytest.approx(certificate.primal - certificate.gap)
    assert "other minima may be lower" in certificate.meaning
    assert model.solver_ == "reweighted"
    penalty = mm.L1(getattr(PENALTIES[name], "weights", None))
    if name == "sum":
        penalty = 1.05 * penalty + 0.1 * mm.L2()
    lasso = type(model)(loss, penalty, alpha=model.alpha, tol=1e-9).fit(X, y)
    lassos = value(model, X, y, lasso.coef_, lasso.intercept_)
    assert certificate.primal <= lassos + 1e-9 * (1 + abs(lassos))
    audit = mm.certify(model, X, y)
    assert audit.kind == "stationary"
    assert audit.relative <= 1e-9
    assert audit.by_feature.shape == (12,)
    assert audit.by_feature.sum() + audit.by_sample.sum() <= audit.gap * (1 + 1e-9) + 1e-15
    _no_direction_leads_downhill(model, X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_the_gap_is_that_of_the_tangent(task, loss, kind):
    """An independent method minimises the tangent problem: it finds nothing below dual."""
    p = problems.problem(task, loss, "l1", kind)
    for penalty in (mm.MCP(), mm.SCAD(), mm.Lq(0.5)):
        for limits in ({}, {"max_iter": 1}, {"max_iter": 3}):
            model = problems.estimator(
                task, loss, penalty, None, alpha=0.03, intercept=p.intercept, tol=1e-8, **limits
            )
            model, warned = problems.fit(model, p.X, p.y, p.weight, p.offset)
            c, w = model.certificate_, np.ravel(model.coef_)
            unattained = kind == "wide" and loss in ("logistic", "poisson", "cross_entropy")
            assert c.relative <= 1e-8 or c.gap <= c.rounding or limits or (warned and unattained)
            with np.errstate(divide="ignore"):
                slopes = penalty.slope(np.abs(w), np.full(w.size, 0.03))
            kept = np.isfinite(slopes)
            if not kept.any() or not np.isfinite(c.gap):
                continue
            tangent = replace(p, X=p.X[:, kept], l1=slopes[kept], l2=np.zeros(kept.sum()))
            constant = penalty.scaled(0.03).value(w) - slopes[kept] @ np.abs(w[kept])
            moved = replace(c, primal=c.primal - constant, dual=c.dual - constant)
            oracle.check_certificate(tangent, w[kept], model.intercept_, moved)


def _no_direction_leads_downhill(model, X, y):
    """One-sided slopes of P along coordinates and random directions, by small steps."""
    rng = rng_of("directions")
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    here, d = value(model, X, y), w.size
    directions = [*np.eye(d + 1), *-np.eye(d + 1), *rng.standard_normal((30, d + 1))]
    step = 1e-4
    for v in directions:
        there = value(model, X, y, w + step * v[:d], b + step * v[d])
        # A stationary point of a concave penalty may curve down: 1/γ and its like at most.
        assert there - here >= -step * (3e-4 + step * 5.0) * np.linalg.norm(v)


def test_orthonormal_columns_are_thresholded_one_by_one():
    """XᵀX = nI: each coefficient is the prox of its least-squares value."""
    rng = rng_of("orthonormal")
    n, d = 64, 8
    X = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, d))]))[0][:, 1:]
    X *= np.sqrt(n)
    w = np.array([3.0, -2.0, 1.2, 0.9, -0.6, 0.3, 0.1, 0.0])
    y = X @ w + 0.1 * rng.standard_normal(n) + 5.0
    least_squares = X.T @ y / n
    for penalty in (mm.MCP(3.0), mm.SCAD(3.7), mm.MCP(1.5)):
        for alpha in (0.05, 0.3, 0.6):
            model = mm.Regressor("squared", penalty, alpha=alpha, tol=1e-13).fit(X, y)
            closed = penalty.scaled(alpha).prox(least_squares, 1.0)
            assert_allclose(model.coef_, closed, atol=1e-6)
            assert_allclose(model.intercept_, y.mean())


def coordinate_descent(X, y, penalty, alpha, start, sweeps=3000):
    """Plain cyclic descent with the scalar prox, for squared loss."""
    n, d = X.shape
    w, mean = start.copy(), X.mean(axis=0)
    X, y = X - mean, y - y.mean()
    size, bound = (X * X).mean(axis=0), penalty.scaled(alpha)
    r = y - X @ w
    for _ in range(sweeps):
        before = w.copy()
        for j in range(d):
            target = w[j] + X[:, j] @ r / n / size[j]
            new = bound.prox(np.array([target]), 1 / size[j])[0]
            r += X[:, j] * (w[j] - new)
            w[j] = new
        if np.abs(w - before).max() < 1e-12:
            break
    return w


@pytest.mark.parametrize("penalty", [mm.MCP(), mm.SCAD()], ids=repr)
def test_the_same_point_as_coordinate_descent(penalty):
    """Where XᵀX/n has eigenvalues above 1/γ the objective is convex and its minimum unique."""
    X, y, _ = data("descent", n=400, d=8, rho=0.2)
    assert np.linalg.eigvalsh(np.cov(X.T))[0] > 1 / 2.7
    model = mm.Regressor("squared", penalty, alpha=0.3, tol=1e-13).fit(X, y)
    other = coordinate_descent(X, y, penalty, 0.3, np.zeros(8))
    assert 0 < np.count_nonzero(other) < 8
    assert_allclose(model.coef_, other, atol=1e-5)


def test_large_coefficients_are_not_shrunk():
    """With the right support, MCP and SCAD are least squares on it; the lasso is biased."""
    X, y, _ = data("oracle", n=300, d=40, rho=0.2)
    y = y + X[:, 3] * 2.0
    alpha = 0.25
    truth = np.zeros(40)
    A = np.column_stack([X[:, :4], np.ones(300)])
    truth[:4] = np.linalg.lstsq(A, y, rcond=None)[0][:4]
    assert np.abs(truth[:4]).min() > 3.7 * alpha
    for penalty in (mm.MCP(), mm.SCAD()):
        model = mm.Regressor("squared", penalty, alpha=alpha, tol=1e-12).fit(X, y)
        assert_allclose(model.coef_, truth, atol=1e-6)
    lasso = mm.Regressor("squared", "l1", alpha=alpha).fit(X, y)
    assert np.abs(lasso.coef_ - truth).max() > 0.1


@pytest.mark.parametrize("penalty", [mm.MCP(1e8), mm.SCAD(1e8)], ids=repr)
def test_the_limit_is_the_lasso(penalty):
    X, y, _ = data("limit")
    lasso = mm.Regressor("squared", "l1", alpha=0.2, tol=1e-12).fit(X, y)
    model = mm.Regressor("squared", penalty, alpha=0.2, tol=1e-12).fit(X, y)
    assert_allclose(model.coef_, lasso.coef_, atol=1e-6)


def test_q_one_and_alpha_zero_are_convex():
    X, y, _ = data("convex")
    lasso = mm.Regressor("squared", "l1", alpha=0.2).fit(X, y)
    same = mm.Regressor("squared", mm.Lq(1.0), alpha=0.2).fit(X, y)
    assert same.solver_ == "working_set"
    assert same.certificate_.kind == "global"
    assert_allclose(same.coef_, lasso.coef_)
    plain = mm.Regressor("squared", "mcp", alpha=0.0).fit(X, y)
    assert plain.certificate_.kind == "global"


@pytest.mark.parametrize("name", ["mcp", "scad", "lq"])
def test_large_alpha_gives_the_null_model(name):
    X, y, _ = data("null")
    model = mm.Regressor("squared", name, alpha=1e3).fit(X, y)
    assert not model.coef_.any()
    assert model.intercept_ == pytest.approx(y.mean())
    assert model.certificate_.gap <= 1e-12


@pytest.mark.parametrize("name", ["mcp", "scad", "lq"])
def test_weights_are_copies_and_sparse_is_dense(name):
    X, y, rng = data("weights", name)
    counts = rng.integers(0, 4, len(y))
    offset = 0.3 * rng.standard_normal(len(y))
    twice = np.repeat(np.arange(len(y)), counts)
    make = lambda: mm.Regressor("huber", name, alpha=0.1, tol=1e-12)  # noqa: E731
    weighted = make().fit(X, y, sample_weight=counts, offset=offset)
    copied = make().fit(X[twice], y[twice], offset=offset[twice])
    assert_allclose(weighted.coef_, copied.coef_, atol=1e-5)
    for X2 in (sparse.csr_array(X), sparse.csc_array(X), X.astype(np.float32)):
        other = make().fit(X2, y, sample_weight=counts, offset=offset)
        assert_allclose(other.coef_, weighted.coef_, atol=1e-3 if X2.dtype == "f4" else 1e-5)


def test_lq_knows_the_units_of_y():
    """|w|^q scales with y, a lasso of the same alpha does not: columns must not be lost by it."""
    X, y, _ = data("units")
    small = mm.Regressor("squared", mm.Lq(0.5), alpha=0.1, tol=1e-10).fit(X, y)
    large = mm.Regressor("squared", mm.Lq(0.5), alpha=0.1 * 1e3**1.5, tol=1e-10).fit(X, 1e3 * y)
    assert np.count_nonzero(small.coef_) >= 3
    assert_allclose(large.coef_, 1e3 * small.coef_, rtol=1e-4)


def test_one_versus_rest_certifies_every_class():
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    model = mm.Classifier("squared_hinge", "scad", alpha=0.02).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.certificate_.kind == "stationary"
    assert model.certificate_.relative <= 1e-6
    assert mm.certify(model, X, y).relative <= 1e-6
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_lq_starts_from_anywhere(start):
    """Zero is always a local minimum of Lq, and a start may use columns that no tangent can."""
    X, y, _ = data("anywhere")
    X[:, 5] = 2.0
    cold = mm.Regressor("squared", "lq", alpha=0.1, tol=1e-9).fit(X, y)
    warm = mm.Regressor("squared", "lq", alpha=0.1, tol=1e-9, warm_start=True).fit(X, y)
    warm.coef_ = np.full(12, start)
    warm.fit(X, y)
    assert warm.certificate_.relative <= 1e-9
    assert_allclose(warm.coef_, cold.coef_, atol=1e-4)


def test_warm_starts_never_do_worse():
    X, y, rng = data("warm", d=12)
    model = mm.Regressor("squared", mm.MCP(1.5), alpha=0.2, warm_start=True, tol=1e-9).fit(X, y)
    first = model.certificate_.primal
    model.fit(X, y)
    assert model.certificate_.primal <= first * (1 + 1e-12)
    for _ in range(5):
        model.coef_ = rng.standard_normal(12)
        given = value(model, X, y)
        lasso = mm.Regressor("squared", "l1", alpha=0.2, tol=1e-9).fit(X, y)
        model.fit(X, y)
        start = min(given, value(model, X, y, lasso.coef_, lasso.intercept_))
        assert model.certificate_.primal <= start + 1e-9


@pytest.mark.parametrize("name", ["mcp", "lq"])
@pytest.mark.parametrize("limits", [{"max_iter": 1}, {"max_iter": 3}, {"max_seconds": 1e-9}])
def test_a_fit_that_is_stopped_is_a_model_and_says_so(name, limits):
    X, y, _ = data("stopped", d=30)
    model = mm.Regressor("poisson", name, alpha=0.02, tol=1e-14, **limits)
    with pytest.warns(ConvergenceWarning, match="max_.*convex tangent"):
        model.fit(X, np.exp(np.clip(y, -3, 3)))
    audit = mm.certify(model, X, np.exp(np.clip(y, -3, 3)))
    assert model.certificate_.primal == pytest.approx(audit.primal, rel=1e-13)
    assert model.certificate_.kind == "stationary"


def test_callbacks_see_the_true_objective():
    X, y, _ = data("callbacks")
    states = []
    model = mm.Regressor("squared", mm.MCP(1.2), alpha=0.05, callbacks=[states.append], tol=1e-10)
    model.fit(X, y)
    assert len(states) >= 3
    for state in states:
        seen = value(model, X, y, state.point.w, state.point.b)
        assert state.primal == pytest.approx(seen, rel=1e-12)
    assert states[-1].gap <= states[-1].target
    with pytest.warns(ConvergenceWarning, match="a callback"):
        mm.Regressor("squared", "mcp", alpha=0.05, callbacks=[lambda _: mm.STOP]).fit(X, y)


def test_separable_classes_are_reported_not_bounded():
    """Beyond γλ nothing holds a coefficient back: separable classes have no minimiser."""
    X = np.linspace(-1, 1, 40)[:, None]
    with pytest.warns(ConvergenceWarning, match="no minimiser exists.*add a penalty"):
        model = mm.Classifier("logistic", "mcp", alpha=0.01).fit(X, X[:, 0] > 0.1)
    assert model.certificate_.gap == np.inf
    held = mm.Classifier("logistic", mm.MCP() + 0.1 * mm.L2(), alpha=0.01).fit(X, X[:, 0] > 0.1)
    assert held.certificate_.relative <= 1e-6


def test_explain_and_refusals():
    X, y, _ = data("explain")
    found = mm.explain(mm.Regressor("squared", "mcp", alpha=0.1), X, y)
    assert found.chosen == "reweighted"
    assert "λ=0.1, γ=3" in found.objective
    for name, verdict in found.verdicts.items():
        assert verdict.ok == (name == "reweighted")
        # No proximal steps; nothing to graduate in the loss; not a kernel's design.
        other_reasons = {"sgd", "convex_concave", "graduated", "smo", "row_system"}
        assert verdict.ok or name in other_reasons or "not convex" in verdict.reason
    with pytest.raises(ValueError, match="does not accept this problem: the penalty is not convex"):
        mm.Regressor("squared", "scad", solver="working_set").fit(X, y)
    with pytest.raises(ValueError, match="the penalty is convex"):
        mm.Regressor("squared", "l1", solver="reweighted").fit(X, y)

    with pytest.raises(ValueError, match="has a kink: say its `pieces`"):
        mm.Regressor(Kinked(), "mcp").fit(X, y)


def test_a_users_own_penalty_fits():
    X, y, _ = data("own")
    model = mm.Regressor("squared", Logarithm(), alpha=0.2, tol=1e-10).fit(X, y)
    assert model.certificate_.relative <= 1e-10
    _no_direction_leads_downhill(model, X, y)


def test_many_columns_and_duplicates():
    X, y, _ = data("wide", n=60, d=200, rho=0.7)
    X[:, 50] = X[:, 0]
    X[:, 51] = 3.0
    for penalty in (mm.MCP(), mm.SCAD(), mm.Lq(0.5)):
        model = mm.Regressor("squared", penalty, alpha=0.2).fit(X, y)
        assert model.certificate_.relative <= 1e-6
        assert model.coef_[51] == 0.0
