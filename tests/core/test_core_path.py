"""Problems of a path on one Gram: the kept factor, the gap at every alpha, and growing Grams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core


def gap_on_rows(X, y, w, l1, l2):
    """The smallest duality gap over many scalings of the residuals, by the textbook formulas."""
    r = X @ w - y
    v = -X.T @ r / len(y)
    primal = 0.5 * (r @ r) / len(y) + (l1 * np.abs(w) + 0.5 * l2 * w * w).sum()
    best = np.inf
    for s in [1.0, *(l1 / np.maximum(np.abs(v), 1e-300))]:
        if 0 < s <= 1 and not (np.abs(s * v) > l1 * (1 + 1e-12))[l2 == 0].any():
            excess = np.maximum(np.abs(s * v) - l1, 0.0)
            conjugate = (excess**2 / np.where(l2 > 0, 2 * l2, 1.0))[l2 > 0].sum()
            dual = -(s * s * (r @ r) / 2 + s * (r @ y)) / len(y) - conjugate
            best = min(best, primal - dual)
    return best


def instance(rng, n, m, correlation=0.0):
    X = rng.normal(size=(n, m)) + correlation * rng.normal(size=(n, 1))
    y = rng.normal(size=n)
    return X, y, np.ascontiguousarray(X.T @ X / n), -(X.T @ y) / n, y @ y / n


@settings(max_examples=80, deadline=None)
@given(
    n=st.integers(2, 40),
    m=st.integers(1, 30),
    correlation=st.sampled_from([0.0, 3.0]),
    ridge=st.sampled_from(["none", "fixed", "with alpha"]),
    room=st.integers(0, 5),
    seed=st.integers(0, 2**16),
)
def test_the_gap_is_reached_at_every_alpha(n, m, correlation, ridge, room, seed):
    """Also where columns outnumber rows, l2 changes along the path, and G has room for more."""
    rng = np.random.default_rng(seed)
    X, y, G, q, square = instance(rng, n, m, correlation)
    alphas = np.geomspace(1.0, 1e-2, 12) * max(np.abs(q).max(), 1e-3)
    l1 = alphas[:, None] * rng.uniform(0.5, 1.5, size=m)
    l2 = {"none": 0.0 * l1, "fixed": 0.3 + 0.0 * l1, "with alpha": 0.5 * l1}[ridge]
    coefs, target = np.zeros_like(l1), 1e-7 * square
    larger = np.full((m + room, m + room), np.nan)
    larger[:m, :m] = G
    path = _core.PathOnGram()
    done = path.solve(larger, q, square, alphas, l1, l2, coefs, 0, False, target, 500)
    assert done == len(alphas)
    for row in range(done):
        assert gap_on_rows(X, y, coefs[row], l1[row], l2[row]) <= 1.1 * target + 1e-13 * square


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**16), m=st.integers(2, 40), ridge=st.sampled_from([0.0, 0.2]))
def test_a_factor_is_kept_while_columns_come_and_go(seed, m, ridge):
    """Up and down an arbitrary sequence of penalties, on a Gram that grows: each is solved."""
    rng = np.random.default_rng(seed)
    X, y, G, q, square = instance(rng, 60, m, 1.0)
    path, size = _core.PathOnGram(), m // 2
    for _ in range(12):
        alphas = np.abs(q).max() * 10.0 ** rng.uniform(-2, 0, size=3)
        l1 = alphas[:, None] * rng.uniform(0.5, 1.5, size=size)
        l2, coefs = ridge * rng.uniform(0.6, 1.0) * np.ones_like(l1), np.zeros((3, size))
        coefs[0] = rng.normal(size=size)
        done = path.solve(G, q[:size], square, alphas, l1, l2, coefs, 0, True, 1e-9 * square, 200)
        assert done == 3
        for w, bound, bend in zip(coefs, l1, l2):
            assert gap_on_rows(X[:, :size], y, w, bound, bend) <= 2e-9 * square
        size = min(m, size + int(rng.integers(0, 4)))


def test_columns_that_coincide():
    """Twins, and more columns than rows: the factor is singular but for its safeguard."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 8))
    X = np.hstack([X, X, X + 1e-9 * rng.normal(size=(10, 8))])
    y = rng.normal(size=10)
    G, q, square = np.ascontiguousarray(X.T @ X / 10), -(X.T @ y) / 10, y @ y / 10
    alphas = np.geomspace(1.0, 1e-3, 20) * np.abs(q).max()
    l1 = np.repeat(alphas[:, None], 24, axis=1)
    l2, coefs = np.zeros_like(l1), np.zeros_like(l1)
    path = _core.PathOnGram()
    assert path.solve(G, q, square, alphas, l1, l2, coefs, 0, False, 1e-8 * square, 1000) == 20
    for w, bound in zip(coefs, l1):
        assert gap_on_rows(X, y, w, bound, np.zeros(24)) <= 2e-8 * square


