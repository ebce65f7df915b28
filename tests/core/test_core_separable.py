"""Penalties that are a sum over coefficients, against the formula in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core

numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
weights = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
rows = st.lists(st.tuples(weights, weights, numbers, numbers), min_size=0, max_size=11)


def columns(found):
    return [np.array(column) for column in np.array(found, dtype=float).reshape(-1, 4).T]


def exact_term(l1, l2, w, v):
    """penalty(w) + conjugate(v) − v·w in rational numbers; None for infinity."""
    l1, l2, w, v = map(Fraction, (l1, l2, w, v))
    excess = max(abs(v) - l1, Fraction(0))
    if excess and not l2:
        return None
    conjugate = excess**2 / (2 * l2) if l2 else Fraction(0)
    return l1 * abs(w) + l2 * w * w / 2 + conjugate - v * w


@given(rows)
@settings(max_examples=200, deadline=None)
def test_value_and_terms_are_exact_up_to_rounding(found):
    l1, l2, w, v = columns(found)
    value = sum(exact_term(*parts, 0.0) for parts in zip(l1, l2, w))
    assert _core.separable_value(l1, l2, w) == pytest.approx(float(value), rel=1e-14)
    terms = _core.separable_young(l1, l2, w, v)
    assert (terms >= 0).all()
    for term, parts in zip(terms, zip(l1, l2, w, v)):
        expected = exact_term(*parts)
        if expected is None:
            assert term == np.inf
            continue
        # c and l2·w are rounded to some ulps of their size, which the parabola squares.
        _, curvature, w, v = parts
        off = 4e-16 * (abs(v) + curvature * abs(w))
        slack = off * abs(w)
        if curvature:
            slack += off * off / curvature + off * np.sqrt(8 * float(expected) / curvature)
        assert abs(term - float(expected)) <= 1e-12 * float(expected) + slack


def test_terms_vanish_where_the_slope_is_the_penaltys():
    l1, l2 = np.array([0.3, 0.3, 0.0, 0.7]), np.array([0.0, 0.0, 0.0, 2.0])
    w = np.array([1e8, -1e-8, 5.0, 0.0])
    v = np.array([0.3, -0.3, 0.0, 0.7])
    assert (_core.separable_young(l1, l2, w, v) == 0).all()


def test_a_slope_that_is_no_number_proves_nothing():
    l1, l2 = np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0])
    terms = _core.separable_young(l1, l2, np.ones(3), np.full(3, np.nan))
    assert terms[0] == np.inf
    assert np.isnan(terms[1:]).all()


def test_zero_weights_cost_nothing_whatever_the_coefficient():
    w = np.array([1e300, np.inf, 2.0])
    assert _core.separable_value(np.array([0.0, 0.0, 1.0]), np.zeros(3), w) == 2.0


@given(rows)
@settings(max_examples=200, deadline=None)
def test_the_scale_is_the_largest_that_keeps_the_limits(found):
    limit, _, _, v = columns(found)
    scale = _core.largest_scale(v, limit)
    assert (np.abs(scale * v) <= limit).all()
    over = np.abs(v) > limit
    if over.any():
        assert scale == pytest.approx((limit[over] / np.abs(v[over])).min(), rel=1e-14)
    else:
        assert scale == 1.0


def test_what_has_no_limit_does_not_count():
    v = np.array([1e300, -2.0, np.nan])
    assert _core.largest_scale(v, np.array([np.inf, 4.0, 1.0])) == 1.0
    assert _core.largest_scale(v, np.array([np.inf, 1.0, 1.0])) == pytest.approx(0.5)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="l2 must have length 2"):
        _core.separable_value(np.ones(2), np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="v must have length 2"):
        _core.separable_young(np.ones(2), np.ones(2), np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="limit must have length 2"):
        _core.largest_scale(np.ones(2), np.ones(3))
