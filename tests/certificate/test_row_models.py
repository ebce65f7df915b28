"""Many models of several outputs judged together are judged as each would be by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minimand as mm
from minimand.certificate import judge
from minimand.certificate.least_squares import SquaresFinding
from minimand.certificate.row_models import row_findings, rows_at, rows_at_null
from minimand.estimators.prepare import posed
from minimand.penalties import Strengths
from minimand.solvers import Control

PENALTIES = {
    "rows": mm.L21(),
    "net": mm.L21() + 0.3 * mm.L2(),
    "faint": mm.L21() + 1e-6 * mm.L2(),
    "weights": mm.L21(weights=[1.0, 2.0, 0.5, 3.0, 1.0]) + 0.1 * mm.L2(),
    "some without a norm": mm.L21(weights=[1.0, 0.0, 0.5, 0.0, 1.0]) + 0.1 * mm.L2(),
    "free": mm.L21(weights=[1.0, 0.0, 0.5, 1.0, 1.0]),
    "with l1": mm.L21() + 0.2 * mm.L1(),
}


def problem_of(seed, penalty, alpha, intercept, weighted, kind="dense", n=20, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) + rng.normal(size=5)
    Y = X[:, :2] @ rng.normal(size=(2, k)) + rng.normal(size=(n, k)) + 5.0 * rng.normal(size=k)
    weight = rng.uniform(0.1, 2.0, n) * (rng.random(n) < 0.8) if weighted else None
    offset = rng.normal(size=Y.shape) if weighted else None
    model = mm.Regressor("squared", PENALTIES[penalty], alpha, intercept=intercept)
    given_x = sparse.csr_array(X) if kind == "csr" else X
    return posed(model, given_x, Y, weight, offset).objectives[0]


def best(problem, w):
    """The model with the best intercept."""
    z = problem.scores(w, problem.no_shift)
    shift = problem.loss.best_shift(z, problem.y, problem.mass) if problem.intercept else 0.0
    return problem.point(w, problem.no_shift + shift)


@settings(max_examples=120, deadline=None)
@given(
    penalty=st.sampled_from(sorted(PENALTIES)),
    alpha=st.sampled_from([1e-4, 0.03, 0.5, 10.0]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    kind=st.sampled_from(["dense", "csr"]),
    seed=st.integers(0, 2**16),
)
def test_findings_are_judgements(penalty, alpha, intercept, weighted, kind, seed):
    rng = np.random.default_rng(seed)
    problem = problem_of(seed, penalty, alpha, intercept, weighted, kind)
    near = mm.solvers.solve(problem).w
    noise = rng.choice([0.0, 1e-6, 1e-2, 1.0], size=(8, 1, 1)) * rng.normal(size=(8, *near.shape))
    coefs = (near + noise) * (rng.random((8, len(near), 1)) < 0.8)
    coefs[0] = near
    optimum = mm.solvers.solve(problem, control=Control(tol=1e-13)).certificate
    found = list(row_findings(problem, [problem] * 8, coefs))
    for w, one in zip(coefs, found):
        alone = judge(problem, best(problem, w))
        scale = max(problem.scale, alone.primal)
        assert one.primal == pytest.approx(alone.primal, rel=1e-12)
        assert one.gap == pytest.approx(alone.gap, rel=1e-7, abs=1e-11 * scale)
        assert one.primal - one.gap <= optimum.primal + 1e-11 * scale  # a valid bound
        assert one.sizes(problem) == pytest.approx(alone.sizes(problem), rel=1e-10)
        np.testing.assert_allclose(one.point.b, alone.point.b, atol=1e-11 * (1 + scale))
        np.testing.assert_allclose(one.point.z, alone.point.z, atol=1e-11 * (1 + scale))
        np.testing.assert_allclose(one.slope, alone.slope, atol=1e-10 * (1 + scale))
        np.testing.assert_allclose(one.dual.theta, alone.dual.theta, atol=1e-9 * (1 + scale))
        np.testing.assert_allclose(one.dual.slope, alone.dual.slope, atol=1e-9 * (1 + scale))
        if not isinstance(one, SquaresFinding):
            continue  # a judgement, which may rest on a repaired dual point
        # The dual point itself proves the gap, by the formulas of loss and penalty.
        again = judge(problem, one.point, known=[one.dual._replace(value=np.inf)], raw=False)
        assert again.gap <= one.gap * (1 + 1e-7) + 1e-11 * scale


@settings(max_examples=60, deadline=None)
@given(
    penalty=st.sampled_from(["rows", "net", "faint", "weights", "some without a norm"]),
    alpha=st.sampled_from([1e-4, 0.03, 0.5, 10.0]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    kind=st.sampled_from(["dense", "csr"]),
    noise=st.sampled_from([0.0, 1e-6, 1.0, 1e160]),
    seed=st.integers(0, 2**16),
)
def test_one_model_is_judged_as_several(penalty, alpha, intercept, weighted, kind, noise, seed):
    problem = problem_of(seed, penalty, alpha, intercept, weighted, kind)
    strengths = Strengths.of([problem.penalty])
    w = mm.solvers.solve(problem).w
    w = w + noise * np.random.default_rng(seed).normal(size=w.shape)
    with np.errstate(all="ignore"):
        one = rows_at(problem, strengths, w)
        [same] = row_findings(problem, [problem], w[None])
    scale = max(problem.scale, same.primal)
    for name in ("primal", "gap"):
        found, expected = getattr(one, name), getattr(same, name)
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-11 * scale, nan_ok=True)
    if noise < 1:
        np.testing.assert_allclose(one.point.b, same.point.b, atol=1e-11 * (1 + scale))
        np.testing.assert_allclose(one.dual.theta, same.dual.theta, atol=1e-9 * (1 + scale))
        np.testing.assert_allclose(one.dual.slope, same.dual.slope, atol=1e-9 * (1 + scale))
        assert one.sizes(problem) == pytest.approx(same.sizes(problem), rel=1e-9)


def test_the_null_model_is_judged_without_a_pass():
    problem = problem_of(5, "net", 0.1, True, True)
    strengths, null = Strengths.of([problem.penalty]), problem.null
    residual = null.z - problem.y
    passes = problem.meter.passes
    found = rows_at_null(problem, strengths, residual, problem.design.rmatvec(
        problem.mass[:, None] * residual))  # fmt: skip
    assert problem.meter.passes == passes
    same = rows_at(problem, strengths, null.w)
    assert found.primal == pytest.approx(same.primal)
    assert found.gap == pytest.approx(min(same.gap, problem.scale))
    np.testing.assert_allclose(found.dual.theta, same.dual.theta, atol=1e-12)


@pytest.mark.parametrize("penalty", ["rows", "net", "weights", "some without a norm"])
def test_models_near_a_minimiser_need_no_judge(penalty):
    problem = problem_of(3, penalty, 0.1, True, False)
    w = mm.solvers.solve(problem).w
    found = list(row_findings(problem, [problem] * 4, np.stack([w] * 4)))
    assert all(isinstance(one, SquaresFinding) for one in found)


@pytest.mark.parametrize("penalty", ["free", "with l1"])
def test_other_penalties_are_judged_one_by_one(penalty):
    problem = problem_of(3, penalty, 0.1, True, False)
    w = mm.solvers.solve(problem).w
    [found] = row_findings(problem, [problem], w[None])
    assert not isinstance(found, SquaresFinding)


def test_a_model_worse_than_none_is_judged_by_itself():
    problem = problem_of(4, "rows", 0.1, True, False)
    w = np.full(problem.coef_shape, 1e3)
    [found] = row_findings(problem, [problem], w[None])
    assert not isinstance(found, SquaresFinding)