def test_it_says_where_it_stopped():
    """Without a round nothing settles; the row is no worse for a round that was not enough."""
    rng = np.random.default_rng(0)
    G, q, square = instance(rng, 30, 6, 20.0)[2:]
    alphas = np.array([1e-2, 1e-3])
    l1, coefs = np.repeat(alphas[:, None], 6, axis=1), np.zeros((2, 6))
    args = (G, q, square, alphas, l1, np.zeros((2, 6)), coefs)
    path = _core.PathOnGram()
    assert path.solve(*args, 0, False, 1e-12, 0) == 0
    assert not coefs.any()
    assert path.solve(*args, 0, False, 0.0, 1) == 0
    value = 0.5 * coefs[0] @ G @ coefs[0] + q @ coefs[0] + l1[0] @ np.abs(coefs[0])
    assert value < 0
    assert path.solve(*args, 0, False, 1e-12, 1000) == 2
    assert path.solve(*args, 2, False, 1e-12, 1) == 2


def test_a_number_that_is_none_does_not_settle():
    G = np.full((3, 3), np.nan)
    coefs, ones = np.zeros((2, 3)), np.ones((2, 3))
    path = _core.PathOnGram()
    args = (G, np.full(3, 5.0), 1.0, np.array([1.0, 0.5]), ones, 0 * ones, coefs)
    assert path.solve(*args, 0, False, 1e-3, 50) == 0


def test_another_gram_needs_another_factor():
    """After `forget` the columns are those of a new Gram."""
    rng = np.random.default_rng(3)
    path = _core.PathOnGram()
    for size in (9, 4):
        X, y, G, q, square = instance(rng, 30, size)
        l1, coefs = np.full((1, size), 1e-3), np.zeros((1, size))
        path.forget()
        args = (G, q, square, np.ones(1), l1, 0 * l1, coefs)
        assert path.solve(*args, 0, False, 1e-10 * square, 20) == 1
        assert gap_on_rows(X, y, coefs[0], l1[0], 0 * l1[0]) <= 2e-10 * square


def test_lines_are_drawn_on():
    before, last = np.array([0.0, 1.0, 1.0, -2.0]), np.array([1.0, 0.0, 0.4, -3.0])
    assert _core.steps_ahead(4.0, 2.0, 1.0) == 0.5
    np.testing.assert_allclose(_core.drawn_on(before, last, 0.5), [1.5, 0.0, 0.1, -3.5])
    assert _core.drawn_on(before, last, 1.0)[2] == 0.0  # it would have changed its sign
    for alphas in [(4.0, 2.0, 3.0), (2.0, 2.0, 1.0), (4.0, 3.9, 1.0)]:
        assert _core.steps_ahead(*alphas) == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros(4)}, "G must be a square matrix"),
        ({"l1": np.ones((1, 3))}, "l1 must have length 2"),
        ({"coefs": np.zeros((2, 4))}, "coefs must have length 6"),
        ({"first": -1}, "first must not be negative"),
        ({"rounds": -1}, "rounds must not be negative"),
        ({"G": np.zeros((3, 2))}, "G must be a square matrix"),
    ],
)
def test_shapes_are_checked(change, message):
    arguments = {
        "G": np.eye(3), "q": np.zeros(3), "square": 1.0, "alphas": np.ones(2),
        "l1": np.ones((2, 3)), "l2": np.zeros((2, 3)), "coefs": np.zeros((2, 3)),
        "first": 0, "started": False, "target": 1e-3, "rounds": 5,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        _core.PathOnGram().solve(**(arguments | change))


@settings(max_examples=30, deadline=None)
@given(m=st.integers(1, 30), ridge=st.sampled_from([0.0, 0.3]), seed=st.integers(0, 2**16))
def test_gap_of_squares_is_the_formula(m, ridge, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, m)), rng.normal(size=20)
    w = rng.normal(size=m) * (rng.random(m) < 0.4)
    l1, l2 = rng.uniform(0.5, 1.5, size=m), np.full(m, ridge)
    r = X @ w - y
    gap, scale, penalty = _core.gap_of_squares(r @ r / 20, X.T @ r / 20, w, l1, l2)
    assert gap == pytest.approx(gap_on_rows(X, y, w, l1, l2))
    assert 0 < scale <= 1
    assert penalty == pytest.approx(l1 @ np.abs(w) + 0.5 * l2 @ w**2)


