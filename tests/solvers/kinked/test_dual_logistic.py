"""Dual coordinate ascent on the logistic loss: against Newton, its invariances, and its limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import STOP, Control, choose_solver, solve


def data(n=80, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    X[np.abs(X) < 0.3] = 0.0
    z = X @ rng.standard_normal(d) + 0.7 * rng.standard_normal(n) + 1
    return X, np.where(z > 0.5, 1.0, -1.0)


def fit(X, y, solver="dual", tol=1e-9, alpha=0.05, weight=None, offset=None, **kwargs):
    model = mm.Classifier(
        "logistic", kwargs.pop("penalty", "l2"), alpha=alpha, solver=solver, tol=tol, **kwargs
    )
    return model.fit(X, y, sample_weight=weight, offset=offset)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", ["l2", mm.L2(weights=[1.0, 0.25, 4.0, 1.0, 30.0])], ids=repr)
@pytest.mark.parametrize("alpha", [1e-3, 0.05, 5.0])
def test_equals_newton(intercept, penalty, alpha):
    """With weights (some zero), an offset, and a weight for every feature."""
    X, y = data()
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.0, 2.0, len(y)) * (rng.uniform(size=len(y)) < 0.9)
    offset = rng.standard_normal(len(y))
    common = {"alpha": alpha, "penalty": penalty, "intercept": intercept}
    dual = fit(X, y, weight=weight, offset=offset, **common)
    newton = fit(X, y, "newton", 1e-12, weight=weight, offset=offset, **common)
    assert dual.solver_ in ("dual", "dual → newton")  # sweeps are slow where alpha is small
    assert dual.certificate_.relative <= 1e-9
    assert dual.certificate_.dual <= newton.certificate_.primal + 1e-14
    assert newton.certificate_.dual <= dual.certificate_.primal + 1e-14
    np.testing.assert_allclose(dual.coef_, newton.coef_, atol=2e-4)


def test_storage_does_not_matter():
    X, y = data()
    first = fit(X, y)
    for other in (
        np.asfortranarray(X),
        sparse.csr_matrix(X),
        sparse.csc_matrix(X),
        sparse.csr_array(X),
        X[:, ::-1][:, ::-1],
    ):
        np.testing.assert_allclose(fit(other, y).coef_, first.coef_, atol=1e-4)
    single = fit(X.astype(np.float32), y)
    assert single.certificate_.relative <= 1e-9
    np.testing.assert_allclose(single.coef_, first.coef_, atol=2e-4)


def test_weights_are_copies_and_zero_is_absent():
    X, y = data(n=40)
    times = np.random.default_rng(2).integers(0, 4, 40)
    weighted = fit(X, y, weight=times.astype(float))
    copies = fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, atol=1e-4)
    assert weighted.certificate_.primal == pytest.approx(copies.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_iter": 2}, {"max_seconds": 1e-9}])
def test_bounds_hold_when_stopped_early(limit):
    X, y = data(n=300, d=40)
    best = fit(X, y, "newton", 1e-12, alpha=1e-3).certificate_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = fit(X, y, alpha=1e-3, tol=1e-13, **limit).certificate_
    assert short.dual <= best.primal + 1e-14
    assert short.primal >= best.dual - 1e-14


def test_empty_rows_and_constant_columns():
    X, y = data()
    X[:7] = 0.0
    X[:, 1] = 0.0
    X[:, 2] = 3.0
    assert fit(X, y).certificate_.relative <= 1e-9
    assert not fit(np.zeros((6, 2)), np.array([1.0, -1, 1, 1, -1, 1])).coef_.any()


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_columns_of_any_scale(scale):
    """Where sweeps are slow, Newton takes over from where they are."""
    X, y = data(n=200)
    X[:, 0] *= scale
    for alpha in (1e-8, 1e-4, 1.0, 1e4):
        assert fit(X, y, alpha=alpha, tol=1e-7).certificate_.relative <= 1e-7


def test_starts_where_it_is_told():
    X, y = data(n=300, d=20)
    model = fit(X, y, tol=1e-8, warm_start=True)
    once = model.certificate_.passes
    assert model.fit(X, y).certificate_.passes < 0.7 * once


@pytest.mark.parametrize("scale", [1.0, 1e3, -1e5])
def test_a_poor_start_does_no_harm(scale):
    X, y = data(n=300, d=20)
    problem = objective(X, y, 1e-2)
    start = problem.point(np.full(20, scale), scale)
    cold, poor = (solve(problem, "dual", Control(tol=1e-8), begin) for begin in (None, start))
    assert poor.converged
    assert poor.certificate.passes <= 3 * cold.certificate.passes
    assert poor.w == pytest.approx(cold.w, abs=1e-3)


def objective(X, y, alpha, intercept=True):
    loss = mm.Logistic()
    mass = np.full(len(y), 1 / len(y))
    penalty = mm.L2().bind(X.shape[1], alpha)
    return Objective(loss, penalty, as_design(X), y, mass, None, intercept)


def test_is_chosen_for_texts_and_wide_data():
    rng = np.random.default_rng(0)
    texts = sparse.random_array((3000, 2500), density=0.01, format="csr", rng=rng)
    y = rng.choice([-1.0, 1.0], 3000)
    assert choose_solver(objective(texts, y, 1e-3), Control()).name == "dual"
    wide = rng.standard_normal((60, 2000))
    assert choose_solver(objective(wide, y[:60], 1e-2), Control()).name == "dual"
    tall = rng.standard_normal((3000, 20))
    assert choose_solver(objective(tall, y, 1e-4), Control()).name == "newton"
    assert choose_solver(objective(tall * 1e3, y, 1e-4), Control()).name == "newton"
    columns = objective(texts.tocsc(), y, 1e-3)
    assert choose_solver(columns, Control()).name == "dual"
    assert choose_solver(columns, Control(memory=1e4)).name == "newton"  # rows would be a copy


def test_a_callback_stops_it():
    X, y = data(n=300, d=40)
    problem = objective(X, y, 1e-3)
    stopped = solve(problem, "dual", Control(tol=1e-12, callbacks=[lambda state: STOP]))
    assert not stopped.converged
    assert stopped.stopped_by.startswith("a callback")
