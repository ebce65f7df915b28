"""Newton's method in the coefficients, the intercept and the scale of the Huber loss together."""

import numpy as np
import pytest
from scipy.optimize import minimize

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers.nested.joint_newton import JointNewton
from minimand.solvers.nested.joint_scale import Scaled

RNG = np.random.default_rng(2)
X = RNG.normal(size=(70, 3)) * [1, 5, 0.2] + [0, 30, 0]
Y = X @ [1.0, 0.2, 3.0] + RNG.standard_t(2, size=70)
MASS = RNG.uniform(0.5, 2.0, size=70)
MASS /= MASS.sum()


def scaled(l2, intercept=True):
    penalty = (l2 * mm.L2()).bind(3, 1.0) if l2 else mm.NoPenalty().bind(3, 1.0)
    loss = mm.Huber(1.35)
    return Scaled(Objective(loss, penalty, as_design(X), Y, MASS, intercept=intercept), 1.0)


def joint(parameters, l2, intercept):
    """F of its definition."""
    w, b, sigma = parameters[:3], parameters[3] if intercept else 0.0, np.exp(parameters[-1])
    t = np.abs(X @ w + b - Y) / sigma
    huber = np.where(t <= 1.35, t * t, 2 * 1.35 * t - 1.35**2)
    return sigma * (1 + MASS @ huber) + l2 * w @ w


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_least_value_is_that_of_a_general_minimiser(l2, intercept):
    problem = scaled(l2, intercept)
    found = JointNewton(problem).best_from(problem.objective.null, 3.0)
    w, b = found.point.w, found.point.b
    here = np.array([*w, b, np.log(found.sigma)])
    assert found.settled
    np.testing.assert_allclose(found.value, joint(here, l2, intercept), rtol=1e-12)
    how = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 9000}
    starts = here, here + 0.1
    runs = [minimize(joint, s, (l2, intercept), method="Nelder-Mead", options=how) for s in starts]
    best = min(run.fun for run in runs)
    assert found.value <= best * (1 + 1e-9)


def test_the_value_never_rises_and_the_scale_stays_positive():
    """From poor scales too, of which a full step would lead below zero."""
    problem = scaled(0.1)
    expected = JointNewton(problem).best_from(problem.objective.null, 1.0).value
    for sigma in (1e-6, 1e-2, 1e3, 1e8):
        begun = JointNewton(problem)
        first = begun._value(problem.objective.null.w, problem.objective.null.z - Y, sigma)
        found = begun.best_from(problem.objective.null, sigma)
        assert found.sigma > 0
        assert found.value <= first
        if sigma >= 1.0:  # inside, samples have curvature, and every step is Newton's
            np.testing.assert_allclose(found.value, expected, rtol=1e-9)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [1e-6, 0.3])
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e3])
def test_compiled_steps_are_those_in_numpy(l2, intercept, fixed, sigma):
    problem = scaled(l2, intercept)
    begun = [JointNewton(problem, fixed=fixed) for _ in range(2)]
    null = problem.objective.null
    one, other = begun[0].best_from(null, sigma), begun[1].steps_from(null, sigma)
    assert one.settled
    assert other.settled
    np.testing.assert_allclose(one.value, other.value, rtol=1e-13)
    np.testing.assert_allclose(one.sigma, other.sigma, rtol=1e-9)
    for mine, theirs in zip(one.point, other.point):
        np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-9)
    if not fixed:
        np.testing.assert_allclose(one.theta, other.theta, rtol=1e-5, atol=1e-7)
    near = [newton.best_from(null, sigma, near=1e-3 * one.value) for newton in begun]
    assert all(place.near != fixed and place.value <= 1.002 * one.value for place in near)


def test_curvature_that_was_added_and_taken_away_leaves_no_rounding():
    """A sample with huge columns is an outlier, so that its rows of the Hessian cancel."""
    from minimand import _core

    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    x[0] = 1e9
    rates = rng.uniform(0.5, 1.0, size=50)
    kept = _core.KeptHessian(x, np.zeros(3), True)
    kept.at(rates)
    rates[0] = 0.0
    matrix, mean = kept.at(rates)
    centred = x[1:] - rates[1:] @ x[1:] / rates.sum()
    np.testing.assert_allclose(matrix, centred.T @ (rates[1:, None] * centred), rtol=1e-12)
    np.testing.assert_allclose(mean, rates @ x / rates.sum(), atol=1e-14)


def test_with_fixed_coefficients_only_intercept_and_scale_move():
    problem = scaled(0.1)
    found = JointNewton(problem, fixed=True).best_from(problem.objective.null, 2.0)
    assert not found.point.w.any()
    np.testing.assert_allclose(np.ptp(found.point.z), 0.0, atol=1e-12)
    assert found.settled


def test_huber_regressor_needs_one_joint_solution():
    model = mm.sklearn.HuberRegressor(alpha=0.01).fit(X, Y)
    assert model.n_iter_ == 1
    assert model.certificate_.relative <= 1e-6
