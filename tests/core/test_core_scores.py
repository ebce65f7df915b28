"""Kernels of several scores a row against NumPy formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp, rel_entr
from scipy.special import softmax as scipy_softmax

from minimand import _core

WIDTHS = [1, 2, 3, 4, 5, 8, 10, 12, 13, 20, 24, 25, 61]


def rows_of_scores(rng, n, k):
    z = 5 * rng.standard_normal((n, k))
    return z, rng.integers(0, k, n)


def laws(rng, n, k):
    return rng.dirichlet(np.full(k, 0.5), size=n), rng.uniform(0.0, 2.0, n)


def hessian_product(X, v, p, scale):
    """[X 1]ᵀ S [X 1] v by the formula."""
    X = np.column_stack([X, np.ones(len(X))])
    t = X @ v
    u = scale[:, None] * (p * t - p * (p * t).sum(axis=1, keepdims=True))
    return X.T @ u


@pytest.mark.parametrize("k", WIDTHS)
def test_softmax(k, threads):
    rng = np.random.default_rng(k)
    z, y = rows_of_scores(rng, 300 if k > 1 else 7, k)
    n, true = len(z), np.eye(k)[y]
    value, gradient, p = _core.softmax_terms(z, y)
    np.testing.assert_allclose(
        value, logsumexp(z, axis=1) - z[np.arange(n), y], rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(p, scipy_softmax(z, axis=1), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(gradient, p - true, atol=1e-15)
    assert np.array_equal(_core.softmax(z), p)
    assert np.array_equal(_core.softmax_value(z, y), value)
    assert np.array_equal(_core.softmax_gradient(z, y), gradient)
    law, scale = laws(rng, n, k)
    found = _core.softmax_relative_entropy(z, law - true, y)
    np.testing.assert_allclose(found, rel_entr(law, p).sum(axis=1), rtol=1e-9, atol=1e-13)
    t = rng.standard_normal((n, k))
    expected = scale[:, None] * (law * t - law * (law * t).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(_core.simplex_times(law, scale, t), expected, atol=1e-14)


def test_softmax_of_ties_and_corners():
    z = np.array([[3.0, 3.0, 3.0], [0.0, -800.0, -1e308], [1e308, 1e308, -1e308]])
    value, gradient, p = _core.softmax_terms(z, np.array([2, 0, 2]))
    np.testing.assert_allclose(p, [[1 / 3] * 3, [1, 0, 0], [0.5, 0.5, 0]], rtol=1e-15)
    assert value[0] == pytest.approx(np.log(3))
    assert value[1] == 0
    assert np.isinf(value[2])  # 2e308 has no double
    np.testing.assert_allclose(gradient[2], [0.5, 0.5, -1])


@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_products_with_sparse_rows(k, scalar, index, threads):
    rng = np.random.default_rng(k)
    dense = (rng.standard_normal((400, 60)) * (rng.uniform(size=(400, 60)) < 0.2)).astype(scalar)
    dense[7] = 0.0
    csr = sp.csr_array(dense)
    matrix = _core.Compressed(csr.indptr.astype(index), csr.indices.astype(index), csr.data, 60)
    dense = dense.astype(float)
    v, (p, scale) = rng.standard_normal((61, k)), laws(rng, 400, k)
    found = _core.simplex_product(matrix, v, p, scale)
    np.testing.assert_allclose(found, hessian_product(dense, v, p, scale), atol=1e-10)
    np.testing.assert_allclose(_core.gather(matrix, v[:-1].copy()), dense @ v[:-1], atol=1e-11)
    np.testing.assert_allclose(_core.scatter(matrix, p), dense.T @ p, atol=1e-11)


@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 7, 600])
def test_products_with_dense_rows(k, scalar, d, threads):
    rng = np.random.default_rng(k)
    n = 403 if d < 100 else 66
    whole = rng.standard_normal((n, d + 2)).astype(scalar)
    X = whole[:, 1:-1]  # rows lie apart
    v, (p, scale) = rng.standard_normal((d + 1, k)), laws(rng, n, k)
    found = _core.dense_simplex_product(X, v, p, scale)
    np.testing.assert_allclose(found, hessian_product(X.astype(float), v, p, scale), atol=1e-9)


@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_products_in_single_precision(k, index, threads):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((3000, 37)) * (rng.uniform(size=(3000, 37)) < 0.5) + 0.1
    X = X.astype(np.float32)
    csr = sp.csr_array(X)
    matrix = _core.Compressed(csr.indptr.astype(index), csr.indices.astype(index), csr.data, 37)
    v, (p, scale) = rng.standard_normal((38, k)), laws(rng, 3000, k)
    expected = hessian_product(X.astype(float), v, p, scale)
    size = 1e-6 * (np.abs(expected).max() + 1.0)
    for found in (
        _core.dense_simplex_product(X, v, p, scale, single=True),
        _core.simplex_product(matrix, v, p, scale, single=True),
    ):
        assert (np.abs(found - expected) <= size).all()


def test_rows_are_scaled(threads):
    rng = np.random.default_rng(0)
    t, factors = rng.standard_normal((500, 7)), rng.standard_normal(500)
    assert np.array_equal(_core.scale_rows(t, factors), factors[:, None] * t)


def test_large_tables_are_fetched_ahead():
    # Tables beyond a megabyte take the way with prefetches.
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 30_000), density=2e-3, rng=rng, format="csr")
    matrix = _core.Compressed(X.indptr, X.indices, X.data, 30_000)
    v, (p, scale) = rng.standard_normal((30_001, 6)), laws(rng, 200, 6)
    expected = hessian_product(X.toarray(), v, p, scale)
    np.testing.assert_allclose(_core.simplex_product(matrix, v, p, scale), expected, atol=1e-11)


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_nonzeros(scalar, order, threads):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 90)) * (rng.uniform(size=(300, 90)) < 0.3)
    X[5], X[:, 3] = 0.0, 0.0
    X[6] = 1.0
    X = np.asarray(X, dtype=scalar, order=order)
    lines = X if order == "C" else X.T
    counts = np.empty(len(lines), np.int64)
    _core.count_nonzeros(X, counts)
    assert np.array_equal(counts, (lines != 0).sum(axis=1))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    positions, values = np.full(starts[-1], -1, np.int32), np.empty(starts[-1], scalar)
    _core.copy_nonzeros(X, starts, positions, values)
    expected = sp.csr_array(lines)
    assert np.array_equal(positions, expected.indices)
    assert np.array_equal(values, expected.data)


@pytest.mark.parametrize(
    "call",
    [
        lambda: _core.softmax(np.zeros(3)),
        lambda: _core.softmax(np.zeros((3, 0))),
        lambda: _core.softmax_value(np.zeros((2, 3)), np.array([0, 3])),
        lambda: _core.softmax_value(np.zeros((2, 3)), np.array([0, -1])),
        lambda: _core.softmax_value(np.zeros((2, 3)), np.array([0])),
        lambda: _core.softmax_relative_entropy(
            np.zeros((2, 3)), np.zeros((2, 2)), np.array([0, 1])
        ),
        lambda: _core.simplex_times(np.zeros((2, 3)), np.ones(3), np.zeros((2, 3))),
        lambda: _core.dense_simplex_product(
            np.zeros((2, 3)), np.zeros((3, 2)), np.zeros((2, 2)), np.ones(2)
        ),
        lambda: _core.dense_simplex_product(
            np.zeros((2, 3)), np.zeros((4, 2)), np.zeros((2, 3)), np.ones(2)
        ),
        lambda: _core.dense_simplex_product(
            np.zeros((2, 3), order="F"), np.zeros((4, 2)), np.zeros((2, 2)), np.ones(2)
        ),
        lambda: _core.scale_rows(np.zeros((2, 3)), np.ones(3)),
        lambda: _core.count_nonzeros(np.zeros((2, 3)), np.empty(3, np.int64)),
        lambda: _core.copy_nonzeros(
            np.ones((2, 3)), np.array([0, 4, 3], np.int32), np.empty(3, np.int32), np.empty(3)
        ),
    ],
)
def test_wrong_sizes_are_refused(call):
    with pytest.raises(ValueError, match=r"must"):
        call()


def test_single_precision_needs_floats():
    table, p = np.zeros((4, 2)), np.zeros((2, 2))
    with pytest.raises(ValueError, match="needs a matrix of floats"):
        _core.dense_simplex_product(np.zeros((2, 3)), table, p, np.ones(2), single=True)
