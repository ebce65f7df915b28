"""The dual of ordered class margins: nearest multipliers, and ascent over rows.

The loss of a row is Σⱼ weightsⱼ max(0, t₍ⱼ₎), t the margins cost_c + z_c − z_y of the classes c ≠ y
in decreasing order.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand import _core
from minimand.canonical.class_dual import ClassDual
from minimand.design import as_design

WEIGHTS = {
    "largest": lambda k: np.eye(1, k - 1)[0],
    "mean of two": lambda k: np.where(np.arange(k - 1) < 2, 0.5, 0.0),
    "falling": lambda k: 1.0 / np.arange(1, k),
    "all": lambda k: np.ones(k - 1),
    "none": lambda k: np.zeros(k - 1),
}


def loss_of(t, y, weights):
    """Σⱼ weightsⱼ max(0, t₍ⱼ₎) of every row, from margins (n, k) in which that of y is ignored."""
    kept = np.arange(t.shape[1]) != y[:, None]
    margins = t[kept].reshape(len(t), -1)
    return np.maximum(-np.sort(-margins, axis=1), 0.0) @ weights


def test_values_of_the_formula():
    t = np.array([[3.0, 9.0, 1.0, -2.0]])
    assert loss_of(t, np.array([1]), np.array([1.0, 0.5, 0.25])) == 3.0 + 0.5


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 6),
    k=st.integers(2, 11),
    kind=st.sampled_from(sorted(WEIGHTS)),
    size=st.sampled_from([0.0, 1e-3, 1.0, 1e3]),
    ties=st.booleans(),
)
def test_projections_are_nearest(seed, n, k, kind, size, ties):
    """r is feasible, and no feasible v has (a − r)·(v − r) > 0: the largest one is the loss."""
    rng = np.random.default_rng(seed)
    weights, y = WEIGHTS[kind](k), rng.integers(0, k, n)
    a = size * (rng.integers(-2, 3, (n, k)) if ties else rng.standard_normal((n, k)))
    r = _core.project_classes(a, y, weights)
    rows = np.arange(n)
    p = r.copy()
    p[rows, y] = 0.0
    assert (p >= 0).all()
    np.testing.assert_allclose(r.sum(axis=1), 0.0, atol=1e-13)
    largest = np.cumsum(-np.sort(-p, axis=1)[:, : k - 1], axis=1)
    rounding = 1e-14 * k * max(size, 1.0)
    assert (largest <= np.cumsum(weights) + rounding).all()
    g = a - r
    farthest = loss_of(g - g[rows, y][:, None], y, weights)  # sup of g·v over feasible v
    np.testing.assert_allclose(
        farthest, (g * r).sum(axis=1), rtol=0, atol=20 * rounding * max(size, 1.0)
    )
    np.testing.assert_allclose(_core.project_classes(r, y, weights), r, rtol=0, atol=rounding)


LOSSES = {
    "crammer_singer": mm.CrammerSinger(),
    "top_2": mm.TopK(2),
    "ranking": mm.Ranking(),
}


def problem(seed, loss, n, d, k, single=False, kind="rows", intercept=False, offset=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(np.float32 if single else np.float64)
    matrix = sp.csr_matrix(X) if kind == "csr" else np.ascontiguousarray(X)
    weights = rng.uniform(0.2, 1.0, n) * (rng.random(n) > 0.2)
    mass = weights / weights.sum() if weights.any() else np.full(n, 1 / n)
    shift = rng.standard_normal((n, k)) if offset else None
    y = rng.integers(0, k, n).astype(float)
    l2 = np.full(d, 0.1) if seed % 2 else rng.uniform(0.1, 1.0, d)
    w, b = np.zeros((d, k)), np.zeros(k)
    u = np.zeros((n, k))
    return X.astype(float), ClassDual(
        as_design(matrix), loss, y, mass, l2, shift, intercept, u, w, b
    )


def values(X, dual):
    """P and D in plain NumPy; D is a bound if there are no intercepts, or Σ mass·u = 0."""
    k, y = dual.b.size, dual.y.astype(int)
    rows = np.arange(len(y))
    cost, weights = dual.loss.costs(k), dual.loss.order_weights(k)
    z = X @ dual.w + dual.b + (0.0 if dual.offset is None else dual.offset)
    t = cost[y] + z - z[rows, y][:, None]
    ridge = 0.5 * float((dual.l2[:, None] * dual.w**2).sum())
    primal = dual.mass @ loss_of(t, y, weights) + ridge
    fixed = cost[y] + (0.0 if dual.offset is None else dual.offset)
    return primal, dual.mass @ (dual.u * fixed).sum(axis=1) - ridge


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(sorted(LOSSES)),
    shape=st.tuples(st.integers(1, 14), st.integers(1, 6), st.integers(3, 6)),
    kind=st.sampled_from(["rows", "csr"]),
    single=st.booleans(),
    offset=st.booleans(),
)
def test_ascent_climbs_and_keeps_its_promises(seed, name, shape, kind, single, offset):
    """Sweep by sweep: W is −Xᵀ(mass∘u)/l2, u is feasible, and the dual never falls."""
    X, dual = problem(seed, LOSSES[name], *shape, single, kind, offset=offset)
    y, weights = dual.y.astype(np.int64), dual.loss.order_weights(shape[2])
    before = 0.0
    for _ in range(4):
        dual.ascend(1, 0.0)
        w = -(X.T @ (dual.mass[:, None] * dual.u)) / dual.l2[:, None]
        np.testing.assert_allclose(dual.w, w, rtol=0, atol=1e-11)
        np.testing.assert_allclose(_core.project_classes(dual.u, y, weights), dual.u, atol=1e-11)
        assert not dual.u[dual.mass == 0].any()
        primal, bound = values(X, dual)
        assert before - 1e-12 <= bound <= primal + 1e-12
        before = bound


@pytest.mark.parametrize("kind", ["rows", "csr"])
@pytest.mark.parametrize("name", LOSSES)
def test_ascent_reaches_the_optimum(name, kind):
    X, dual = problem(1, LOSSES[name], 30, 4, 5, kind=kind, offset=True)
    for _ in range(60):
        dual.ascend(20, 0.0)
    primal, bound = values(X, dual)
    assert primal - bound <= 1e-6 * primal


@pytest.mark.parametrize("name", LOSSES)
def test_free_intercepts_balance_the_multipliers(name):
    """Σ mass·u = 0 in the limit, where P = D; ascent that goes on for ever does not leave it."""
    X, dual = problem(3, LOSSES[name], 40, 3, 4, intercept=True)
    for _ in range(100):
        dual.ascend(20, 0.0)
    np.testing.assert_allclose(dual.mass @ dual.u, 0.0, atol=1e-13)
    primal, bound = values(X, dual)
    assert primal - bound <= 1e-9 * primal


def test_bad_arrays_are_refused():
    a, y = np.zeros((2, 3)), np.array([0, 1])
    for u, labels, weights, words in [
        (a, np.array([0, 3]), np.ones(2), "y"),
        (a, np.array([0, -1]), np.ones(2), "y"),
        (a, y[:1], np.ones(2), "y"),
        (a, y, np.ones(3), "weights"),
    ]:
        with pytest.raises(ValueError, match=words):
            _core.project_classes(u, labels, weights)
