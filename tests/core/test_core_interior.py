"""Compiled walks of interior points equal the steps in NumPy, for every kind of riser."""

import numpy as np
import pytest

import minimand as mm
from minimand import _core
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers.kinked.central_path import CentralPath, Limits
from minimand.solvers.kinked.interior import InteriorPoint, Pull
from minimand.solvers.kinked.vertex import corner_next_to

PENALTIES = {
    "l2": lambda: 0.1 * mm.L2(),
    "l1": lambda: 0.05 * mm.L1(),
    "both": lambda: 0.05 * mm.L1() + 0.1 * mm.L2(),
    "box": lambda: mm.Box([-0.3, -np.inf, 0.0, 0.2], [0.3, 0.1, np.inf, 0.2]),
    "none": mm.NoPenalty,
}
LOSSES = {
    "hinge": mm.Hinge(),
    "squared_hinge": mm.SquaredHinge(),
    "quantile": mm.Quantile(0.3),
    "huber": mm.Huber(0.5),
    "eps": mm.EpsilonInsensitive(0.2),
}


def problem(loss, penalty, *, intercept=True, dtype=float, order="C"):
    rng = np.random.default_rng(3)
    X = np.asarray(rng.normal(size=(60, 4)) * [1, 10, 0.1, 1] + [0, 0, 5, 0], dtype, order=order)
    y = X @ [1.0, -0.1, 2.0, 0.5] - 10 + rng.normal(size=60)
    if loss.target == "sign":
        y = np.where(y > np.median(y), 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, size=60)
    mass = weights / weights.sum()
    bound = PENALTIES[penalty]().bind(4, 1.0)
    return Objective(loss, bound, as_design(X), y, mass, intercept=intercept)


def both_walks(objective, limits, pull=None):
    """The point after a compiled walk, and after the same steps in NumPy."""
    plq, form = objective.loss.plq(objective.y), objective.penalty.sum_over_features
    one, other = (InteriorPoint(objective, plq, form, objective.null, pull) for _ in range(2))
    return (one, one.walk(limits)), (other, CentralPath.walk(other, limits))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_compiled_walk_equals_the_steps_in_numpy(loss, penalty):
    objective = problem(LOSSES[loss], penalty)
    (one, walked), (other, stepped) = both_walks(objective, Limits(0.0, 6))
    assert walked == stepped
    np.testing.assert_allclose(one.w, other.w, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(one.b, other.b, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(one.t, other.t, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.products, other.products, rtol=1e-6)
    np.testing.assert_allclose(one.unmet, other.unmet, rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_layout_and_a_linear_term(order, dtype, intercept):
    objective = problem(mm.Hinge(), "both", intercept=intercept, dtype=dtype, order=order)
    pull = Pull(np.array([0.01, 0.0, -0.02, 0.0]), 0.003)
    (one, _), (other, _) = both_walks(objective, Limits(1e-6, 60), pull)
    np.testing.assert_allclose(one.w, other.w, rtol=1e-5, atol=1e-8)
    assert one.products <= 1e-6


def test_a_walk_ends_near_the_optimum_or_where_it_is_stuck():
    objective = problem(mm.Quantile(0.5), "l1")
    (one, walked), (_, stepped) = both_walks(objective, Limits(1e-5, 100))
    assert walked == stepped
    assert not walked.stuck
    assert one.products <= 1e-5
    (_, far), _ = both_walks(objective, Limits(0.0, 100, far=1e-9))
    assert far.steps == 1
    assert far.stuck


def test_singular_equations_are_solved_by_a_pseudo_inverse():
    """Two equal columns without a penalty: the walk goes on, with steps in NumPy between."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 1))
    bound, mass = mm.NoPenalty().bind(2, 1.0), np.full(50, 0.02)
    objective = Objective(mm.Absolute(), bound, as_design(np.c_[x, x]), x[:, 0] + 1, mass)
    (one, walked), _ = both_walks(objective, Limits(1e-7, 80))
    assert np.isfinite(one.w).all()
    assert one.products <= 1e-7 or walked.stuck


def test_arrays_are_checked():
    objective = problem(mm.Hinge(), "l2")
    plq, form = objective.loss.plq(objective.y), objective.penalty.sum_over_features
    point = InteriorPoint(objective, plq, form, objective.null)
    samples, features, d = point._samples.arrays, point._features.arrays, np.zeros(4)
    columns = (d, d, d, d, np.zeros(4, dtype=np.uint8))

    def call(mass=objective.mass, samples=samples, columns=columns, t=point.t):
        x, sign = objective.design.x, plq.sign
        posed = (x, mass, sign, columns, 0.0, True, False, samples, features)
        limits, course = (0.0, 1.0, 1, 1, 0.0), (1.0, 0, 1.0, 1.0)
        return _core.interior_walk(posed, point.w, t, 0.0, limits, course)

    with pytest.raises(ValueError, match="mass must have length 60"):
        call(mass=objective.mass[:3].copy())
    with pytest.raises(ValueError, match="t must have length 60"):
        call(t=np.zeros(5))
    with pytest.raises(ValueError, match="dual must have length"):
        call(samples=(*samples[:8], np.zeros(7), samples[9]))
    with pytest.raises(ValueError, match="where must hold numbers"):
        call(samples=(*samples[:5], np.array([60]), *samples[6:]))
    with pytest.raises(ValueError, match="pinned"):
        call(columns=(d, d, d, d, d))


def test_quasi_newton_moves_the_intercept_alone_where_columns_are_zero():
    """The minimum of mean log(1 + e^(−y·b)) for four labels 1 and two labels −1 is at log 2."""
    sign = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    rows = np.full(6, 1 / 6), sign, np.zeros(6)
    w, none = np.zeros(2), np.empty(0)
    metric = np.zeros(2), True, np.eye(2), 0.2  # centre, intercept, inverse, total
    b, _, done = _core.quasi_newton(
        np.zeros((6, 2)), "softplus", rows, np.ones(2), *metric, w, 3.0, 1e-20, 60, none, none
    )
    assert done
    assert b == pytest.approx(np.log(2), abs=1e-8)
    assert not w.any()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", ["l2", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_compiled_corner_is_the_one_of_numpy(loss, penalty, intercept):
    for dtype, order in ((np.float64, "C"), (np.float32, "F")):
        objective = problem(LOSSES[loss], penalty, intercept=intercept, dtype=dtype, order=order)
        plq, form = objective.loss.plq(objective.y), objective.penalty.sum_over_features
        pull = Pull(1e-3 * np.arange(4.0), 0.0)
        inner = InteriorPoint(objective, plq, form, objective.null, pull)
        inner.walk(Limits(1e-7 * objective.scale, 60))
        inner.refresh()
        before = inner.w.copy()
        found, expected = inner.corner(), corner_next_to(inner, inner.w, np.arange(4))
        assert found is not None
        for one, two in zip(found, expected):
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(inner.w, before)


def test_no_corner_of_coefficients_with_kinks_or_of_singular_equations():
    plq = LOSSES["quantile"].plq(np.zeros(60))
    for penalty in ("l1", "box"):
        objective = problem(LOSSES["quantile"], penalty)
        form = objective.penalty.sum_over_features
        assert InteriorPoint(objective, plq, form, objective.null).corner() is None
    objective = problem(LOSSES["quantile"], "none")  # no sample is near its knot at the start
    form = objective.penalty.sum_over_features
    assert InteriorPoint(objective, plq, form, objective.null).corner() is None
