"""Residuals of many models in one pass are those of the formula, and their means vanish."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 5),
    n=st.integers(1, 40),
    level=st.sampled_from([0.0, 1.0, 1e6]),
    centre=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_residual_rows(rows, n, level, centre, seed):
    rng = np.random.default_rng(seed)
    scores, y = rng.normal(size=(rows, n)), level + rng.normal(size=n)
    mass = rng.uniform(0.1, 1.0, size=n)
    mass /= mass.sum()
    shifts = rng.normal(size=rows)
    before, given_shifts = scores.copy(), shifts.copy()
    residuals, sums = _core.residual_rows(scores, y, mass, centre, shifts)
    expected = (before - y) @ -mass if centre else given_shifts
    rounding = 1e-14 * (level + 10)
    assert np.allclose(shifts, expected, rtol=0, atol=rounding)
    assert np.allclose(scores, before + shifts[:, None], rtol=0, atol=rounding)
    assert np.allclose(residuals, scores - y, rtol=0, atol=rounding)
    columns = [residuals, np.abs(residuals), residuals**2, np.abs(residuals * scores)]
    means = np.stack([column @ mass for column in columns], axis=1)
    assert np.allclose(sums, means, rtol=1e-12, atol=1e-14)
    if centre and n > 1:  # balanced in units of the residuals, however large the scores are
        assert (np.abs(sums[:, 0]) <= 16 * np.finfo(float).eps * sums[:, 1]).all()


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 60), level=st.sampled_from([0.0, 1.0, 1e6]), seed=st.integers(0, 2**16))
def test_residual_shift_is_the_mean_residual(n, level, seed):
    rng = np.random.default_rng(seed)
    z, y = rng.normal(size=n), level + rng.normal(size=n)
    mass = rng.uniform(0.1, 1.0, size=n)
    mass /= mass.sum()
    exact = math.fsum(mass * (y - z)) / math.fsum(mass)
    shift = _core.residual_shift(z, y, mass)
    rounding = 4 * np.finfo(float).eps * (mass @ (np.abs(y) + np.abs(z)))
    assert abs(shift - exact) <= rounding
    assert abs(_core.residual_shift(z + shift, y, mass)) <= rounding
    assert _core.residual_shift(y, y, mass) == 0.0


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="mass must have length 3"):
        _core.residual_shift(np.zeros(3), np.zeros(3), np.ones(2))
    with pytest.raises(ValueError, match="y must have length 3"):
        _core.residual_rows(np.zeros((2, 3)), np.zeros(2), np.ones(3), False, np.zeros(2))
    with pytest.raises(ValueError, match="shifts must have length 2"):
        _core.residual_rows(np.zeros((2, 3)), np.zeros(3), np.ones(3), False, np.zeros(3))
