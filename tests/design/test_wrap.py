"""Which design a matrix becomes."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.design import DenseDesign, SparseDesign, as_design
from minimand.design.picked import row_products

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


@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_products_with_some_rows_are_those_of_their_copy(form, share):
    rng = np.random.default_rng(8)
    table = rng.standard_normal((60, 9)) * (rng.uniform(size=(60, 9)) < 0.5)
    design = as_design(table if form == "dense" else sparse.csr_matrix(table).asformat(form))
    rows = np.arange(int(60 * share))
    some, w, u = row_products(design, rows), rng.standard_normal(9), rng.standard_normal(rows.size)
    np.testing.assert_allclose(some.matvec(w), table[rows] @ w, atol=1e-12)
    np.testing.assert_allclose(some.rmatvec(u), table[rows].T @ u, atol=1e-12)


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_constant_column_and_products_with_some_columns(form, scalar):
    rng = np.random.default_rng(9)
    table = (rng.standard_normal((30, 8)) * (rng.uniform(size=(30, 8)) < 0.4)).astype(scalar)
    design = as_design(sparse.csr_matrix(table).asformat(form))
    wide = design.and_constant(0.3)
    assert wide.format == "csr"
    assert wide.has_canonical_format
    np.testing.assert_array_equal(wide.toarray(), np.column_stack([table, np.full(30, 0.3)]))
    columns, w = np.array([0, 3, 7]), rng.standard_normal(3)
    for _ in range(2):  # before and after the CSC form exists
        found = design.matvec_on(columns, w)
        np.testing.assert_allclose(found, table[:, columns] @ w, rtol=1e-6, atol=1e-12)
        design.ready_to_pick()
