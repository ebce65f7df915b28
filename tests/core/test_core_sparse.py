"""Sparse kernels against dense NumPy formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core

SCALARS = [np.float32, np.float64]
INDICES = [np.int32, np.int64]


def compressed(rng, n_major, n_minor, density, scalar, index, shuffle=False):
    """A CSR triple and its dense equivalent in float64."""
    dense = rng.normal(size=(n_major, n_minor)) * (rng.uniform(size=(n_major, n_minor)) < density)
    matrix = sp.csr_matrix(dense.astype(scalar))
    indptr, indices, data = (
        matrix.indptr.astype(index),
        matrix.indices.astype(index),
        matrix.data.copy(),
    )
    if shuffle:
        for m in range(n_major):
            part = slice(indptr[m], indptr[m + 1])
            order = rng.permutation(indptr[m + 1] - indptr[m])
            indices[part], data[part] = indices[part][order], data[part][order]
    for array in (indptr, indices, data):
        array.flags.writeable = False
    return (indptr, indices, data), matrix.toarray().astype(np.float64)


def frozen(array):
    array.flags.writeable = False
    return array


shapes = st.tuples(st.integers(0, 12), st.integers(0, 9), st.sampled_from([0.0, 0.3, 1.0]))
common = {
    "shape": shapes,
    "scalar": st.sampled_from(SCALARS),
    "index": st.sampled_from(INDICES),
    "seed": st.integers(0, 2**16),
}


@settings(max_examples=60, deadline=None)
@given(**common, width=st.sampled_from([None, 1, 2, 3, 4, 6]))
def test_gather_and_scatter(shape, scalar, index, seed, width):
    rng = np.random.default_rng(seed)
    matrix, dense = compressed(rng, *shape, scalar, index)
    tail = () if width is None else (width,)
    x = frozen(rng.normal(size=(dense.shape[1], *tail)))
    u = frozen(rng.normal(size=(dense.shape[0], *tail)))
    y = _core.gather(*matrix, x)
    assert y.shape == (dense.shape[0], *tail)
    np.testing.assert_allclose(y, dense @ x, atol=1e-12)
    v = _core.scatter(*matrix, u, dense.shape[1])
    assert v.shape == (dense.shape[1], *tail)
    np.testing.assert_allclose(v, dense.T @ u, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(**common)
def test_curvature_product_and_moments(shape, scalar, index, seed):
    rng = np.random.default_rng(seed)
    matrix, dense = compressed(rng, *shape, scalar, index)
    h, v = frozen(rng.normal(size=dense.shape[0])), frozen(rng.normal(size=dense.shape[1]))
    t = h * (dense @ v + 0.3)
    g, s = _core.curvature_product(*matrix, v, 0.3, h, dense.shape[1])
    np.testing.assert_allclose(g, dense.T @ t, atol=1e-11)
    np.testing.assert_allclose(h * s, t, atol=1e-11)
    first, second = _core.moments_minor(*matrix, h, dense.shape[1])
    np.testing.assert_allclose(first, dense.T @ h, atol=1e-12)
    np.testing.assert_allclose(second, (dense**2).T @ h, atol=1e-12)
    first, second = _core.moments_major(*matrix, v)
    np.testing.assert_allclose(first, dense @ v, atol=1e-12)
    np.testing.assert_allclose(second, dense**2 @ v, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(**common, slot_type=st.sampled_from(INDICES))
def test_gram(shape, scalar, index, seed, slot_type):
    rng = np.random.default_rng(seed)
    matrix, dense = compressed(rng, *shape, scalar, index, shuffle=True)
    n, d = dense.shape
    h = frozen(rng.normal(size=n))
    chosen = rng.permutation(d)[: rng.integers(0, d + 1)]
    slot = np.full(d, -1, dtype=slot_type)
    slot[chosen] = np.arange(chosen.size)
    gram = _core.gram_minor(*matrix, h, slot, chosen.size)
    expected = dense[:, chosen].T @ (h[:, None] * dense[:, chosen])
    np.testing.assert_allclose(gram, expected, atol=1e-11)
    np.testing.assert_array_equal(gram, gram.T)

    rows = rng.permutation(n)[: rng.integers(0, n + 1)].astype(np.int64)
    k = frozen(rng.normal(size=d))
    gram = _core.gram_major(*matrix, k, rows, d)
    np.testing.assert_allclose(gram, (dense[rows] * k) @ dense[rows].T, atol=1e-11)
    np.testing.assert_array_equal(gram, gram.T)


def test_threads_agree_with_formulas(threads):
    rng = np.random.default_rng(0)
    n, d, per_row = 20_000, 300, 30
    data = rng.normal(size=n * per_row)
    indices = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)[:, :per_row].ravel()
    A = sp.csr_matrix((data, indices, np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    matrix = (A.indptr, A.indices, A.data)
    x, h = rng.normal(size=d), rng.uniform(size=n)
    for tail in ((), (3,)):
        w, u = rng.normal(size=(d, *tail)), rng.normal(size=(n, *tail))
        np.testing.assert_allclose(_core.gather(*matrix, w), A @ w, atol=1e-10)
        np.testing.assert_allclose(_core.scatter(*matrix, u, d), A.T @ u, atol=1e-9)
    t = h * (A @ x - 1.0)
    g, s = _core.curvature_product(*matrix, x, -1.0, h, d)
    np.testing.assert_allclose(g, A.T @ t, atol=1e-9)
    np.testing.assert_allclose(h * s, t, rtol=1e-10)
    first, second = _core.moments_minor(*matrix, h, d)
    np.testing.assert_allclose(first, A.T @ h, atol=1e-9)
    np.testing.assert_allclose(second, A.multiply(A).T @ h, atol=1e-9)
    first, second = _core.moments_major(*matrix, x)
    np.testing.assert_allclose(first, A @ x, atol=1e-10)
    np.testing.assert_allclose(second, A.multiply(A) @ x, atol=1e-10)
    expected = (A.multiply(h[:, None]).T @ A).toarray()
    slots = np.arange(d)
    np.testing.assert_allclose(_core.gram_minor(*matrix, h, slots, d), expected, atol=1e-9)
    C = A.tocsc()
    gram = _core.gram_major(C.indptr, C.indices, C.data, h, slots, n)
    np.testing.assert_allclose(gram, expected, atol=1e-9)


def test_same_threads_same_bits(threads):
    rng = np.random.default_rng(1)
    A = sp.random(5000, 400, density=0.3, format="csr", random_state=1)
    u = rng.normal(size=5000)
    first = _core.scatter(A.indptr, A.indices, A.data, u, 400)
    np.testing.assert_array_equal(first, _core.scatter(A.indptr, A.indices, A.data, u, 400))


def test_large_gram_is_split_into_bands(threads):
    rng = np.random.default_rng(2)
    d = 2100  # beyond the size a thread gets a private copy of
    A = sp.random(600, d, density=0.05, format="csr", random_state=2)
    h = rng.uniform(size=600)
    gram = _core.gram_minor(A.indptr, A.indices, A.data, h, np.arange(d), d)
    np.testing.assert_allclose(gram, (A.multiply(h[:, None]).T @ A).toarray(), atol=1e-11)


def test_rejects_wrong_arrays():
    (indptr, indices, data), _ = compressed(
        np.random.default_rng(0), 5, 4, 0.5, np.float64, np.int32
    )
    x, u = np.ones(4), np.ones(5)
    with pytest.raises(TypeError):
        _core.gather(indptr, indices, data.astype(np.int64), x)
    with pytest.raises(TypeError):
        _core.gather(indptr, indices, data, x.astype(np.float32))
    with pytest.raises(TypeError):
        _core.gather(indptr.astype(np.int16), indices, data, x)
    with pytest.raises(TypeError):
        _core.gather(indptr, indices.astype(np.int64), data, x)
    with pytest.raises(TypeError):
        _core.gather(indptr, indices, data, [1.0] * 4)
    with pytest.raises(TypeError):
        _core.gather(indptr, indices, data, x.astype(">f8"))
    with pytest.raises(ValueError, match="C-contiguous"):
        _core.gather(indptr, indices, data, np.ones(8)[::2])
    with pytest.raises(ValueError, match="C-contiguous"):
        _core.gather(indptr, indices, data, np.ones((2, 4)).T)
    with pytest.raises(ValueError, match="dimensions"):
        _core.gather(indptr, indices, data, np.ones((4, 1, 1)))
    with pytest.raises(ValueError, match="indices"):
        _core.gather(indptr, indices[:-1], data, x)
    with pytest.raises(ValueError, match="indptr"):
        _core.gather(indptr[:0], indices, data, x)
    with pytest.raises(ValueError, match="indptr"):
        _core.gather(indptr + np.int32(3), indices, data, x)
    with pytest.raises(ValueError, match="x must have length 5"):
        _core.scatter(indptr, indices, data, x, 4)
    with pytest.raises(ValueError, match="n_minor"):
        _core.scatter(indptr, indices, data, u, -1)
    with pytest.raises(ValueError, match="h must have length"):
        _core.curvature_product(indptr, indices, data, x, 0.0, x, 4)
    with pytest.raises(ValueError, match="v must have length"):
        _core.curvature_product(indptr, indices, data, u, 0.0, u, 4)
    with pytest.raises(TypeError):
        _core.gram_minor(indptr, indices, data, u, np.zeros(4), 1)
    with pytest.raises(TypeError):
        _core.gram_major(indptr, indices, data, x, np.zeros(1, np.int32), 4)
