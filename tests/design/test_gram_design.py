"""A kernel matrix in memory gives what the kernel gives."""

import numpy as np
import pytest

import minimand as mm
from minimand.design import GramDesign, KernelDesign

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))


@pytest.mark.parametrize(
    "rows",
    [
        np.arange(30),
        np.concatenate([np.arange(3, 9), np.arange(20, 30)]),
        np.concatenate([np.arange(20, 30), np.arange(3, 9)]),
        RNG.permutation(30)[:12],
        np.tile(np.arange(30), 2),
        np.array([4]),
        np.array([], dtype=int),
    ],
    ids=["all", "two runs", "the other way round", "any", "twice", "one", "none"],
)
def test_parts_of_the_matrix_are_matrices_of_parts(rows):
    kernel = mm.RBF(1.0)
    plain = KernelDesign(kernel, kernel.rows(X, training=True))
    given = GramDesign.of(plain)
    np.testing.assert_array_equal(given.row_gram(), kernel(X))
    part = given.rows(rows)
    assert part.shape == (rows.size, 0)
    np.testing.assert_array_equal(part.row_gram(), kernel(X)[np.ix_(rows, rows)])
    assert part.matrix.flags.c_contiguous
    np.testing.assert_allclose(part.row_lengths, np.ones(rows.size))
    a = RNG.normal(size=rows.size)
    if rows.size:
        np.testing.assert_allclose(part.row_product(a), plain.rows(rows).row_product(a))
        np.testing.assert_allclose(part.cross(given), plain.rows(rows).cross(plain))
