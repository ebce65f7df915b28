"""Rows plus a number for every column, in long runs: the same sums as NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from minimand._base.row_blocks import shifted


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 63, 64, 70])
@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 1000])
def test_the_sums_are_those_of_numpy(n, k, order, in_place):
    rng = np.random.default_rng(n + k)
    rows, shift = np.asarray(rng.normal(size=(n, k)), order=order), rng.normal(size=k)
    before = rows.copy()
    found = shifted(rows, shift, in_place=in_place)
    np.testing.assert_array_equal(found, before + shift)
    assert (found is rows) == in_place
    if not in_place:
        np.testing.assert_array_equal(rows, before)


def test_parts_of_rows_are_shifted_in_place():
    table = np.zeros((300, 6))
    shifted(table[:, :3], np.ones(3), in_place=True)
    np.testing.assert_array_equal(table[:, :3], 1.0)
    np.testing.assert_array_equal(table[:, 3:], 0.0)
