"""Balls by their multiplier: where a search for it begins, and losses that are not convex."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import solve


def data(n=120, d=6, seed=0):
    """A line with outliers, and classes with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    w = np.where(np.arange(d) < 3, 2.0, 0.0)
    y = X @ w + 0.5 * rng.standard_normal(n)
    y[rng.random(n) < 0.2] += 15 * rng.standard_normal()
    labels = np.where(X @ w + rng.logistic(size=n) > 0, 1, -1)
    return X, y, labels


LOSSES = [mm.GemanMcClure(), mm.TruncatedSquared(), mm.TanhMargin()]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("ball", [mm.L1Ball(2.0), mm.L2Ball(40.0)])
def test_losses_that_are_not_convex_reach_a_stationary_point_in_a_ball(loss, ball):
    """Tight and loose balls: tangents begin about the multiplier of the last one."""
    X, y, labels = data()
    kind, target = (mm.Classifier, labels) if isinstance(loss, mm.TanhMargin) else (mm.Regressor, y)
    model = kind(loss, ball, alpha=1.0).fit(X, target)
    assert model.certificate_.kind == "stationary"
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("ball", [mm.L1Ball(2.0), mm.L2Ball(1.5), mm.L2Ball(100.0)])
@pytest.mark.parametrize("loss", [mm.Squared(), mm.Huber(), mm.Absolute()], ids=repr)
def test_a_start_near_the_solution_tells_the_multiplier(ball, loss):
    """From the solution of nearly the same problem few multipliers are tried."""
    X, y, _ = data()
    mass = np.full(y.size, 1 / y.size)

    def problem(target):
        return Objective(loss, ball.bind(6), as_design(X), target, mass)

    near = solve(problem(y + 1e-4 * np.sin(np.arange(y.size))))
    cold, warm = solve(problem(y)), solve(problem(y), start=problem(y).point(near.w, near.b))
    assert warm.converged
    assert warm.certificate.iterations <= max(4, cold.certificate.iterations // 2)


def test_a_search_that_takes_too_many_passes_ends_and_says_so(monkeypatch):
    """The gap is that of the model handed over, whatever the search has reached."""
    monkeypatch.setattr("minimand.solvers.nested.graduated._MOST_PASSES", (100, 150))
    monkeypatch.setattr("minimand.solvers.nested.graduated._MORE", 1)
    X, y, _ = data()
    with pytest.warns(ConvergenceWarning, match="limit of 150 passes"):
        model = mm.Regressor(mm.Lp(0.5), mm.L2Ball(1.0), alpha=1.0).fit(X, y)
    assert model.certificate_.kind == "stationary"
    assert model.certificate_.relative > 1e-6


@pytest.mark.parametrize("loss", ["quantile", "epsilon_insensitive", "absolute"])
@pytest.mark.parametrize("radius", [3.0, 30.0])
def test_a_ball_that_does_not_bind_has_a_bound_although_kinks_have_none_without_a_penalty(
    loss, radius
):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=60)
    model = mm.Regressor(loss, mm.L2Ball(radius), features=mm.Polynomial(3), tol=1e-6).fit(X, y)
    assert model.certificate_.relative <= 1e-6
