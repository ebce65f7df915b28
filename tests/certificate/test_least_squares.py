"""Many least-squares models judged together are judged as each would be by itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand.certificate import judge
from minimand.certificate.least_squares import Models, SquaresFinding
from minimand.design import DenseDesign
from minimand.penalties import L1, L2
from minimand.problem.objective import Objective
from minimand.solvers import Control
from minimand.solvers.paths.path import settler_of, solve_path

PENALTIES = {"lasso": L1(), "ridge": L2(), "net": L1() + 0.1 * L2()}


def applies(base, at, alphas):
    """Whether the problems are solved in blocks."""
    return settler_of(base, at, alphas, Control()) is not None


def problem(rng, n, d, penalty, alpha, intercept, weighted, level=0.0):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    y = level + X[:, 0] + rng.normal(size=n)
    mass = rng.uniform(0.2, 1.0, size=n) if weighted else np.ones(n)
    return Objective(
        loss=mm.Squared(),
        penalty=penalty.bind(d, alpha),
        design=DenseDesign(X),
        y=y,
        mass=mass / mass.sum(),
        offset=rng.normal(size=n) if weighted else None,
        intercept=intercept,
    )


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(3, 25),
    d=st.integers(1, 8),
    penalty=st.sampled_from(sorted(PENALTIES)),
    alpha=st.sampled_from([1e-3, 0.1, 1.0]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    level=st.sampled_from([0.0, 1e4]),
    seed=st.integers(0, 2**16),
)
def test_findings_are_judgements(n, d, penalty, alpha, intercept, weighted, level, seed):
    rng = np.random.default_rng(seed)
    base = problem(rng, n, d, PENALTIES[penalty], alpha, intercept, weighted, level)
    near = mm.solvers.solve(base).w
    coefs = near + rng.choice([0.0, 1e-6, 1e-2], size=(10, 1)) * rng.normal(size=(10, d))
    models = Models(base, coefs, np.zeros(10))
    for i, w in enumerate(coefs):
        found = models.finding(i, replace(base))
        point = models.points[i]
        assert np.allclose(point.z, base.scores(w, point.b), rtol=1e-12, atol=1e-11)
        alone = judge(base, base.point(w, point.b))
        # Slopes that all but vanish scale the dual point: their rounding is that of the scale.
        room = 10 * alone.rounding(base) + 1e-11 * base.scale
        assert found.primal == pytest.approx(alone.primal, rel=1e-12, abs=room)
        assert found.gap == pytest.approx(alone.gap, rel=1e-6, abs=room)
        assert found.rounding(base) == pytest.approx(alone.rounding(base), rel=1e-6)
        # The bound is what its dual point proves: another model cannot be below it.
        bound = found.certificate(base).dual
        assert bound <= base.primal(base.point(near, 0.0)) + room or base.intercept
        assert (
            judge(base, point, [found.dual.theta], raw=False).gap <= found.gap * (1 + 1e-6) + room
        )


GROUPS = {
    "runs": mm.GroupL2([0, 0, 0, 1, 1, 2]),
    "mixed": mm.GroupL2([2, 0, 1, 0, 1, 2], weights=[1.0, 0.5, 2.0]),
    "squares": mm.GroupL2([0, 1, 0, 1, 2, 2]) + 0.2 * mm.L2(),
    "no norm": mm.GroupL2([0, 1, 0, 1, 2, 2], weights=[1.0, 0.0, 1.0]) + 0.2 * mm.L2(),
    "with l1": mm.SparseGroup([0, 0, 0, 1, 1, 2]),
    "uneven": mm.GroupL2([0, 0, 0, 1, 1, 2]) + mm.L2(weights=np.arange(1.0, 7.0)),
}


@settings(max_examples=60, deadline=None)
@given(
    penalty=st.sampled_from(sorted(GROUPS)),
    alpha=st.sampled_from([1e-3, 0.1, 1.0]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_models_under_norms_of_groups_are_judged_at_once(penalty, alpha, intercept, weighted, seed):
    rng = np.random.default_rng(seed)
    base = problem(rng, 20, 6, GROUPS[penalty], alpha, intercept, weighted)
    near = mm.solvers.solve(base).w
    coefs = near + rng.choice([0.0, 1e-6, 1e-2], size=(5, 1)) * rng.normal(size=(5, 6))
    problems = [replace(base) for _ in coefs]
    models, alone = Models(base, coefs, np.zeros(5)), Models(base, coefs, np.zeros(5))
    models.charge([each.penalty for each in problems])
    for i, each in enumerate(problems):
        found, expected = models.finding(i, each), alone.finding(i, each)
        at_once = penalty not in ("with l1", "uneven")
        assert isinstance(found, SquaresFinding) == at_once
        room = 10 * expected.rounding(base) + 1e-11 * base.scale
        assert found.primal == pytest.approx(expected.primal, rel=1e-12, abs=room)
        # The residuals alone may prove less than all that a judgement tries, never more.
        assert found.gap >= expected.gap - room
        assert found.gap == pytest.approx(expected.gap, rel=1e-6, abs=room)
        again = judge(base, models.points[i], [found.dual.theta], raw=False)
        assert again.gap <= found.gap * (1 + 1e-6) + room


def test_the_sums_are_enough_for_a_usual_model():
    base = problem(np.random.default_rng(0), 50, 5, L1(), 0.1, True, False, level=1e6)
    coefs = np.repeat(mm.solvers.solve(base).w[None], 8, axis=0)
    assert isinstance(Models(base, coefs, np.zeros(8)).finding(3, base), SquaresFinding)


@pytest.mark.parametrize("shape", [(60, 12), (30, 1200)], ids=["all columns", "columns met"])
@pytest.mark.parametrize("name", ["lasso", "net"])
def test_paths_on_a_gram_are_optimal(name, shape):
    """The same optima as fits by themselves, at every alpha, without any pass of its own."""
    base = problem(np.random.default_rng(1), *shape, PENALTIES[name], 1.0, True, True)

    def at(objective, alpha):
        return objective.with_penalty(PENALTIES[name].bind(shape[1], alpha))

    top = np.abs(base.backward(base.mass * (base.null.z - base.y))).max()
    alphas = list(np.geomspace(top, 0.02 * top, 25))
    assert applies(base, at, alphas)
    found = list(solve_path(base, at, alphas, Control(tol=1e-8)))
    assert len(found) == len(alphas)
    for alpha, solution in zip(alphas, found):
        cold = mm.solvers.solve(at(base, alpha), "working_set", Control(tol=1e-8))
        assert solution.converged
        assert solution.certificate.relative <= 1e-8
        assert abs(solution.certificate.primal - cold.certificate.primal) <= 1e-7 * base.scale
        assert solution.certificate.dual <= cold.certificate.primal + 1e-12 * base.scale


def test_a_path_that_cannot_be_settled_is_solved_by_itself():
    """Below the rounding of a Gram nothing settles on it: each alpha goes to another solver."""
    base = problem(np.random.default_rng(2), 40, 6, L1(), 1.0, False, False)

    def at(objective, alpha):
        return objective.with_penalty(L1().bind(6, alpha))

    found = list(solve_path(base, at, [0.1, 0.01, 0.001], Control(tol=0.0)))
    assert all(s.certificate.gap <= 2 * s.certificate.rounding for s in found)


def test_what_is_refused():
    def under(penalty):
        return lambda base, alpha: base.with_penalty(penalty.bind(base.n_features, alpha))

    base = problem(np.random.default_rng(3), 30, 4, L1(), 1.0, True, False)
    assert applies(base, under(L1()), [0.1, 0.01])
    for penalty in (L2(), L1(weights=[0, 1, 1, 1]), L1() + mm.NonNegative(), mm.MCP()):
        assert not applies(base, under(penalty), [0.1, 0.01])
    assert not applies(base, under(L1()), [0.1])
    assert not applies(replace(base, loss=mm.Huber()), under(L1()), [0.1, 0.01])
    assert not applies(replace(base, y=1e200 * base.y), under(L1()), [0.1, 0.01])
