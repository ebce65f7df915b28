"""Which design a matrix becomes."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.design import DenseDesign, SparseDesign, as_design

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 60)) * (RNG.random((500, 60)) < 0.8)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_a_sparse_matrix_with_few_zeros_is_fitted_as_a_dense_one(kind):
    found = as_design(kind(X), to_fit=True)
    assert isinstance(found, DenseDesign)
    np.testing.assert_array_equal(found.x, X)
    assert isinstance(as_design(kind(X)), SparseDesign)  # one product does not pay for a copy
    thin = X * (RNG.random(X.shape) < 0.3)
    assert isinstance(as_design(kind(thin), to_fit=True), SparseDesign)


def test_the_model_is_that_of_the_dense_matrix():
    y = X[:, 0] + RNG.standard_normal(500)
    model = mm.Regressor("squared", mm.L1() + 0.5 * mm.L2(), alpha=0.02)
    dense, filled = (model.fit(x, y).coef_.copy() for x in (X, sparse.csc_array(X)))
    np.testing.assert_allclose(filled, dense, rtol=1e-9, atol=1e-12)
    broken = sparse.csr_array(X)
    broken.indices[3] = 99
    with pytest.raises(ValueError, match="malformed CSR"):
        model.fit(broken, y)
