"""dual ≤ optimum ≤ primal, always, and gap ≤ tol·scale at return.

The optimum is an independent one: Clarabel (quadratic and exponential cones) polished by Newton in
extended precision, see oracle; SciPy cross-checks the oracle itself.
"""

import numpy as np
import oracle
import pytest
from scipy import optimize

import problems
from problems import KINDS, PAIRS, PENALTIES

ALPHA = 0.03


def may_have_no_minimiser(loss, penalty, kind):
    """Unpenalised directions can push log-type losses to infinity when d ≥ n."""
    free = penalty == "none" or penalty.startswith("weighted")
    return free and kind == "wide" and loss in ("logistic", "poisson", "cross_entropy")


def reached(c):
    """The gap meets tol, or rounding that is itself far below the size of the problem."""
    return c.relative <= 1e-6 or c.gap <= c.rounding <= 1e-9 * max(c.primal, 1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("task", "loss"), PAIRS)
def test_certificates_are_true(task, loss, penalty, kind):
    p = problems.problem(task, loss, penalty, kind, ALPHA)
    d = p.X.shape[1]

    def run(X, **kwargs):
        model = problems.estimator(
            task, loss, penalty, d, alpha=ALPHA, intercept=p.intercept, **kwargs
        )
        model, warned = problems.fit(model, X, p.y, p.weight, p.offset)
        c = model.certificate_
        oracle.check_certificate(p, model.coef_, model.intercept_, c)
        assert warned or reached(c)
        return model

    for X in (problems.sparse_of(p.X, kind), p.X):
        model = run(X)
        c = model.certificate_
        if not may_have_no_minimiser(loss, penalty, kind):
            assert reached(c), c
        assert c.dual == pytest.approx(c.primal - c.gap, rel=1e-15)
    # the dual point is what it says: its own value, in extended precision
    if np.isfinite(c.gap):
        gap = float(p.gap(model.coef_.ravel(), float(np.ravel(model.intercept_)[0]), c.dual_point))
        assert gap == pytest.approx(c.gap, rel=1e-3, abs=1e-9 * max(1.0, abs(c.primal)))
    # stopped early, it is a worse model with a true certificate
    for limits in ({"max_iter": 1}, {"max_iter": 2}, {"max_iter": 5}, {"max_seconds": 1e-9}):
        run(p.X, **limits)


@pytest.mark.parametrize("loss", sorted(oracle.FORMULAS))
@pytest.mark.parametrize("penalty", ["l1", "l2", "mixed"])
def test_the_oracle_agrees_with_scipy(loss, penalty):
    task = "C" if loss in ("logistic", "squared_hinge") else "R"
    p = problems.problem(task, loss, penalty, "tall", ALPHA)
    d = p.X.shape[1]

    def value(x):
        w, b = x[:d] - x[d : 2 * d], x[-1]
        z = np.asarray(p.scores(w, b), float)
        g = np.asarray(p.mass, float) * np.asarray(p.formula.slope(z, p.y), float)
        s = p.X.T @ g + p.l2 * w
        total = float(p.primal(w, b)) + 2 * float(p.l1 @ np.minimum(x[:d], x[d : 2 * d]))
        return total, np.concatenate([s + p.l1, -s + p.l1, [g.sum()]])

    bounds = [(0, None)] * (2 * d) + [(None, None) if p.intercept else (0, 0)]
    found = optimize.minimize(
        value, np.zeros(2 * d + 1), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 3000},
    )  # fmt: skip
    _, _, best, slack = p.optimum()
    assert abs(float(slack)) <= 1e-8
    assert found.fun == pytest.approx(float(best), rel=1e-7)


@pytest.mark.parametrize("solver", ["newton", "working_set"])
@pytest.mark.parametrize("loss", ["logistic", "cross_entropy"])
def test_separable_without_penalty_is_never_a_wrong_number(loss, solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    model = problems.estimator("C", loss, "none", 2, solver=solver)
    model, warned = problems.fit(model, X, y)
    c = model.certificate_
    assert c.dual <= 1e-12  # the infimum is 0 and is not attained
    assert c.primal >= 0
    if not np.isfinite(c.gap):
        assert warned
        assert "separate" in c.infeasibility or "unpenalised" in c.infeasibility
        assert c.dual == -np.inf
    else:
        assert c.gap >= c.primal * (1 - 1e-9) - 1e-12


@pytest.mark.parametrize("penalty", ["l1", "l2", "mixed"])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_nearly_separable_with_a_tiny_penalty(penalty, noise):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 3))
    y = np.where(X[:, 0] + noise * rng.standard_normal(30) > 0, 1.0, -1.0)
    for alpha in (1e-3, 1e-6):
        l1, l2 = oracle.form_of(penalty, alpha, 3)
        p = oracle.Problem("logistic", X, y, l1, l2)
        model, warned = problems.fit(
            problems.estimator("C", "logistic", penalty, 3, alpha=alpha), X, y
        )
        oracle.check_certificate(p, model.coef_, model.intercept_, model.certificate_)
        assert not warned
