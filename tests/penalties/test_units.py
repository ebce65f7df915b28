"""Penalties as functions of coefficients in other units, and without features that count little."""

import numpy as np
import pytest

from minimand.penalties import L1, L2, Box, L1Ball, L2Ball, NonNegative

PENALTIES = [
    L1(),
    L2(),
    0.3 * L1() + L2(weights=[0.0, 1.0, 2.0, 0.5]),
    L1() + NonNegative(),
    Box(-0.5, 2.0),
    L1Ball(1.5),
    L2Ball(1.5),
    0.2 * L1() + L2Ball(1.5),
    L1Ball(1.5) + NonNegative(),
]
UNITS = np.array([2.0**30, 1.0, 0.5, 2.0**-20])


def points(bound, rng):
    """Feasible coefficients in units."""
    return [bound.project(rng.normal(size=4) * scale / UNITS) for scale in (0.1, 1.0, 10.0)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_units_change_no_value_and_no_gap(penalty):
    rng = np.random.default_rng(0)
    bound = penalty.bind(4, 0.7)
    inside = bound.in_units(UNITS)
    for x in points(inside, rng):
        w, v = UNITS * x, rng.normal(size=4)
        assert inside.value(x) == pytest.approx(bound.value(w), rel=1e-13)
        here, there = inside.by_feature(x, UNITS * v), bound.by_feature(w, v)
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(inside.free, bound.free)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_the_prox_in_units_is_the_least(penalty):
    rng = np.random.default_rng(1)
    inside = penalty.bind(4, 0.7).in_units(np.array([4.0, 1.0, 0.5, 0.25]))
    for _ in range(5):
        w = 3 * rng.normal(size=4)
        best = inside.prox(w, 0.8)

        def cost(x, w=w):
            return inside.value(x) + ((x - w) ** 2).sum() / 1.6

        for _ in range(50):
            other = inside.project(best + rng.normal(size=4) * 10.0 ** rng.uniform(-4, 0))
            assert cost(best) <= cost(other) + 1e-9


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_without_some_features_a_penalty_is_lower_and_does_not_depend_on_them(penalty):
    rng = np.random.default_rng(2)
    bound = penalty.bind(4, 0.7)
    some = np.array([True, False, False, True])
    fewer = bound.without(some)
    for _ in range(20):
        w = bound.project(rng.normal(size=4) * 10.0 ** rng.uniform(-2, 1))
        assert fewer.value(w) <= bound.value(w)
        assert fewer.value(w) == pytest.approx(fewer.value(np.where(some, 0.0, w)))
        v = np.where(some, 0.0, rng.normal(size=4))
        x = bound.project(np.where(some, 0.0, rng.normal(size=4)))
        gap = fewer.by_feature(w, v).sum()  # bounds what any x gains on w
        assert gap >= -1e-12
        assert fewer.value(x) - v @ x >= fewer.value(w) - v @ w - gap - 1e-12


def test_faint_features_are_those_that_take_no_part():
    reach, slope = np.full(4, 2.0), np.ones(4)
    weak = L1(weights=[1e-12, 1.0, 0.0, 1e-12]).bind(4)
    assert weak.faint(reach, slope, 1e-9).tolist() == [True, False, False, True]
    ball = L2Ball(3.0).bind(4).in_units(np.array([1e-20, 1.0, 1e-5, 1e-20]))
    assert ball.faint(reach, slope, 1e-9).tolist() == [True, False, False, True]
