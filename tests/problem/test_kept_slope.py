"""A slope that was found with the scores of a point is the one that another pass would give."""

import numpy as np
import pytest

import minimand as mm
from minimand.certificate import judge
from minimand.design import ComputedDesign
from minimand.problem.intercept import recentred
from minimand.problem.kept_slope import KeptSlope, point_with_slope
from minimand.problem.objective import Objective

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 4)), RNG.normal(size=60)
MASS = RNG.uniform(size=60)
MASS /= MASS.sum()


def problem(design, intercept):
    return Objective(mm.Squared(), mm.L2().bind(4, 0.1), design, Y, MASS, intercept=intercept)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_first_judgement_after_it_takes_no_pass(intercept):
    computed = problem(ComputedDesign(lambda x: x, X, 4), intercept)
    formed = problem(mm.design.as_design(X), intercept)
    w = RNG.normal(size=4)
    point = point_with_slope(computed, w, 0.3)
    passes = computed.meter.passes
    one = judge(computed, recentred(computed, point))
    mean = computed.mean_row(computed.mass)
    assert computed.meter.passes <= passes + 1  # the sizes of columns
    two = judge(formed, recentred(formed, formed.point(w, 0.3)))
    np.testing.assert_allclose(one.slope, two.slope, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(mean, MASS @ X, rtol=1e-12, atol=1e-14)
    assert one.gap == pytest.approx(two.gap, rel=1e-10)


def test_other_multipliers_are_not_taken_for_it():
    theta = RNG.normal(size=60)
    kept = KeptSlope(theta, X.T @ (MASS * theta), MASS @ X)
    np.testing.assert_allclose(kept.of(theta + 2.0), X.T @ (MASS * (theta + 2.0)))
    other = theta.copy()
    other[7] += 1e-9
    assert kept.of(other) is None
    assert kept.of(2.0 * theta) is None
