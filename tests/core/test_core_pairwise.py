"""Kernel values of all pairs of rows, in both precisions, and what their bindings refuse."""

import numpy as np
import pytest

from minimand import _core

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 17, 5), (20, 33, 2), (5, 4, 40)])
def test_values_are_those_of_the_formulas(shape, dtype):
    m, n, d = shape
    x, z = RNG.random((m, d)).astype(dtype), RNG.random((n, d)).astype(dtype)
    difference = x[:, None].astype(float) - z[None].astype(float)
    close = {"rtol": 1e-12 if dtype == np.float64 else 1e-5}
    columns = np.ascontiguousarray(z.T)
    table = np.empty((m, n), dtype=dtype)
    _core.laplacians(x, columns, -0.7, table)
    np.testing.assert_allclose(table, np.exp(-0.7 * np.abs(difference).sum(axis=2)), **close)
    _core.sums_of_minima(x, columns, table)
    np.testing.assert_allclose(table, np.minimum(x[:, None], z[None]).sum(axis=2), **close)
    products = np.ascontiguousarray(x @ z.T)
    squares = [np.square(rows, dtype=float).sum(axis=1) for rows in (x, z)]
    _core.gaussians(products, *squares, -0.3)
    gaussian = np.exp(-0.3 * np.square(difference).sum(axis=2))
    np.testing.assert_allclose(products, gaussian, rtol=1e-10 if dtype == np.float64 else 1e-4)


def test_rounding_gives_no_value_above_one():
    table = np.array([[1.0 + 1e-9]])
    _core.gaussians(table, np.ones(1), np.ones(1), -5.0)
    assert table[0, 0] == 1.0


def test_sizes_and_types_that_do_not_fit_are_refused():
    x, columns, table = np.ones((2, 3)), np.ones((3, 4)), np.empty((2, 4))
    with pytest.raises(ValueError, match="row for every column of x"):
        _core.laplacians(x, np.ones((4, 4)), -1.0, table)
    with pytest.raises(ValueError, match="table must have a row"):
        _core.sums_of_minima(x, columns, np.empty((4, 2)))
    with pytest.raises(TypeError, match="x must be float32"):
        _core.laplacians(x, columns, -1.0, table.astype(np.float32))
    with pytest.raises(TypeError, match="float32 or float64"):
        _core.gaussians(np.ones((1, 1), dtype=int), np.ones(1), np.ones(1), -1.0)
    with pytest.raises(ValueError, match="C-contiguous"):
        _core.gaussians(np.asfortranarray(np.ones((2, 3))), np.ones(2), np.ones(3), -1.0)
