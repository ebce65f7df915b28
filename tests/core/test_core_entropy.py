"""The compiled Bernoulli divergence and dot product against exact references."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from minimand import _core


def reference(q, z):
    """In long double, from logarithms that cannot underflow; exact enough for 1e-15."""
    q, z = np.longdouble(q), np.longdouble(z)
    log_p, log_not_p = -np.logaddexp(np.longdouble(0), -z), -np.logaddexp(np.longdouble(0), z)
    total = np.longdouble(0)
    if q > 0:
        total += q * (np.log(q) - log_p)
    if q < 1:
        total += (1 - q) * (np.log1p(-q) - log_not_p)
    return float(total)


@pytest.mark.parametrize(
    "q", [0.0, 5e-324, 1e-310, 1e-300, 1e-100, 1e-17, 1e-15, 1e-3, 0.3, 0.5, 0.999, 1 - 1e-15, 1.0]
)
def test_divergence_over_the_whole_domain(q):
    z = np.concatenate([np.linspace(-60, 60, 241), [-1e4, -800.0, -745.0, 745.0, 800.0, 1e4]])
    got = _core.binary_relative_entropy(np.full(z.size, q), z)
    expected = np.array([reference(q, score) for score in z])
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-17)


def test_divergence_near_its_zero_keeps_its_digits():
    z = np.linspace(-5, 0, 51)  # the mirrored half has 1 − p for p
    p = 1 / (1 + np.exp(-z))
    for relative in (1e-3, 1e-5, 1e-7):
        q = np.minimum(p * (1 + relative), 1.0)
        got = _core.binary_relative_entropy(q, z)
        second_order = (q - p) ** 2 / (2 * p * (1 - p))
        np.testing.assert_allclose(got, second_order, rtol=10 * relative + 1e-15 / relative**2)


def test_divergence_outside_the_unit_interval_is_infinite():
    q = np.array([-1e-300, -1.0, 1.0 + 2e-16, 2.0, np.nan])
    got = _core.binary_relative_entropy(q, np.zeros(5))
    assert (got == inf).all()


def test_dot_is_the_sum_of_products():
    rng = np.random.default_rng(0)
    for n in (0, 1, 3, 4, 17, 1000):
        a, b = rng.standard_normal((2, n))
        exact = float(sum((Fraction(x) * Fraction(y) for x, y in zip(a, b)), Fraction(0)))
        assert _core.dot(a, b) == pytest.approx(exact, abs=1e-13)
    with pytest.raises(ValueError, match="b"):
        _core.dot(np.zeros(2), np.zeros(3))
