"""The active set on a Gram: the exact lasso where columns outnumber the directions they span."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minimand as mm
from minimand import _core
from minimand.canonical import Quadratic
from minimand.solvers.sparse import working_set


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 8),
    d=st.integers(1, 12),
    mean=st.sampled_from([0.0, 1.0, 100.0]),
    bounded=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_settled_means_optimal(seed, n, d, mean, bounded):
    """|slope| ≤ l1 at zeros, slope = −l1·sign(w) elsewhere, the right sign at a bound."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)) + mean, rng.standard_normal(n)
    l1, l2 = rng.uniform(0.01, 0.3, d), np.where(rng.random(d) < 0.3, 0.1, 0.0)
    bounds = (np.full(d, -0.2), np.full(d, 0.3)) if bounded else None
    model, w = Quadratic(X.T @ X / n, -X.T @ y / n), np.zeros(d)
    _core.minimise_gram(model.gram, model.q, w, l1, l2, 1e-20, bounds)
    slope = model.slope(w) + l2 * w
    room = 1e-7 * (1.0 + mean**2)
    wanted = np.where(w != 0, -l1 * np.sign(w), np.clip(slope, -l1, l1))
    if bounds is not None:
        wanted = np.where(w == bounds[1], np.minimum(slope, -l1), wanted)
        wanted = np.where(w == bounds[0], np.maximum(slope, l1), wanted)
        assert (w == np.clip(w, *bounds)).all()
    assert np.abs(slope - wanted).max() <= room


@pytest.mark.parametrize("alpha", [0.1, 0.01, 1e-4])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [mm.Regressor, mm.Classifier])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_columns_that_nearly_coincide(make, seed, alpha, stored):
    """Means of 1000 and no intercept: sweeps alone would take for ever."""
    rng = np.random.default_rng(seed)
    X = 1000.0 + rng.standard_normal((2, 5))
    y = rng.standard_normal(2) if make is mm.Regressor else np.array([0, 1])
    loss = "squared" if make is mm.Regressor else "logistic"
    model = make(loss, "l1", alpha=alpha, intercept=False).fit(stored(X), y)
    assert model.certificate_.relative <= 1e-6
    assert model.n_iter_ <= 20  # Newton steps
    assert np.count_nonzero(model.coef_) <= 2


def test_more_columns_than_rows_and_hardly_a_penalty():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 20)), 1e6 * rng.standard_normal(8)
    model = mm.Regressor("squared", "l1", alpha=1e-4, tol=1e-12).fit(X, y)
    assert model.n_iter_ <= 40
    assert np.count_nonzero(model.coef_) <= 7


@pytest.mark.parametrize("size", [1e-90, 1e-150, 1e90])
def test_targets_of_any_size(size):
    """What steps gain is squared nowhere: it may be next to nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 300))
    y = X[:, 0] + rng.standard_normal(100)
    alpha = 0.01 * mm.alpha_max(mm.Regressor("squared", "l1"), X, y)
    usual = mm.Regressor("squared", "l1", alpha=alpha).fit(X, y)
    found = mm.Regressor("squared", "l1", alpha=size * alpha).fit(X, size * y)
    np.testing.assert_allclose(found.coef_ / size, usual.coef_, atol=1e-4)


@pytest.mark.parametrize("slow", [0, 10**9])
def test_interior_points_go_on_where_rounds_are_slow(slow, monkeypatch):
    """Working sets of many columns that are nearly one crawl."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 200))
    y = X[:, :20] @ rng.standard_normal(20) + rng.standard_normal(40)
    X = 0.9 * X[:, :1] + 0.1 * X
    monkeypatch.setattr(working_set, "_SLOW", slow)
    model = mm.Regressor("squared", "l1", alpha=1e-3, solver="working_set").fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert model.solver_ == ("working_set" if slow else "working_set → primal_dual")
    assert model.history_.solver == model.solver_
    assert len(model.history_.hand_overs) == (slow == 0)


@pytest.mark.parametrize("seed", [94, 124])
def test_columns_far_from_zero_without_an_intercept(seed):
    """The Gram about zero would hide how columns vary: they differ in their fifth digit."""
    rng = np.random.default_rng(seed)
    n, d, shift = int(rng.integers(20, 300)), int(rng.integers(2, 60)), 10 ** rng.uniform(0, 6)
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1, size=d) + shift * rng.normal(size=d)
    z = (X - X.mean(axis=0)) @ rng.normal(size=d)
    y = z + z.std() * rng.normal(size=n) > 0
    model = mm.Classifier("logistic", "l1", intercept=False)
    model.alpha = 10 ** rng.uniform(-3, -0.3) * mm.alpha_max(model, X, y)
    assert model.fit(X, y).certificate_.relative <= 1e-6


def test_a_gram_and_a_line_beside_it_are_their_sum():
    rng = np.random.default_rng(0)
    for d in (3, 8):
        X, y = rng.standard_normal((30, d)), rng.standard_normal(30)
        line, one = rng.standard_normal(d), np.ones(d)
        gram, q = X.T @ X / 30, -X.T @ y / 30
        w, v = np.zeros(d), np.zeros(d)
        _core.minimise_gram(gram + 2.0 * np.outer(line, line), q, w, 0.05 * one, 0.1 * one, 1e-20)
        _core.minimise_gram(gram, q, v, 0.05 * one, 0.1 * one, 1e-20, None, (line, 2.0))
        np.testing.assert_allclose(v, w, atol=1e-9)
