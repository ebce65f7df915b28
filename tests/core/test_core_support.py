"""Newton steps on the support: one rule, however the linear system is solved."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from minimand import _core
from minimand.canonical import Quadratic, Weighted, movable
from minimand.design import as_design
from minimand.design.dense import DenseDesign
from minimand.penalties import Separable
from minimand.solvers.sparse.support_newton import polish_on_columns, polish_on_gram


def problem(seed, n=12, d=6, bounded=False, units=1.0):
    """Data, a penalty and coefficients, some of them zero or at a bound."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)) * units, rng.standard_normal(n)
    l1 = np.where(rng.random(d) < 0.8, rng.uniform(0.0, 0.2, d), 0.0)
    l2 = np.where(rng.random(d) < 0.5, rng.uniform(0.0, 0.2, d), 0.0)
    w = rng.choice([-0.5, -0.01, 0.0, 0.01, 0.5], d)
    bounds = (np.full(d, -0.5), np.full(d, 0.6)) if bounded else None
    return X, y, Separable(l1, l2, bounds), w


def value(G, q, form, w):
    return 0.5 * w @ G @ w + q @ w + form.value(w)


@given(seed=st.integers(0, 10**6), bounded=st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_step_stays_in_its_piece_and_falls(seed, bounded):
    """Signs and bounds are kept, nothing else moves, and the objective does not rise."""
    X, y, form, w = problem(seed, bounded=bounded)
    G, q, new = X.T @ X / len(y), -X.T @ y / len(y), w.copy()
    free = movable(form, w)
    assert Quadratic(G, q).polish(form, new) == free.any()
    assert (new[~free] == w[~free]).all()
    assert ((new * w >= 0) | (form.l1 == 0)).all()
    assert form.bounds is None or (new == np.clip(new, *form.bounds)).all()
    assert value(G, q, form, new) <= value(G, q, form, w) + 1e-14
    if (movable(form, new) == free).all():  # no end was in the way: the system is solved
        slope = G @ new + q + form.l2 * new + form.l1 * np.sign(new)
        np.testing.assert_allclose(slope[free], 0.0, atol=1e-10)


@given(seed=st.integers(0, 10**6), bounded=st.booleans(), intercept=st.booleans())
@settings(max_examples=100, deadline=None)
def test_factor_gradients_and_dense_solves_take_the_same_step(seed, bounded, intercept):
    """A kept factor, conjugate gradients on the columns, and NumPy with the rule by itself."""
    X, y, form, w = problem(seed, bounded=bounded)
    n, d = X.shape
    if intercept:
        y = y - (y - X @ w).mean()  # the intercept is where it should be
    centred = X - X.mean(0) if intercept else X
    G = centred.T @ centred / n
    q = -centred.T @ y / n
    by_factor = w.copy()
    Quadratic(G, q).polish(form, by_factor)

    by_columns, residual = w.copy(), (X @ w - y) / n
    model = Weighted(DenseDesign(X), np.arange(d), np.full(n, 1 / n), residual, intercept)
    spread = (X**2).mean(0)
    shift = polish_on_columns(model, form, by_columns, spread, model.slope, 0.0, 1e-30)
    np.testing.assert_allclose(by_columns, by_factor, atol=1e-7)
    np.testing.assert_allclose(model.q, (X @ by_columns + shift - y) / n, atol=1e-12)

    some = np.flatnonzero(movable(form, w))
    part, block = form.take(some), G[np.ix_(some, some)]
    slope = (G @ w + q)[some]
    full = slope + part.l2 * w[some] + part.l1 * np.sign(w[some])
    step = -np.linalg.solve(block + np.diag(part.l2), full)
    alone = _core.along_support(
        w[some], step, slope, part.l1, part.l2, part.bounds, lambda move: move @ block @ move
    )
    np.testing.assert_allclose(alone, by_factor[some], atol=1e-8)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-8, 1.0, 1e8]))
