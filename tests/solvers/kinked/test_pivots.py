"""From corner to corner along a path: linear programs, and starts that are no corners."""

import numpy as np
import pytest

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import Control, solve
from minimand.solvers.kinked.pivots import next_corner

LOSSES = [mm.Quantile(0.3), mm.Absolute(), mm.EpsilonInsensitive(0.4), mm.Hinge()]


def problem(loss, alpha, *, seed=0, intercept=True, n=90, d=6, ties=False, free=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d)
    y = X @ (rng.standard_normal(d) / np.abs(X).max(axis=0)) + rng.standard_t(3, n)
    if ties:
        X, y = np.round(X, 1), np.round(y)
    if isinstance(loss, mm.Hinge):
        y = np.where(y > 0, 1.0, -1.0)
    weights = rng.integers(0, 4, n).astype(float) if ties else rng.uniform(0.2, 2.0, n)
    penalty = mm.L1(weights=np.append(np.ones(d - 1), 0.0)) if free else mm.L1()
    return Objective(
        loss=loss, penalty=penalty.bind(d, alpha), design=as_design(X), y=y,
        mass=loss.masses(weights), intercept=intercept,
    )  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("free", [True, False])
def test_edges_lead_to_the_optimum_of_the_linear_program(loss, intercept, free):
    walked = 0
    for seed in range(2):
        base = problem(loss, 1.0, seed=seed, intercept=intercept, free=free)
        top = float(np.abs(base.backward(base.weigh(loss.gradient(base.null.z, base.y)))).max())
        before = None
        for alpha in top * np.geomspace(0.5, 1e-3, 8):
            objective = base.with_penalty(base.penalty.times(alpha))
            exact = solve(objective, "simplex", Control(tol=1e-10))
            if before is not None:
                plq, form = loss.plq(objective.y), objective.penalty.sum_over_features
                offer = next_corner(objective, plq, form, before)
                if offer is not None:
                    walked += 1
                    found = objective.primal(objective.point(*offer.models[0]))
                    assert found == pytest.approx(exact.certificate.primal, rel=1e-9)
                warm = solve(objective, "primal_dual", Control(tol=1e-9), before)
                assert warm.converged
                assert warm.certificate.primal == pytest.approx(
                    exact.certificate.primal, abs=2e-9 * objective.scale
                )
            before = exact.point
    assert walked >= 7


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_ties_and_starts_that_are_no_corners(loss):
    objective = problem(loss, 0.02, ties=True)
    plq, form = loss.plq(objective.y), objective.penalty.sum_over_features
    exact = solve(objective, "simplex", Control(tol=1e-10))
    rng = np.random.default_rng(1)
    for size in (0.0, 1e-12, 1e-3, 1.0):
        start = objective.point(exact.w + size * rng.standard_normal(exact.w.size), exact.b + size)
        offer = next_corner(objective, plq, form, start)
        if offer is not None:
            found = objective.primal(objective.point(*offer.models[0]))
            assert found == pytest.approx(exact.certificate.primal, rel=1e-9)
        assert solve(objective, "primal_dual", Control(tol=1e-8), start).converged
    assert next_corner(objective, plq, form, objective.null) is None


def test_curved_and_bounded_problems_have_no_such_corners():
    objective = problem(mm.Absolute(), 0.02)
    start = objective.point(np.ones(6), 0.0)
    plq = objective.loss.plq(objective.y)
    for penalty in (mm.L1() + 0.1 * mm.L2(), mm.L1() + mm.NonNegative()):
        form = penalty.bind(6, 0.02).sum_over_features
        assert next_corner(objective, plq, form, start) is None
