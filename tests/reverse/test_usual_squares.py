"""Data of usual sizes are known by one sum; others are treated as their largest entry says."""

import numpy as np
import pytest
from scipy import sparse

from minimand.reverse.finite_squares import in_range, refuse_tiny, with_finite_squares

SIZES = [0.0, 1e-320, 1e-200, 1e-151, 1e-149, 1e-20, 1.0, 1e20, 1e149, 1e151, 1e200]

FORMS = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.coo_array]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "form", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.coo_array]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_entry_decides(size, form, dtype):
    with np.errstate(over="ignore"):
        X = np.array([[1.0, -0.5, 0.0], [0.25, 0.0, 0.125]]) * size
        X = X.astype(dtype)
    largest = float(np.abs(X).max())
    if not np.isfinite(largest):
        pytest.skip("no number of this precision")
    X = form(X)
    if largest > 1e150:
        with pytest.raises(ValueError, match="overflow"):
            with_finite_squares(X)
    else:
        low, high = (1e-150, 1e150) if dtype is np.float64 else (1e-15, 1e15)
        found = with_finite_squares(X)
        if largest == 0 or low <= largest <= high:
            assert found is X
        assert found.dtype == np.float64 or found is X
    if 0 < largest < 1e-150:
        for refuses in (refuse_tiny, lambda rows: in_range(rows, reset=True)):
            with pytest.raises(ValueError, match="underflow"):
                refuses(X)
    elif largest <= 1e150:
        refuse_tiny(X)
        in_range(X, reset=True)


def test_strided_views_are_looked_at_too():
    X = np.ones((6, 6))[::2, ::2] * 1e-160
    with pytest.raises(ValueError, match="underflow"):
        in_range(X, reset=True)
    assert in_range(np.ones((6, 6))[::2, ::2], reset=True).shape == (3, 3)