@settings(max_examples=50, deadline=None)
def test_units_of_the_columns_do_not_matter(seed, scale):
    rng = np.random.default_rng(seed)
    units = np.where(rng.random(6) < 0.5, 1.0, scale)
    X, y, form, w = problem(seed)
    plain, scaled = w.copy(), w / units
    Quadratic(X.T @ X, -X.T @ y).polish(form, plain)
    Z = X * units
    other = Separable(form.l1 * units, form.l2 * units**2)
    Quadratic(Z.T @ Z, -Z.T @ y).polish(other, scaled)
    np.testing.assert_allclose(scaled * units, plain, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_a_kept_factor_follows_the_support(seed):
    """Steps from other supports on the same Gram are what a new factor gives."""
    rng = np.random.default_rng(seed)
    X, y, form, _ = problem(seed, n=60, d=40)
    kept = Quadratic(X.T @ X / 60, -X.T @ y / 60)
    for _ in range(12):
        w = np.where(rng.random(40) < rng.random(), rng.standard_normal(40), 0.0)
        again = w.copy()
        kept.polish(form, w)
        Quadratic(kept.gram, kept.q).polish(form, again)
        np.testing.assert_allclose(w, again, atol=1e-9)


def test_equal_and_constant_columns():
    """A singular system gets a shorter step, and a column of zeros none."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 1))
    X, y = np.hstack([x, x, np.zeros((20, 1))]), rng.standard_normal(20)
    G, q, form = X.T @ X / 20, -X.T @ y / 20, Separable(np.full(3, 0.01), np.zeros(3))
    w = np.array([0.3, 0.2, 0.1])
    new = w.copy()
    assert Quadratic(G, q).polish(form, new)
    assert np.isfinite(new).all()
    assert new[2] == w[2]
    assert value(G, q, form, new) <= value(G, q, form, w)


def test_steps_that_are_not_numbers_lead_nowhere():
    w, one = np.ones(2), np.ones(2)
    step = np.array([np.nan, 1.0])
    assert (_core.along_support(w, step, one, one, one, None, lambda move: 0.0) == w).all()


def test_what_python_raises_comes_through():
    def bend(move):
        raise ZeroDivisionError("inside")

    one = np.ones(1)
    with pytest.raises(ZeroDivisionError, match="inside"):
        _core.along_support(one, -2 * one, one, one, one, None, bend)


def test_wrong_sizes_are_refused():
    one = np.ones(2)
    with pytest.raises(ValueError, match="square"):
        _core.SupportNewton().step(np.ones((2, 3)), one, one.copy(), one, one)
    with pytest.raises(ValueError, match="l1 must have length"):
        _core.minimise_gram(np.eye(2), one, one.copy(), np.ones(3), one, 0.0)
    with pytest.raises(ValueError, match="slope must have length"):
        _core.along_support(one, one, np.ones(1), one, one, None, lambda move: 0.0)


@given(seed=st.integers(0, 10**6), intercept=st.booleans())
@settings(max_examples=50, deadline=None)
def test_moments_that_descent_has_computed_do_not_change_the_step(seed, intercept):
    """After a sweep over sparse columns the step has their weighted moments; it solves the same."""
    X, y, form, w = problem(seed)
    n, d = X.shape
    X = X * (np.random.default_rng(seed).random(X.shape) < 0.7)
    h = np.random.default_rng(seed).uniform(0.1, 1.0, n) / n
    swept = Weighted(as_design(csr_array(X)), np.arange(d), h, h * (X @ w - y), intercept)
    swept.descend(form, w, 1, 0.0)
    fresh = Weighted(swept.design, swept.columns, h, swept.q.copy(), intercept)
    assert not np.isnan(swept.moments).any()
    assert np.isnan(fresh.moments).all()
    ends = []
    for model in (swept, fresh):
        new = w.copy()
        polish_on_columns(model, form, new, (X**2).mean(0), model.slope, 0.0, 1e-30)
        ends.append(new)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)
    np.testing.assert_allclose(swept.q, fresh.q, atol=1e-9)


@given(seed=st.integers(0, 10**6), intercept=st.booleans())
@settings(max_examples=50, deadline=None)
def test_a_polish_on_the_gram_is_the_minimum_over_its_columns(seed, intercept):
    """No column within the penalty's reach has a slope left, and q is that of the new point."""
    X, y, form, w = problem(seed, n=20)
    h = np.random.default_rng(seed).uniform(0.1, 1.0, len(y)) / len(y)
    model = Weighted(DenseDesign(X), np.arange(w.size), h, h * (X @ w - y), intercept)
    slope, new = model.slope, w.copy()
    chosen = movable(form, w) | (np.abs(slope) >= form.l1)
    shift = polish_on_gram(model, form, new, slope, 1e-20)
    np.testing.assert_allclose(model.q, h * (X @ new + shift - y), atol=1e-12)
    left = X.T @ model.q + form.l2 * new
    kink = np.where(new != 0, np.abs(left + form.l1 * np.sign(new)), np.abs(left) - form.l1)
    assert (kink[chosen] <= 1e-8).all()
    assert (new[~movable(form, w) & (np.abs(slope) < 0.9 * form.l1)] == 0).all()


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_change_of_a_model_counts_rows_without_curvature(seed):
    """Their q does not move, but their term of the sum does."""
    X, y, form, w = problem(seed)
    rng = np.random.default_rng(seed)
    h = rng.choice([0.0, 0.5, 1.0], len(y))
    q = rng.standard_normal(len(y))
    model, new = Weighted(DenseDesign(X), np.arange(w.size), h, q.copy(), False), w.copy()
    model.descend(form, new, 3, 0.0)
    t = X @ (new - w)
    exact = q @ t + 0.5 * (h * t) @ t
    np.testing.assert_allclose(model.change(q, t), exact, atol=1e-9 * (1 + np.abs(q * t).sum()))
