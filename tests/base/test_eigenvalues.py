"""The largest eigenvalues are all found, also where LAPACK's method for some of them fails."""

import numpy as np
import pytest

import minimand as mm
from minimand._base.eigenvalues import largest_eigenpairs, largest_eigenvalues


@pytest.mark.parametrize("side", [70, 400])
def test_equal_eigenvalues_are_all_found(side):
    matrix = np.eye(side) - 3.0 * np.full((side, side), 1.0 / side)
    values, vectors = largest_eigenpairs(matrix, 2)
    assert vectors.shape == (side, 2)
    assert np.allclose(values, 1.0)
    assert np.allclose(matrix @ vectors, vectors)
    assert np.allclose(largest_eigenvalues(matrix, 2), 1.0)


def test_rows_without_affinity_to_others_have_all_components():
    rows = 100.0 * np.arange(400.0)[:, None]
    model = mm.NormalizedPCA(2, mm.RBF(1.0)).fit(rows)
    assert model.transform(rows).shape == (400, 2)
    assert np.allclose(model.eigenvalues_, 1.0)
    assert abs(model.certificate_.primal) < 1e-12
