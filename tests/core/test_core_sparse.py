"""Sparse kernels against dense NumPy formulas."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core

SCALARS = [np.float32, np.float64]
INDICES = [np.int32, np.int64]


def compressed(rng, n_major, n_minor, density, scalar, index, shuffle=False):
    """The arguments of a checked CSR and its dense equivalent in float64."""
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
    return (indptr, indices, data, n_minor), matrix.toarray().astype(np.float64)


def checked(A):
    return _core.Compressed(A.indptr, A.indices, A.data, A.shape[1 if A.format == "csr" else 0])


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
    arrays, dense = compressed(rng, *shape, scalar, index)
    matrix = _core.Compressed(*arrays)
    tail = () if width is None else (width,)
    x = frozen(rng.normal(size=(dense.shape[1], *tail)))
    u = frozen(rng.normal(size=(dense.shape[0], *tail)))
    y = _core.gather(matrix, x)
    assert y.shape == (dense.shape[0], *tail)
    np.testing.assert_allclose(y, dense @ x, atol=1e-12)
    v = _core.scatter(matrix, u)
    assert v.shape == (dense.shape[1], *tail)
    np.testing.assert_allclose(v, dense.T @ u, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(**common)
def test_curvature_product_and_moments(shape, scalar, index, seed):
    rng = np.random.default_rng(seed)
    arrays, dense = compressed(rng, *shape, scalar, index)
    matrix = _core.Compressed(*arrays)
    h, v = frozen(rng.normal(size=dense.shape[0])), frozen(rng.normal(size=dense.shape[1]))
    t = h * (dense @ v + 0.3)
    g, s = _core.curvature_product(matrix, v, 0.3, h)
    np.testing.assert_allclose(g, dense.T @ t, atol=1e-11)
    np.testing.assert_allclose(h * s, t, atol=1e-11)
    first, second = _core.moments_minor(matrix, h)
    np.testing.assert_allclose(first, dense.T @ h, atol=1e-12)
    np.testing.assert_allclose(second, (dense**2).T @ h, atol=1e-12)
    first, second = _core.moments_major(matrix, v)
    np.testing.assert_allclose(first, dense @ v, atol=1e-12)
    np.testing.assert_allclose(second, dense**2 @ v, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(**common, slot_type=st.sampled_from(INDICES))
def test_gram(shape, scalar, index, seed, slot_type):
    rng = np.random.default_rng(seed)
    arrays, dense = compressed(rng, *shape, scalar, index, shuffle=True)
    matrix = _core.Compressed(*arrays)
    n, d = dense.shape
    h = frozen(rng.normal(size=n))
    chosen = rng.permutation(d)[: rng.integers(0, d + 1)]
    slot = np.full(d, -1, dtype=slot_type)
    slot[chosen] = np.arange(chosen.size)
    gram = _core.gram_minor(matrix, h, slot, chosen.size)
    expected = dense[:, chosen].T @ (h[:, None] * dense[:, chosen])
    np.testing.assert_allclose(gram, expected, atol=1e-11)
    np.testing.assert_array_equal(gram, gram.T)

    rows = rng.permutation(n)[: rng.integers(0, n + 1)].astype(np.int64)
    k = frozen(rng.normal(size=d))
    gram = _core.gram_major(matrix, k, rows)
    np.testing.assert_allclose(gram, (dense[rows] * k) @ dense[rows].T, atol=1e-11)
    np.testing.assert_array_equal(gram, gram.T)


def test_threads_agree_with_formulas(threads):
    rng = np.random.default_rng(0)
    n, d, per_row = 20_000, 300, 30
    data = rng.normal(size=n * per_row)
    indices = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)[:, :per_row].ravel()
    A = sp.csr_matrix((data, indices, np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    matrix = checked(A)
    x, h = rng.normal(size=d), rng.uniform(size=n)
    for tail in ((), (3,)):
        w, u = rng.normal(size=(d, *tail)), rng.normal(size=(n, *tail))
        np.testing.assert_allclose(_core.gather(matrix, w), A @ w, atol=1e-10)
        np.testing.assert_allclose(_core.scatter(matrix, u), A.T @ u, atol=1e-9)
    t = h * (A @ x - 1.0)
    g, s = _core.curvature_product(matrix, x, -1.0, h)
    np.testing.assert_allclose(g, A.T @ t, atol=1e-9)
    np.testing.assert_allclose(h * s, t, rtol=1e-10)
    first, second = _core.moments_minor(matrix, h)
    np.testing.assert_allclose(first, A.T @ h, atol=1e-9)
    np.testing.assert_allclose(second, A.multiply(A).T @ h, atol=1e-9)
    first, second = _core.moments_major(matrix, x)
    np.testing.assert_allclose(first, A @ x, atol=1e-10)
    np.testing.assert_allclose(second, A.multiply(A) @ x, atol=1e-10)
    expected = (A.multiply(h[:, None]).T @ A).toarray()
    slots = np.arange(d)
    np.testing.assert_allclose(_core.gram_minor(matrix, h, slots, d), expected, atol=1e-9)
    gram = _core.gram_major(checked(A.tocsc()), h, slots)
    np.testing.assert_allclose(gram, expected, atol=1e-9)


def test_same_threads_same_bits(threads):
    rng = np.random.default_rng(1)
    A = sp.random(5000, 400, density=0.3, format="csr", random_state=1)
    u = rng.normal(size=5000)
    first = _core.scatter(checked(A), u)
    np.testing.assert_array_equal(first, _core.scatter(checked(A), u))


def test_large_gram_is_split_into_bands(threads):
    rng = np.random.default_rng(2)
    d = 2100  # beyond the size a thread gets a private copy of
    A = sp.random(600, d, density=0.05, format="csr", random_state=2)
    h = rng.uniform(size=600)
    gram = _core.gram_minor(checked(A), h, np.arange(d), d)
    np.testing.assert_allclose(gram, (A.multiply(h[:, None]).T @ A).toarray(), atol=1e-11)


# Bindings check; kernels trust ---------------------------------------------------------------


def a_matrix():
    """5×4, of which column 3 and row 0 are sure to be met."""
    dense = np.arange(20.0).reshape(5, 4) % 3
    dense[0, 3] = 1.0
    return sp.csr_matrix(dense)


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("data", lambda a: a.astype(np.int64), "data must be float32 or float64"),
        ("data", lambda a: a.astype(">f8"), "incompatible"),
        ("data", lambda a: np.repeat(a, 2)[::2], "data must be C-contiguous"),
        ("data", lambda a: a[:-1], "indices must have length"),
        ("data", lambda a: misaligned(a), "data must be aligned"),
        ("indices", lambda a: a[:-1], "indices must have length"),
        ("indices", lambda a: a.astype(np.int64), "indices must be int32"),
        ("indices", lambda a: a + 1, "indices must hold numbers of at least 0 and below 4"),
        ("indices", lambda a: a - 1, "indices must hold"),
        ("indices", lambda a: a + np.int32(2**31 - 1 - a.max()), "indices must hold"),
        ("indices", lambda a: a - np.int32(2**31 - 1), "indices must hold"),
        ("indptr", lambda a: a.astype(np.int16), "indptr must be int32 or int64"),
        ("indptr", lambda a: a[:0], "indptr must not be empty"),
        ("indptr", lambda a: a + np.int32(3), "indptr must not fall"),
        ("indptr", lambda a: a - np.int32(3), "indptr must not fall"),
        ("indptr", lambda a: np.r_[a[:2], a[1:3][::-1], a[4:]].astype(np.int32), "must not fall"),
        ("minors", lambda a: -1, "n_minor must not be negative"),
        ("minors", lambda a: 0, "indices must hold"),
        ("minors", lambda a: 3, "indices must hold"),
    ],
)
def test_a_malformed_matrix_is_refused_when_it_is_made(part, change, words):
    A = a_matrix()
    parts = {"indptr": A.indptr, "indices": A.indices, "data": A.data, "minors": 4}
    _core.Compressed(*parts.values())
    parts[part] = change(parts[part])
    with pytest.raises((TypeError, ValueError), match=words):
        _core.Compressed(*parts.values())


def misaligned(a):
    """The same numbers one byte further on."""
    room = np.zeros(a.nbytes + 1, np.uint8)
    moved = room[1:].view(a.dtype)
    moved[:] = a
    return moved


x, u = np.ones(4), np.ones(5)
places = np.zeros(1, np.int64)


@pytest.mark.parametrize(
    ("kernel", "arguments", "words"),
    [
        ("gather", (u,), "x must have length 4, got 5"),
        ("gather", (np.ones((5, 2)),), "x must have length 4"),
        ("gather", (np.ones(8)[::2],), "C-contiguous"),
        ("gather", (np.ones((2, 4)).T,), "C-contiguous"),
        ("gather", (np.ones((4, 1, 1)),), "dimensions"),
        ("gather", (misaligned(x),), "x must be aligned"),
        ("gather", (x.astype(np.float32),), "float64"),
        ("gather", (x.astype(">f8"),), "incompatible"),
        ("gather", ([1.0] * 4,), "incompatible"),
        ("gather_picked", (u, places), "x must have length 4"),
        (
            "gather_picked",
            (x, np.array([5])),
            "majors must hold numbers of at least 0 and below 5, got 5",
        ),
        ("gather_picked", (x, np.array([-1])), "majors must hold"),
        ("scatter", (x,), "x must have length 5"),
        ("curvature_product", (x, 0.0, x), "h must have length 5"),
        ("curvature_product", (u, 0.0, u), "v must have length 4"),
        ("moments_major", (u,), "h must have length 4"),
        ("moments_minor", (x,), "h must have length 5"),
        ("gram_minor", (x, np.arange(4), 4), "h must have length 5"),
        ("gram_minor", (u, np.arange(3), 4), "slot must have length 4"),
        ("gram_minor", (u, np.arange(4), 3), "slot must be below n_slots"),
        ("gram_minor", (u, np.zeros(4), 1), "slot must be int64"),
        ("gram_major", (u, places), "h must have length 4"),
        ("gram_major", (x, np.array([5])), "cols must hold"),
        ("gram_major", (x, np.zeros(1, np.int32)), "cols must be int64"),
        ("row_squares", (np.ones(3),), "inverse must have length 4"),
    ],
)
def test_operands_that_do_not_fit_are_refused(kernel, arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        getattr(_core, kernel)(checked(a_matrix()), *arguments)


def test_a_checked_matrix_can_be_copied_and_pickled():
    A = a_matrix()
    for twin in (pickle.loads(pickle.dumps(checked(A))), copy.deepcopy(checked(A))):
        np.testing.assert_array_equal(_core.gather(twin, x), A @ x)


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (30, 7), (400, 900)])
def test_transpose_turns_rows_into_columns(scalar, index, shape):
    rng = np.random.default_rng(4)
    A = sp.random(*shape, 0.4, "csr", dtype=scalar, rng=rng)
    B = A.tocsc()
    indptr, indices = np.empty(shape[1] + 1, index), np.empty(A.nnz, index)
    data = np.empty(A.nnz, scalar)
    matrix = _core.Compressed(A.indptr.astype(index), A.indices.astype(index), A.data, shape[1])
    _core.transpose(matrix, indptr, indices, data)
    np.testing.assert_array_equal(indptr, B.indptr)
    np.testing.assert_array_equal(indices, B.indices)
    np.testing.assert_array_equal(data, B.data)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("scalar", SCALARS)
def test_products_of_picked_majors(threads, scalar, index):
    rng = np.random.default_rng(6)
    arrays, dense = compressed(rng, 700, 90, 0.3, scalar, index, shuffle=True)
    matrix = _core.Compressed(*arrays)
    picked = np.flatnonzero(rng.uniform(size=700) < 0.5)
    x, w = rng.standard_normal(picked.size), rng.standard_normal(90)
    before = _core.get_num_threads()
    try:
        _core.set_num_threads(threads)
        sums = _core.scatter_picked(matrix, x, picked)
        np.testing.assert_allclose(sums, dense[picked].T @ x, rtol=1e-9, atol=1e-12)
        found = _core.gather_picked(matrix, w, picked)
        np.testing.assert_allclose(found, dense[picked] @ w, rtol=1e-9, atol=1e-12)
    finally:
        _core.set_num_threads(before)
    for wrong in (picked[:-1], np.append(picked[:-1], 700), np.append(picked[:-1], -1)):
        with pytest.raises((ValueError, IndexError)):
            _core.scatter_picked(matrix, x, wrong)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("first", [0, 3])
def test_append_minor_adds_a_constant_column(scalar, index, first):
    rng = np.random.default_rng(3)
    (indptr, indices, data, d), dense = compressed(rng, 30, 7, 0.4, scalar, index, shuffle=True)
    spare = np.zeros(first, index), np.zeros(first, scalar)  # numbers before those of row 0
    indices, data = (np.concatenate(pair) for pair in zip(spare, (indices, data)))
    n, size = 30, indices.size - first + 30
    found = np.empty(n + 1, index), np.empty(size, index), np.empty(size, scalar)
    _core.append_minor(_core.Compressed(indptr + index(first), indices, data, d), 2.5, *found)
    wide = sp.csr_matrix((found[2], found[1], found[0]), shape=(n, d + 1)).toarray()
    np.testing.assert_array_equal(wide, np.column_stack([dense, np.full(n, 2.5)]))
    with pytest.raises(ValueError, match="indices"):
        _core.append_minor(
            _core.Compressed(indptr + index(first), indices, data, d),
            2.5,
            found[0],
            found[1][:-1],
            found[2],
        )


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (30, 7), (4000, 900)])
def test_pick_minors_keeps_some_columns(threads, scalar, index, shape):
    rng = np.random.default_rng(5)
    A = sp.random(*shape, 0.4, "csr", dtype=scalar, rng=rng)
    columns = np.flatnonzero(rng.uniform(size=shape[1]) < 0.5)
    B = A[:, columns]
    slot = np.full(shape[1], -1, index)
    slot[columns] = np.arange(columns.size)
    matrix = _core.Compressed(A.indptr.astype(index), A.indices.astype(index), A.data, shape[1])
    before = _core.get_num_threads()
    try:
        _core.set_num_threads(threads)
        indptr, indices = np.empty(shape[0] + 1, index), np.empty(B.nnz, index)
        data = np.empty(B.nnz, scalar)
        _core.pick_minors(matrix, slot, indptr, indices, data)
        np.testing.assert_array_equal(indptr, B.indptr)
        np.testing.assert_array_equal(indices, B.indices)
        np.testing.assert_array_equal(data, B.data)
        for wrong in (B.nnz - 1, B.nnz + 1):
            if wrong >= 0:
                room = np.empty(wrong, index), np.empty(wrong, scalar)
                with pytest.raises(ValueError, match="exactly the entries"):
                    _core.pick_minors(matrix, slot, indptr, *room)
    finally:
        _core.set_num_threads(before)
