"""Fits on few dense columns in one compiled call are those of the solvers step by step."""

import numpy as np
import pytest

import minimand as mm
from minimand.solvers.smooth.newton import Newton
from minimand.solvers.steps import all_columns

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0] + [0.0, 50.0, 0.0, 1.0, 0.0]
X[:, 4] = 2.0  # a constant column
Y = X[:, 0] + 0.1 * X[:, 1] + RNG.standard_normal(90)
WEIGHTS, OFFSET = RNG.uniform(0.2, 2.0, 90), 0.3 * RNG.standard_normal(90)
LOSSES = {
    "logistic": mm.Classifier,
    "squared_hinge": mm.Classifier,
    "huber": mm.Regressor,
    "squared_epsilon_insensitive": mm.Regressor,
}


def _count(monkeypatch, owner, name):
    """How often a function is called."""
    calls, inner = [], getattr(owner, name)

    def counted(*args, **kwargs):
        calls.append(name)
        return inner(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    return calls


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, np.float32])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_newton_in_one_call_is_newton_step_by_step(loss, intercept, kind, monkeypatch):
    make, x = LOSSES[loss], kind(X)
    y = (np.median(Y) < Y).astype(int) if make is mm.Classifier else Y
    model = make(loss, alpha=0.01, intercept=intercept, solver="newton", tol=1e-12)
    given = {"sample_weight": WEIGHTS, "offset": OFFSET}
    steps = _count(monkeypatch, Newton, "_steps")
    model.fit(x, y, **given)
    found, value = model.coef_.copy(), model.certificate_.primal
    assert model.certificate_.relative <= 1e-12
    assert not steps
    monkeypatch.setattr(Newton, "at_once", lambda *_: iter(()))
    model.fit(x, y, **given)
    assert steps
    np.testing.assert_allclose(found, model.coef_, rtol=1e-4, atol=1e-6)
    assert abs(value - model.certificate_.primal) <= 1e-9 * abs(value) + 1e-9


@pytest.mark.parametrize("free", [[0], [0, 1, 2, 3]])
@pytest.mark.parametrize("loss", LOSSES)
def test_columns_without_a_penalty_need_no_steps(loss, free, monkeypatch):
    """Nor do they differ from those of the steps, if they are not collinear."""
    steps, make = _count(monkeypatch, Newton, "_steps"), LOSSES[loss]
    y = (Y + RNG.standard_normal(90) > np.median(Y)).astype(int) if make is mm.Classifier else Y
    weights = np.ones(4)
    weights[free] = 0.0
    model = make(loss, mm.L2(weights), 0.01, solver="newton", tol=1e-10)
    found = model.fit(X[:, :4], y).coef_.copy()
    assert model.certificate_.relative <= 1e-10
    assert not steps
    monkeypatch.setattr(Newton, "at_once", lambda *_: iter(()))
    np.testing.assert_allclose(found, model.fit(X[:, :4], y).coef_, rtol=1e-4, atol=1e-6)
    assert steps


def test_collinear_columns_without_a_penalty_are_left_to_the_steps(monkeypatch):
    steps = _count(monkeypatch, Newton, "_steps")
    y = (np.median(Y) < Y).astype(int)
    model = mm.Classifier("logistic", "no_penalty", solver="newton")
    assert model.fit(X, y).certificate_.relative <= 1e-6  # a column is constant, like the intercept
    assert steps


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("share", [0.5, 0.05])
def test_the_gram_of_some_columns_has_the_same_minimiser(ratio, share, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 80)) + rng.standard_normal((200, 1))
    y = x[:, :4] @ [2.0, -1.0, 1.0, 0.5] + 0.1 * rng.standard_normal(200)
    model = mm.Regressor("squared", ratio * mm.L1() + (1 - ratio) * mm.L2(), tol=1e-12)
    model.alpha = share * mm.alpha_max(model, x, y)
    found = model.fit(x, y).coef_.copy()
    assert model.certificate_.relative <= 1e-12
    monkeypatch.setattr(all_columns, "_NARROW", 1000)
    np.testing.assert_allclose(found, model.fit(x, y).coef_, atol=1e-10)
