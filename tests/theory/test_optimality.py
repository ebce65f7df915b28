"""The first-order conditions of the l1 norm, in the seeds' words.

wⱼ = 0 is optimal iff |∂ⱼL| ≤ α; wⱼ ≠ 0 ⇒ ∂ⱼL = −α·sign(wⱼ); α ≥ α_max = max|∂ⱼL(null)| ⇒ w = 0.
"""

import numpy as np
import oracle
import pytest
from scipy import sparse

import problems
from problems import PAIRS


def slopes(p, w, b):
    z = p.scores(w, b)
    return np.asarray(p.Xl.T @ (p.mass * p.formula.slope(z, oracle.ld(p.y))), float)


@pytest.mark.parametrize("kind", ["tall", "wide", "scales", "correlated", "constant"])
@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_kkt_of_l1(task, loss, kind):
    p = problems.problem(task, loss, "l1", kind, 0.03)
    d = p.X.shape[1]
    if kind == "scales":  # weights in the columns' own units, so that the support is not trivial
        p = oracle.Problem(
            loss, p.X, p.y, 0.03 * np.geomspace(1e-4, 1e4, d), p.l2, p.intercept, p.weight, p.offset
        )
    import minimand as mm

    penalty = mm.L1(p.l1 / 0.03)
    model = problems.estimator(task, loss, penalty, d, alpha=0.03, intercept=p.intercept, tol=1e-12)
    model, _ = problems.fit(model, p.X, p.y, p.weight, p.offset)
    c = model.certificate_
    w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    g = slopes(p, w, b)
    scale = max(c.primal, 1e-12)
    # L(w + e) ≤ L(w) + … : a slope can be off by √(2·curvature·gap), in units of l1
    spread = np.sqrt(np.asarray(p.mass @ (p.Xl * p.Xl), float))
    bend = 60.0 if loss == "poisson" else 2.0
    slack = np.sqrt(2 * bend * (c.gap + c.rounding + 1e-15 * scale)) * spread
    slack += 1e-9 * p.l1
    inactive = np.abs(g) < p.l1 - slack
    assert (w[inactive] == 0).all(), "a coefficient must be exactly zero where |∂L| < α"
    active = w != 0
    assert (np.abs(g + p.l1 * np.sign(w))[active] <= slack[active]).all()
    assert (np.abs(g) <= p.l1 + slack).all()
    if p.intercept:
        z = p.scores(w, b)
        total = float(p.mass @ p.formula.slope(z, oracle.ld(p.y)))
        assert abs(total) <= 1e-6 * scale + 1e-9


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_alpha_max(task, loss, intercept):
    rng = problems.rng_of("alpha_max", task, loss)
    X = problems.matrix("tall", rng)
    n, d = X.shape
    y = problems.target(task, loss, problems.score(X, rng), rng)
    weight = rng.uniform(0.5, 2.0, n)
    p = oracle.Problem(loss, X, y, np.ones(d), np.zeros(d), intercept, weight)
    top = np.abs(slopes(p, np.zeros(d), p.null_intercept)).max()
    for data in (X, sparse.csr_array(X)):
        for factor, zero in ((1 + 1e-9, True), (1.5, True), (100.0, True), (0.98, False)):
            model = problems.estimator(
                task, loss, "l1", d, alpha=factor * top, intercept=intercept, tol=1e-8
            )
            model, warned = problems.fit(model, data, y, weight)
            assert not warned
            assert (not model.coef_.any()) == zero, f"alpha = {factor}·alpha_max"
            if zero and intercept:
                b = float(np.ravel(model.intercept_)[0])
                assert b == pytest.approx(p.null_intercept, rel=1e-6, abs=1e-7)


def test_l2_stationarity_and_normal_equations():
    p = problems.problem("R", "squared", "l2", "tall", 0.1)
    model = problems.estimator("R", "squared", "l2", 6, alpha=0.1, intercept=p.intercept)
    model, _ = problems.fit(model, p.X, p.y, p.weight, p.offset)
    g = slopes(p, model.coef_, model.intercept_)
    np.testing.assert_allclose(g, -0.1 * model.coef_, atol=1e-10)


def test_zeros_are_exact_with_many_columns():
    """Beyond one working set, dense and sparse."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 400))
    y = X[:, :5] @ np.ones(5) + 0.1 * rng.standard_normal(60)
    for data in (X, sparse.csc_array(X * (np.abs(X) > 0.8))):
        model, warned = problems.fit(
            problems.estimator("R", "squared", "l1", 400, alpha=0.2, tol=1e-10), data, y
        )
        assert not warned
        assert 0 < np.count_nonzero(model.coef_) <= 60
