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
    for squared, power in ((False, 1), (True, 2)):
        _core.sums_of_differences(squared, x, columns, table)
        np.testing.assert_allclose(table, (np.abs(difference) ** power).sum(axis=2), **close)
    _core.sums_of_minima(x, columns, table)
    np.testing.assert_allclose(table, np.minimum(x[:, None], z[None]).sum(axis=2), **close)
    products = np.ascontiguousarray(x @ z.T)
    squares = [np.square(rows, dtype=float).sum(axis=1) for rows in (x, z)]
    _core.gaussians(products, *squares, -0.3)
    gaussian = np.exp(-0.3 * np.square(difference).sum(axis=2))
    np.testing.assert_allclose(products, gaussian, rtol=1e-10 if dtype == np.float64 else 1e-4)
    _core.gaussians_of_differences(x, columns, -0.3, table)
    np.testing.assert_allclose(table, gaussian, **close)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7, 12])
def test_powers_of_a_tile_leave_the_rest_of_its_table(degree, dtype):
    table = RNG.random((5, 1300)).astype(dtype)
    before = table.copy()
    _core.powers(table[1:4, 2:1200], 0.5, degree)
    expected = before.astype(float)
    expected[1:4, 2:1200] = (expected[1:4, 2:1200] + 0.5) ** degree
    close = {"rtol": 1e-13 if dtype == np.float64 else 3e-6}
    np.testing.assert_allclose(table, expected, **close)
    with pytest.raises(ValueError, match="degree must be at least one"):
        _core.powers(table, 0.5, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 100])
def test_the_upper_triangle_is_mirrored(n, dtype):
    square = RNG.random((n, n)).astype(dtype)
    upper = np.triu(square)
    _core.mirror_upper(square)
    np.testing.assert_array_equal(square, upper + np.triu(upper, 1).T)
    with pytest.raises(ValueError, match="as many rows as columns"):
        _core.mirror_upper(np.zeros((2, 3)))


def test_differences_keep_the_digits_of_rows_far_from_zero():
    x = np.array([[1e8], [1e8 + 1e-3]])
    table = np.empty((2, 2))
    _core.gaussians_of_differences(x, np.ascontiguousarray(x.T), -1e6, table)
    step = float(x[1, 0] - x[0, 0])
    np.testing.assert_allclose(table, np.exp(-1e6 * step**2 * (1 - np.eye(2))), rtol=1e-12)
    far = np.array([[1e200], [-1e200]])  # squares overflow: no value at all, and no NaN
    _core.gaussians_of_differences(far, np.ascontiguousarray(far.T), -1.0, table)
    np.testing.assert_array_equal(table, np.eye(2))


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
    with pytest.raises(ValueError, match="row for every column of x"):
        _core.gaussians_of_differences(x, np.ones((4, 4)), -1.0, table)
    with pytest.raises(TypeError, match="float32 or float64"):
        _core.gaussians_of_differences(x, columns, -1.0, table.astype(int))
    with pytest.raises(TypeError, match="float32 or float64"):
        _core.gaussians(np.ones((1, 1), dtype=int), np.ones(1), np.ones(1), -1.0)
    with pytest.raises(ValueError, match="C-contiguous"):
        _core.gaussians(np.asfortranarray(np.ones((2, 3))), np.ones(2), np.ones(3), -1.0)


def test_single_precision_is_exact_to_two_ulp_and_never_negative():
    distances = np.concatenate([[0.0, 1e-9, 1e30], np.geomspace(1e-6, 200.0, 4093)])
    table = np.zeros((1, 4096), np.float32)
    _core.gaussians(table, np.zeros(1), distances, -1.0)
    exact = np.exp(-distances.astype(np.float32).astype(float))
    normal = exact > 2e-38
    ulp = np.finfo(np.float32).eps
    assert (np.abs(table[0] - exact)[normal] <= 2 * ulp * exact[normal]).all()
    assert (table[0][~normal] <= 2e-38).all()
    assert (table >= 0).all()
    _core.gaussians(table, np.zeros(1), np.zeros(4096), -1e300)  # beyond float32
    assert (table == 1.0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_tile_of_a_larger_table_is_filled_alone(dtype):
    whole = np.ones((5, 40), dtype=dtype)
    _core.gaussians(whole[1:4, 3:30], np.full(3, 2.0), np.full(27, 1.0), -0.5)
    np.testing.assert_allclose(whole[1:4, 3:30], np.exp(-0.5), rtol=1e-6)
    rest = np.ones((5, 40), bool)
    rest[1:4, 3:30] = False
    assert (whole[rest] == 1.0).all()
    with pytest.raises(ValueError, match="factor must not be positive"):
        _core.gaussians(whole, np.ones(5), np.ones(40), 1.0)