def test_a_slope_that_is_no_number_proves_nothing():
    args = (1.0, np.array([np.nan, 0.1]), np.zeros(2), np.ones(2), np.zeros(2))
    assert not _core.gap_of_squares(*args)[0] <= 1e300


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_nearly_agree_are_settled(seed):
    """Sweeps and Newton steps undo each other there; an active set ends that."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 60))
    X[:, 1:] += 0.9 * X[:, :-1]
    X = np.hstack([X, X[:, :40] + 1e-7 * rng.standard_normal((400, 40))])
    y = X[:, :10].sum(axis=1) + rng.standard_normal(400)
    G, q, square = X.T @ X / 400, -X.T @ y / 400, y @ y / 400
    alphas = np.geomspace(1.0, 1e-4, 30) * np.abs(q).max()
    l1 = np.repeat(alphas[:, None], 100, axis=1)
    l2, coefs, target = np.zeros_like(l1), np.zeros_like(l1), 1e-7 * square
    path = _core.PathOnGram()
    assert path.solve(G, q, square, alphas, l1, l2, coefs, 0, False, target, 50) == len(alphas)
    for row in range(len(alphas)):
        assert gap_on_rows(X, y, coefs[row], l1[row], l2[row]) <= 1.1 * target + 1e-13 * square


def groups_instance(rng, sizes, ridge):
    """Slopes that some groups exceed, coefficients that are often zero, and penalties."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    label = np.repeat(np.arange(len(sizes)), sizes)
    w = rng.normal(size=label.size) * (rng.random(len(sizes)) < 0.6)[label]
    norm = rng.uniform(0.1, 1.5, len(sizes))
    l2 = ridge * rng.uniform(0.1, 1.0, len(sizes)) * (rng.random(len(sizes)) < 0.7)
    return starts, label, w, norm, l2


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    ridge=st.sampled_from([0.0, 1e-6, 1.0]),
    seed=st.integers(0, 2**16),
)
def test_gaps_of_groups_are_the_formula(sizes, ridge, seed):
    """The least of primal minus dual over scales of the residuals, group by group."""
    rng = np.random.default_rng(seed)
    starts, label, w, norm, l2 = groups_instance(rng, sizes, ridge)
    X, y = rng.normal(size=(30, label.size)), rng.normal(size=30)
    r = X @ w - y
    slope = X.T @ r / 30

    def lengths(v):
        return np.sqrt(np.bincount(label, v * v))

    size, reach = lengths(w), lengths(slope)
    primal = 0.5 * (r @ r) / 30 + (norm * size + 0.5 * l2 * size**2).sum()
    least = np.inf
    for s in [1.0, *(norm / reach)]:
        excess = np.maximum(s * reach - norm, 0.0)
        if s <= 1 and not (excess > 1e-12 * norm)[l2 == 0].any():
            conjugate = (excess[l2 > 0] ** 2 / (2 * l2[l2 > 0])).sum()
            least = min(least, primal + (s * s * (r @ r) / 2 + s * (r @ y)) / 30 + conjugate)
    found = np.empty((3, 2))
    rows = [np.stack([part, part]) for part in (slope, w)]
    penalties = [np.stack([part, part]) for part in (norm, l2)]
    _core.gaps_of_groups(np.full(2, r @ r / 30), *rows, starts, *penalties, found)
    gaps, scales, prices = found
    assert gaps[0] == gaps[1]
    # Only two of the scales are tried: the largest, and the one that needs no squares.
    assert gaps[0] >= least - 1e-11
    assert prices[0] == pytest.approx((norm * size + 0.5 * l2 * size**2).sum())
    s = scales[0]
    excess = np.maximum(s * reach - norm, 0.0)
    conjugate = (excess[l2 > 0] ** 2 / (2 * l2[l2 > 0])).sum()
    value = primal + (s * s * (r @ r) / 2 + s * (r @ y)) / 30 + conjugate
    assert gaps[0] == pytest.approx(value, rel=1e-9, abs=1e-11)


@settings(max_examples=20, deadline=None)
@given(m=st.integers(1, 6), ridge=st.sampled_from([0.0, 0.3]), seed=st.integers(0, 2**16))
def test_gaps_of_many_are_those_of_each_and_of_groups_of_one(m, ridge, seed):
    rng = np.random.default_rng(seed)
    squares, slopes, w = rng.uniform(1, 2, 5), rng.normal(size=(5, m)), rng.normal(size=(5, m))
    l1, l2 = rng.uniform(0.1, 2.0, (5, m)), ridge * rng.uniform(0.5, 1.0, (5, m))
    many, groups = np.empty((3, 5)), np.empty((3, 5))
    _core.gaps_of_squares(squares, slopes, w, l1, l2, many)
    _core.gaps_of_groups(squares, slopes, w, np.arange(m + 1), l1, l2, groups)
    for i in range(5):
        one = _core.gap_of_squares(squares[i], slopes[i], w[i], l1[i], l2[i])
        np.testing.assert_array_equal(many[:, i], one)
    np.testing.assert_allclose(groups, many, rtol=1e-10)


def test_groups_that_are_no_runs_are_refused():
    ones = np.ones((2, 3))
    for starts in ([0, 2], [0, 2, 1, 3], [1, 3], []):
        groups = np.ones((2, max(len(starts) - 1, 0)))
        with pytest.raises(ValueError, match="starts must rise from 0"):
            _core.gaps_of_groups(
                np.ones(2), ones, ones, np.array(starts, np.int64), groups, groups, np.empty((3, 2))
            )
    nan = np.full((1, 3), np.nan)
    found, one = np.empty((3, 1)), np.ones((1, 1))
    _core.gaps_of_groups(np.ones(1), nan, ones[:1], np.array([0, 3]), one, one, found)
    assert not found[0, 0] <= 1e300
