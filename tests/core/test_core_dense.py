"""Dense kernels against NumPy formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core


def matrix(rng, n, d, scalar, layout):
    X = rng.normal(size=(n, d)).astype(scalar)
    if layout == "rows apart":
        X = np.ascontiguousarray(np.hstack([X, X]))[:, :d]
    elif layout == "columns apart":
        X = np.asfortranarray(np.vstack([X, X]))[:n]
    else:
        X = np.asarray(X, order=layout)
    X.flags.writeable = False
    return X, X.astype(np.float64)


matrices = {
    "n": st.one_of(st.integers(0, 20), st.sampled_from([63, 130, 300])),
    "d": st.one_of(st.integers(0, 9), st.sampled_from([12, 13, 25, 36])),
    "scalar": st.sampled_from([np.float32, np.float64]),
    "layout": st.sampled_from(["C", "F", "rows apart", "columns apart"]),
    "seed": st.integers(0, 2**16),
}


@settings(max_examples=100, deadline=None)
@given(**matrices, width=st.sampled_from([None, 1, 2, 3, 5]))
def test_products(n, d, scalar, layout, seed, width):
    rng = np.random.default_rng(seed)
    X, dense = matrix(rng, n, d, scalar, layout)
    tail = () if width is None else (width,)
    w, u = rng.normal(size=(d, *tail)), rng.normal(size=(n, *tail))
    w.flags.writeable = u.flags.writeable = False
    z = _core.dense_matvec(X, w)
    assert z.shape == (n, *tail)
    np.testing.assert_allclose(z, dense @ w, atol=1e-11)
    v = _core.dense_rmatvec(X, u)
    assert v.shape == (d, *tail)
    np.testing.assert_allclose(v, dense.T @ u, atol=1e-11)


@settings(max_examples=100, deadline=None)
@given(**matrices)
def test_quadratic_forms(n, d, scalar, layout, seed):
    rng = np.random.default_rng(seed)
    X, dense = matrix(rng, n, d, scalar, layout)
    h, v = rng.normal(size=n), rng.normal(size=d)
    t = h * (dense @ v - 0.7)
    g, s = _core.dense_curvature_product(X, v, -0.7, h)
    np.testing.assert_allclose(g, dense.T @ t, atol=1e-10)
    np.testing.assert_allclose(h * s, t, atol=1e-10)
    first, second = _core.dense_moments(X, h)
    np.testing.assert_allclose(first, dense.T @ h, atol=1e-11)
    np.testing.assert_allclose(second, (dense**2).T @ h, atol=1e-11)
    gram = _core.dense_gram(X, h)
    assert gram.shape == (d, d)
    np.testing.assert_allclose(gram, dense.T @ (h[:, None] * dense), atol=1e-10)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize(
    "shape", [(30_000, 40), (40, 30_000), (5000, 250), (1, 500_000), (3000, 800)]
)
def test_large_shapes(threads, layout, shape):
    rng = np.random.default_rng(0)
    X, dense = matrix(rng, *shape, np.float32, layout)
    n, d = shape
    for tail in ((), (2,)):
        w, u = rng.normal(size=(d, *tail)), rng.normal(size=(n, *tail))
        np.testing.assert_allclose(_core.dense_matvec(X, w), dense @ w, atol=1e-8)
        np.testing.assert_allclose(_core.dense_rmatvec(X, u), dense.T @ u, atol=1e-8)
    h, v = rng.uniform(size=n), rng.normal(size=d)
    t = h * (dense @ v + 0.1)
    g, s = _core.dense_curvature_product(X, v, 0.1, h)
    np.testing.assert_allclose(g, dense.T @ t, atol=1e-7)
    np.testing.assert_allclose(h * s, t, atol=1e-7)
    first, second = _core.dense_moments(X, h)
    np.testing.assert_allclose(first, dense.T @ h, atol=1e-8)
    np.testing.assert_allclose(second, (dense**2).T @ h, atol=1e-8)
    if d <= 1000:
        gram = _core.dense_gram(X, h)
        np.testing.assert_allclose(gram, dense.T @ (h[:, None] * dense), atol=1e-8)
        np.testing.assert_array_equal(gram, _core.dense_gram(X, h))


def test_results_outlive_one_another():
    X = np.ones((20_000, 2))
    first = _core.dense_matvec(X, np.array([1.0, 0.0]))
    second = _core.dense_matvec(X, np.array([2.0, 0.0]))
    kept = first[:10]
    del first
    third = _core.dense_matvec(X, np.array([3.0, 0.0]))
    assert (kept == 1.0).all()
    assert (second == 2.0).all()
    assert (third == 3.0).all()
    kept[0] = 5.0  # results are ordinary, writable arrays


def test_rejects_wrong_arrays():
    X, w, u = np.ones((4, 6)), np.ones(6), np.ones(4)
    with pytest.raises(TypeError):
        _core.dense_matvec(X.astype(np.int64), w)
    with pytest.raises(TypeError):
        _core.dense_matvec(X, w.astype(np.float32))
    with pytest.raises(ValueError, match="contiguous"):
        _core.dense_matvec(np.ones((8, 12))[::2, ::2], w)
    with pytest.raises(ValueError, match="contiguous"):
        _core.dense_matvec(np.ones((4, 6))[:, ::-1], w)
    with pytest.raises(ValueError, match="contiguous"):
        _core.dense_matvec(np.broadcast_to(np.ones(6), (4, 6)), w)
    with pytest.raises(ValueError, match="two-dimensional"):
        _core.dense_matvec(w, w)
    with pytest.raises(ValueError, match="w must have length 6"):
        _core.dense_matvec(X, u)
    with pytest.raises(ValueError, match="u must have length 4"):
        _core.dense_rmatvec(X, w)
    with pytest.raises(ValueError, match="h must have length 4"):
        _core.dense_gram(X, w)
    with pytest.raises(ValueError, match="h must have length 4"):
        _core.dense_moments(X, w)
    with pytest.raises(ValueError, match="v must have length 6"):
        _core.dense_curvature_product(X, u, 0.0, u)
