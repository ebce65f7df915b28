"""Linear systems against NumPy's: blocks, shifts, and matrices at the edge of singularity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand._base.linear_system import shifted_solutions


def gram(n, rank, seed):
    x = np.random.default_rng(seed).standard_normal((n, rank))
    return x @ x.T


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 12),
    rank=st.integers(1, 14),
    seed=st.integers(0, 10**6),
    shifts=st.lists(st.sampled_from([1e-6, 1e-2, 1.0, 1e3]), min_size=1, max_size=3),
)
def test_shifted_solutions(n, rank, seed, shifts):
    matrix, right = gram(n, rank, seed), np.random.default_rng(seed + 1).standard_normal(n)
    before = matrix.copy()
    found = shifted_solutions(matrix, right, np.array(shifts))
    np.testing.assert_array_equal(matrix, before)
    for x, s in zip(found, shifts):
        residual = matrix @ x + s * x - right
        assert np.abs(residual).max() <= 1e-10 * (np.abs(matrix).max() + s) * np.abs(x).max()


@pytest.mark.parametrize("n", [3, 50])
def test_shifts_below_rounding_leave_what_eigenvalues_give(n):
    """T + s·1 is indefinite there after rounding; a right side in the range has an answer still."""
    matrix = gram(n, 2, 0)
    right = matrix @ np.ones(n)
    found = shifted_solutions(matrix, right, np.array([1e-18]))[0]
    np.testing.assert_allclose(matrix @ found, right, rtol=1e-6, atol=1e-8 * np.abs(right).max())
