"""Kernels of groups: the optimality conditions of what they minimise, and bad arguments."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from minimand import _core

STARTS = np.array([0, 3, 4, 8, 10])
NONE = np.zeros(0)


def problem(k, seed=0, n=30, m=10):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)) + 0.5
    Y = X @ rng.standard_normal((m, k)) + rng.standard_normal((n, k))
    norm, l1 = rng.uniform(0.1, 0.6, 4), 0.2 * rng.uniform(size=(m, k))
    return X, Y, norm, l1, 0.3 * rng.uniform(size=(m, k))


def off(w, slope, norm, l1, l2):
    """The distance of w from its proximal point, which is 0 at the optimum alone."""
    u = w - slope - l2 * w
    c = np.sign(u) * np.maximum(np.abs(u) - l1, 0.0)
    for g, (a, b) in enumerate(itertools.pairwise(STARTS)):
        length = np.linalg.norm(c[a:b])
        c[a:b] *= max(1.0 - norm[g] / length, 0.0) if length > 0 else 0.0
    return np.abs(c - w).max()


@pytest.mark.parametrize("k", [1, 3, 10, 30])
def test_minimisers_on_a_gram(k):
    X, Y, norm, l1, l2 = problem(k)
    n = len(X)
    G, q = X.T @ X / n, -X.T @ Y / n
    larger = np.pad(G, (0, 3), constant_values=np.nan)[:13, :13].copy()
    for gram in (G, larger):
        w = np.zeros((1, *q.shape))
        square = float((Y**2).sum() / n)
        done = _core.groups_on_gram(
            gram,
            q.ravel(),
            NONE,
            square,
            np.ones(1),
            STARTS,
            norm,
            l1,
            l2,
            w,
            k,
            0,
            True,
            1e-13,
            60,
        )
        assert done == 1
        # A gap of 1e-13 leaves about its root across the groups.
        assert off(w[0], G @ w[0] + q, norm, l1, l2) <= 1e-6


@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize(
    ("k", "n"), [(1, 30), (1, 6), (3, 30), (5, 6), (9, 30), (13, 5), (30, 6), (37, 30)]
)
def test_columns_stand_for_their_gram(k, n, unit):
    X, Y, norm, l1, l2 = problem(k, n=n)
    A, norm, l1, l2 = unit * X / np.sqrt(n), unit * norm, unit * l1, unit * unit * l2
    q, square = -A.T @ Y / np.sqrt(n), float((Y**2).sum() / n)
    rest = square, np.ones(1), STARTS, norm, l1, l2
    w, same = np.zeros((1, *q.shape)), np.zeros((1, *q.shape))
    arguments = q.ravel(), NONE, *rest
    lines = np.ascontiguousarray(A.T)
    columns = _core.GroupColumns(lines, STARTS, k)
    given = q.ravel(), NONE, square, np.ones(1), norm, l1, l2
    assert columns.solve(NONE, False, *given, w, NONE, 0, True, 1e-13 * square, 60) == 1
    assert _core.groups_on_gram(A.T @ A, *arguments, same, k, 0, True, 1e-13 * square, 60) == 1
    slope = (A.T @ (A @ w[0]) + q) / unit
    assert off(unit * w[0], slope, norm / unit, l1 / unit, l2 / unit**2) <= 1e-6
    assert unit * w == pytest.approx(unit * same, abs=1e-5)


@pytest.mark.parametrize("n", [30, 6])
def test_rounded_columns_stand_for_the_gram_of_rounded_columns(n):
    """Entries are rounded in units of the largest of their column; all digits come back."""
    X, Y, norm, l1, l2 = problem(1, n=n)
    A = X / np.sqrt(n)
    unit = np.abs(A).max(axis=0)
    rounded = unit * (A / unit).astype(np.float32)
    assert (rounded != A).any()
    q, square = -A.T @ Y / np.sqrt(n), float((Y**2).sum() / n)
    columns = _core.GroupColumns(np.ascontiguousarray(A.T), STARTS, 1)
    given = q.ravel(), NONE, square, np.ones(1), norm, l1, l2
    w = np.zeros((1, *q.shape))
    for single, B in ((True, rounded), (False, A)):
        columns.round(single)
        image = np.zeros(n)
        assert columns.solve(NONE, False, *given, w, image, 0, True, 1e-15 * square, 200) == 1
        assert image == pytest.approx((B @ w[0])[:, 0], abs=1e-13)
        assert off(w[0], B.T @ (B @ w[0]) + q, norm, l1, l2) <= 1e-7


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_columns_under_weights_from_an_origin(k, centred):
    X, Y, norm, l1, l2 = problem(k)
    rng = np.random.default_rng(2)
    origin, columns = rng.standard_normal((10, k)), _core.GroupColumns(X.T.copy(), STARTS, k)
    for factor in (1.0, 1.2, 3.0):  # other weights for the same columns
        h = factor * rng.uniform(0.2, 1.0, len(X)) / len(X)
        middle = h @ X / h.sum() if centred else np.zeros(10)
        G, q = (X - middle).T @ (h[:, None] * (X - middle)), -(X - middle).T @ (h[:, None] * Y)
        w, image = origin[None].copy(), np.zeros(len(X) if k == 1 else 0)
        given = q.ravel(), origin, 10.0, np.ones(1), norm, l1, l2
        assert columns.solve(h, centred, *given, w, image, 0, True, 1e-12, 60) == 1
        assert off(w[0], G @ (w[0] - origin) + q, norm, l1, l2) <= 1e-5
        if k == 1:
            assert image == pytest.approx(X @ (w[0] - origin)[:, 0], abs=1e-9)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("joint", [False, True])
def test_descent_over_columns(k, joint):
    if joint and k == 1:
        return
    X, Y, norm, l1, l2 = problem(k)
    n, rng = len(X), np.random.default_rng(1)
    h, scale = rng.uniform(0.2, 1.0, (n, k)) / n, np.zeros(0)
    if joint:
        h, scale = n * h / (n * h).sum(axis=1, keepdims=True), rng.uniform(size=n) / n
    blocks = [np.diag(row) for row in h]
    if joint:
        blocks = [s * (np.diag(p) - np.outer(p, p)) for s, p in zip(scale, h)]
    inverse = np.ascontiguousarray(np.linalg.pinv(sum(blocks)))
    for matrix in (sparse.csc_array(X), np.asfortranarray(X)):
        kernel, lines = _core.groups_columns_dense, matrix
        if sparse.issparse(matrix):
            parts = matrix.indptr, matrix.indices, matrix.data
            kernel, lines = _core.groups_columns, _core.Compressed(*parts, n)
        q0 = Y / -n
        q, w, shift = q0 - q0.mean(axis=0) if joint else q0.copy(), np.zeros((10, k)), np.zeros(k)
        start = q.copy()
        kernel(
            lines, np.arange(10), h, scale, inverse, q, w, shift, STARTS, norm, l1, l2, 20000, 1e-20
        )
        t = X @ w + shift
        moved = start + np.stack([block @ row for block, row in zip(blocks, t)])
        assert q == pytest.approx(moved, abs=1e-10)
        assert np.abs(q.sum(axis=0)).max() <= 1e-8
        assert off(w, X.T @ q, norm, l1, l2) <= 1e-6


def test_bad_arguments():
    X, Y, norm, l1, l2 = problem(1)
    G, q, w = X.T @ X, X.T @ Y[:, 0], np.zeros(10)
    numbers = l1.ravel(), l2.ravel()
    solve = _core.groups_on_gram
    for starts in (np.array([0, 3]), np.array([0, 5, 4, 10]), np.array([1, 10])):
        with pytest.raises(ValueError, match="starts"):
            solve(G, q, NONE, 1.0, np.ones(1), starts, norm, *numbers, w, 1, 0, True, 1e-3, 5)
    with pytest.raises(ValueError, match="norm"):
        solve(G, q, NONE, 1.0, np.ones(1), STARTS, norm[:2], *numbers, w, 1, 0, True, 1e-3, 5)
    with pytest.raises(ValueError, match="A must be"):
        _core.GroupColumns(X[:, 0].copy(), STARTS, 1)
    with pytest.raises(ValueError, match="G must be"):
        solve(
            G[:5, :5].copy(),
            q,
            NONE,
            1.0,
            np.ones(1),
            STARTS,
            norm,
            *numbers,
            w,
            1,
            0,
            True,
            1e-3,
            5,
        )
