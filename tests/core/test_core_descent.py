"""Coordinate descent reaches the optimum: the optimality conditions hold at what it returns."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core


def violation(smooth_gradient, w, l1, l2):
    """Largest violation of the optimality conditions of a smooth function + l1|w| + l2 w^2/2."""
    gradient = smooth_gradient + l2 * w
    at_zero = np.maximum(np.abs(gradient) - l1, 0.0)
    return np.max(np.where(w == 0, at_zero, np.abs(gradient + l1 * np.sign(w))), initial=0.0)


def design(rng, n, m, density, correlation, scalar):
    X = rng.normal(size=(n, m)) + correlation * rng.normal(size=(n, 1))
    X *= rng.uniform(size=(n, m)) < density
    if m > 1:
        X[:, rng.integers(m)] = 0.0
    return X.astype(scalar)


problems = {
    "n": st.integers(1, 40),
    "m": st.integers(0, 12),
    "density": st.sampled_from([0.3, 1.0]),
    "correlation": st.sampled_from([0.0, 3.0]),
    "l1": st.sampled_from([0.0, 0.1, 1.0, 30.0]),
    "l2": st.sampled_from([0.0, 0.5]),
    "seed": st.integers(0, 2**16),
}


def _least_curvature(G):
    """The smallest eigenvalue that is not zero up to rounding."""
    values = np.linalg.eigvalsh(G)
    return values[values > 1e-12 * values[-1]].min()


def test_cd_gram_may_need_more_sweeps_than_it_has():
    """A Gram with small eigenvalues and without a penalty: 200,000 sweeps are not enough."""
    check_cd_gram(11, 14, 0.3, 0.0, 0.0, 0.0, 379256303)


@settings(max_examples=80, deadline=None)
@given(**problems)
def test_cd_gram(n, m, density, correlation, l1, l2, seed):
    check_cd_gram(n, m, density, correlation, l1, l2, seed)


def check_cd_gram(n, m, density, correlation, l1, l2, seed):
    rng = np.random.default_rng(seed)
    X = design(rng, n, m, density, correlation, np.float64)
    G, q = X.T @ X, X.T @ rng.normal(size=n)
    G.flags.writeable = q.flags.writeable = False
    w = rng.normal(size=m) * (rng.uniform(size=m) < 0.5)
    l1 = l1 * rng.uniform(0.5, 1.5, size=m)
    l2 = l2 * rng.uniform(0.5, 1.5, size=m)
    before = w.copy()
    epochs, decrease = _core.cd_gram(G, q, w, l1, l2, 200_000, 1e-20)
    assert 0 < epochs <= 200_000
    assert decrease <= 1e-20 or epochs == 200_000
    dead = (np.diag(G) == 0) & (l1 == 0) & (l2 == 0)
    np.testing.assert_array_equal(w[dead], before[dead])
    # Columns that depend on each other and differ in their penalties can outlast any number of
    # sweeps: seed 344 with one row and ten columns. The decrease then says that it is not over.
    assert violation(G @ w + q, w, l1, l2) < (1e-6 if decrease <= 1e-20 else 1e-3)


def sparse_or_dense(kind, X, cols, *rest):
    if kind == "dense":
        return _core.cd_columns_dense(np.asfortranarray(X), cols, *rest)
    A = sp.csc_matrix(X)
    index = np.int32 if kind == "int32" else np.int64
    parts = A.indptr.astype(index), A.indices.astype(index), A.data
    return _core.cd_columns(_core.Compressed(*parts, A.shape[0]), cols, *rest)


@settings(max_examples=150, deadline=None)
@given(
    **problems,
    kind=st.sampled_from(["dense", "int32", "int64"]),
    scalar=st.sampled_from([np.float32, np.float64]),
    centre=st.booleans(),
    weights=st.sampled_from(["uniform", "random", "some zero"]),
)
def test_cd_columns(n, m, density, correlation, l1, l2, seed, kind, scalar, centre, weights):
    rng = np.random.default_rng(seed)
    X = design(rng, n, m, density, correlation, scalar)
    cols = rng.permutation(m)[: rng.integers(0, m + 1)].astype(np.int64)
    XW = X[:, cols].astype(np.float64)
    h = {"uniform": np.full(n, 0.7), "random": rng.uniform(0.1, 1, n)}.get(
        weights, rng.uniform(size=n) * (rng.uniform(size=n) < 0.7)
    )
    # Where the curvature vanishes the gradient must too, or there may be no minimum.
    q_in = rng.normal(size=n) * (h > 0)
    l1 = l1 * rng.uniform(0.5, 1.5, size=cols.size)
    l2 = l2 * rng.uniform(0.5, 1.5, size=cols.size)
    w_in = rng.normal(size=cols.size) * (rng.uniform(size=cols.size) < 0.5)
    q, w = q_in.copy(), w_in.copy()
    shift, epochs, decrease = sparse_or_dense(
        kind, X, cols, h, q, w, l1, l2, centre, 200_000, 1e-20
    )
    assert decrease <= 1e-20 or epochs == 200_000
    if not centre or h.sum() == 0:
        assert shift == 0.0
    t = XW @ (w - w_in) + shift
    np.testing.assert_allclose(q, q_in + h * t, atol=1e-7 * (1 + np.abs(h * t).max(initial=0)))
    if decrease <= 1e-20:  # singular systems without a penalty may take more sweeps than that
        assert violation(XW.T @ q, w, l1, l2) < 1e-6
    if centre:
        assert abs(q.sum()) < 1e-7


@pytest.mark.parametrize("kind", ["dense", "int32"])
def test_centring_equals_an_explicit_column_of_ones(kind):
    rng = np.random.default_rng(3)
    n, m = 200, 15
    X = 5.0 + design(rng, n, m, 0.5, 1.0, np.float64)
    h, q0 = rng.uniform(0.1, 1.0, n), rng.normal(size=n)
    l1, l2 = np.full(m, 2.0), np.full(m, 0.1)
    cols = np.arange(m)
    q, w = q0.copy(), np.zeros(m)
    shift, epochs, _ = sparse_or_dense(kind, X, cols, h, q, w, l1, l2, True, 10_000, 1e-22)
    with_ones = np.column_stack([X, np.ones(n)])
    q1, w1 = q0.copy(), np.zeros(m + 1)
    zero, more_epochs, _ = sparse_or_dense(
        kind,
        with_ones,
        np.arange(m + 1),
        h,
        q1,
        w1,
        np.append(l1, 0),
        np.append(l2, 0),
        False,
        100_000,
        1e-24,
    )
    assert zero == 0.0
    np.testing.assert_allclose(w, w1[:-1], atol=1e-7)
    np.testing.assert_allclose(shift, w1[-1], atol=1e-6)
    np.testing.assert_allclose(q, q1, atol=1e-6)
    assert epochs < more_epochs  # eliminating the constant is why centring exists


@pytest.mark.parametrize("kind", ["dense", "int32"])
@pytest.mark.parametrize("constant", [1.0, 0.1, 1e6 / 3])
def test_centred_constant_column_stays(kind, constant):
    rng = np.random.default_rng(4)
    X = np.column_stack([np.full(101, constant), rng.normal(size=101)])
    h, q = rng.uniform(size=101), rng.normal(size=101)
    w, zero = np.array([2.0, 0.0]), np.zeros(2)
    sparse_or_dense(kind, X, np.arange(2), h, q, w, zero, zero, True, 1000, 1e-20)
    assert w[0] == 2.0
    assert np.isfinite(w).all()


@pytest.mark.parametrize("kind", ["dense", "int32"])
def test_large_offset_does_not_cancel(kind):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 1))
    y = rng.normal(size=300)
    moved = []
    for offset in (0.0, 1e7):
        w, zero = np.zeros(1), np.zeros(1)
        sparse_or_dense(
            kind, x + offset, np.arange(1), np.ones(300), y.copy(), w, zero, zero, True, 50, 0.0
        )
        moved.append(w[0])
    np.testing.assert_allclose(moved[0], moved[1], rtol=1e-6)


def test_no_epochs_leaves_everything():
    G, q, w, zero = np.eye(3), np.ones(3), np.arange(3.0), np.zeros(3)
    assert _core.cd_gram(G, q, w, zero, zero, 0, 0.0) == (0, np.inf)
    np.testing.assert_array_equal(w, np.arange(3.0))


def test_decrease_bounds_the_objective():
    rng = np.random.default_rng(6)
    X = design(rng, 50, 10, 1.0, 1.0, np.float64)
    G, q, l1, l2 = X.T @ X, rng.normal(size=10), np.full(10, 0.2), np.full(10, 0.1)

    def objective(w):
        return 0.5 * w @ G @ w + q @ w + l1 @ np.abs(w) + 0.5 * l2 @ w**2

    w = rng.normal(size=10)
    before = objective(w)
    epochs, decrease = _core.cd_gram(G, q, w, l1, l2, 1, 0.0)
    assert epochs == 1
    assert 0 < decrease <= before - objective(w) + 1e-12


def test_nan_stops():
    w = np.zeros(2)
    epochs, _ = _core.cd_gram(
        np.eye(2), np.array([np.nan, 1.0]), w, np.zeros(2), np.ones(2), 10_000, 0.0
    )
    assert epochs <= 10_000


def test_rejects_wrong_arrays():
    G, v = np.eye(3), np.ones(3)
    with pytest.raises(ValueError, match="square"):
        _core.cd_gram(np.ones((3, 2)), v, v.copy(), v, v, 1, 0.0)
    with pytest.raises(TypeError):
        _core.cd_gram(G.astype(np.float32), v, v.copy(), v, v, 1, 0.0)
    with pytest.raises(ValueError, match="w must have length 3"):
        _core.cd_gram(G, v, np.ones(2), v, v, 1, 0.0)
    with pytest.raises(ValueError, match="l1 must have length 3"):
        _core.cd_gram(G, v, v.copy(), np.ones(2), v, 1, 0.0)
    with pytest.raises(TypeError):
        _core.cd_gram(G, v, v.astype(np.float32), v, v, 1, 0.0)
    frozen = v.copy()
    frozen.flags.writeable = False
    with pytest.raises((TypeError, ValueError)):
        _core.cd_gram(G, v, frozen, v, v, 1, 0.0)
    with pytest.raises(ValueError, match="C-contiguous"):
        _core.cd_gram(G, v, np.ones(6)[::2], v, v, 1, 0.0)
    cols = np.arange(2)
    with pytest.raises(ValueError, match="contiguous columns"):
        _core.cd_columns_dense(
            np.ones((3, 2)), cols, v, v.copy(), np.zeros(2), v[:2], v[:2], True, 1, 0.0
        )
    with pytest.raises(TypeError):
        _core.cd_columns_dense(
            np.ones((3, 2), order="F"),
            cols.astype(np.int32),
            v,
            v.copy(),
            np.zeros(2),
            v[:2],
            v[:2],
            True,
            1,
            0.0,
        )
    with pytest.raises(ValueError, match="q must have length 3"):
        _core.cd_columns_dense(
            np.ones((3, 2), order="F"), cols, v, np.ones(4), np.zeros(2), v[:2], v[:2], True, 1, 0.0
        )


@pytest.mark.parametrize("kind", ["gram", "dense", "int32", "int64"])
@pytest.mark.parametrize("scalar", [np.float32, np.float64])
def test_bounds_are_kept(kind, scalar):
    """At a bound the slope points outwards; between them it vanishes."""
    rng = np.random.default_rng(5)
    n, m = 60, 12
    X = design(rng, n, m, 0.8, 0.5, scalar)
    x = X.astype(np.float64)
    lo, hi = -rng.uniform(0.0, 0.2, m), rng.uniform(0.0, 0.2, m)
    lo[0], hi[1], lo[2] = -np.inf, np.inf, hi[2]
    l1, l2, q0, h = np.full(m, 0.3), np.full(m, 0.1), rng.normal(size=n), np.full(n, 0.7)
    w, q = np.clip(np.zeros(m), lo, hi), q0.copy()
    start = w.copy()
    if kind == "gram":
        G = 0.7 * x.T @ x
        _core.cd_gram(G, x.T @ q0 - G @ w, w, l1, l2, 10_000, 1e-24, (lo, hi))
        slope = x.T @ q0 + G @ (w - start)
    else:
        rest = (h, q, w, l1, l2, False, 10_000, 1e-24, (lo, hi))
        sparse_or_dense(kind, X, np.arange(m), *rest)
        np.testing.assert_allclose(q, q0 + h * (x @ (w - start)), atol=1e-9)
        slope = x.T @ q
    assert (lo <= w).all()
    assert (w <= hi).all()
    slope = slope + l2 * w
    up, down = slope + np.where(w >= 0, l1, -l1), slope + np.where(w > 0, l1, -l1)
    assert (up[w < hi] >= -1e-6).all()
    assert (down[w > lo] <= 1e-6).all()
    with pytest.raises(ValueError, match="lo must have length"):
        _core.cd_gram(np.eye(m), l1, w, l1, l2, 1, 0.0, (lo[1:], hi))


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("alike", [False, True], ids=["unlike", "alike"])
def test_threads_that_share_sweeps_find_the_minimiser(centre, uniform, alike):
    rng = np.random.default_rng(8)
    n, m = 2000, 300
    X = sp.random(n, m, 0.2, "csc", rng=rng, data_rvs=rng.standard_normal)
    if alike:  # every column is in both halves, so that the threads do the same work twice
        X = sp.hstack([X[:, :150], X[:, :150] * 1.001], format="csc")
    h = np.full(n, 1.0 / n) if uniform else rng.uniform(0.2, 1.0, n) / n
    q_in, l1, l2 = rng.normal(size=n) / n, np.full(m, 1e-3), np.full(m, 1e-3)
    matrix = _core.Compressed(X.indptr, X.indices, X.data, n)
    before, found = _core.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            _core.set_num_threads(threads)
            q, w = q_in.copy(), np.zeros(m)
            shift, _, decrease = _core.cd_columns(
                matrix, np.arange(m), h, q, w, l1, l2, centre, 20_000, 1e-18
            )
            assert decrease <= 1e-18
            np.testing.assert_allclose(q, q_in + h * (X @ w + shift), atol=1e-12)
            assert violation(X.T @ q, w, l1, l2) < 1e-8
            found.append(w)
    finally:
        _core.set_num_threads(before)
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)
    np.testing.assert_allclose(found[2], found[0], atol=1e-5)


@pytest.mark.parametrize("centre", [False, True])
def test_moments_of_columns_are_kept_from_call_to_call(centre):
    rng = np.random.default_rng(9)
    n, m = 60, 25
    X = sp.random(n, m, 0.3, "csc", rng=rng, data_rvs=rng.standard_normal)
    h, q = rng.uniform(0.2, 1.0, n) / n, rng.normal(size=n) / n
    l1, l2 = np.full(m, 1e-3), np.zeros(m)
    matrix = _core.Compressed(X.indptr, X.indices, X.data, n)
    moments, ends = np.full(2 * m, np.nan), []
    for kept in (None, moments):
        own_q, w, shift = q.copy(), np.zeros(m), 0.0
        for _ in range(4):
            problem = h, own_q, w, l1, l2, centre, 2, 0.0, None, kept
            shift += _core.cd_columns(matrix, np.arange(m), *problem)[0]
        np.testing.assert_allclose(own_q, q + h * (X @ w + shift), atol=1e-14)
        ends.append(w)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)
    x, sums = X.toarray(), h @ X.toarray()
    spread = x - sums / h.sum() if centre else x
    np.testing.assert_allclose(moments[::2], sums if centre else np.zeros(m), atol=1e-15)
    np.testing.assert_allclose(moments[1::2], h @ spread**2, rtol=1e-12)
