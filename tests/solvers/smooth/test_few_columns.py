"""Fits on few dense columns in one compiled call are those of the solvers step by step."""

import numpy as np
import pytest

import minimand as mm
from minimand import _core
from minimand.solvers.smooth.newton import Newton
from minimand.solvers.sparse.working_set import WorkingSet
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
    "poisson": mm.Regressor,
    "gamma": mm.Regressor,
    "tweedie": mm.Regressor,
    "exponential": mm.Classifier,
}
POSITIVE = {"poisson": 0, "gamma": 1e-3, "tweedie": 0}  # the least y


def _target(loss, y):
    """Labels, or numbers, that are legal for the loss; zeros among them, if they may be."""
    if LOSSES[loss] is mm.Classifier:
        return (np.median(y) < y).astype(int)
    return np.maximum(y - np.median(y), POSITIVE[loss]) if loss in POSITIVE else y


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
    make, x, y = LOSSES[loss], kind(X), _target(loss, Y)
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


@pytest.mark.parametrize("penalty", [mm.L1([1, 2, 1, 0.5, 3]), mm.L1() + 0.3 * mm.L2()])
@pytest.mark.parametrize(("intercept", "kind"), [(True, np.asarray), (False, np.float32)])
@pytest.mark.parametrize("alpha", [0.1, 1e-3])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_l1_part_in_one_call_is_the_working_set(
    loss, alpha, intercept, kind, penalty, monkeypatch
):
    """With zeros of its own, down to none; and with two columns that are the same."""
    make, x, y = LOSSES[loss], kind(X), _target(loss, Y)
    x = x.copy()
    x[:, 3] = x[:, 0]
    model = make(loss, penalty, alpha, intercept=intercept, solver="working_set", tol=1e-9)
    given = {"sample_weight": WEIGHTS, "offset": OFFSET}
    rounds = _count(monkeypatch, WorkingSet, "iterate")
    model.fit(x, y, **given)
    found, value = model.coef_.copy(), model.certificate_.primal
    assert model.certificate_.relative <= 1e-9
    if intercept or loss != "huber":  # else no sample has curvature at the null model
        assert not rounds
    monkeypatch.setattr(WorkingSet, "at_once", lambda *_: iter(()))
    model.fit(x, y, **given)
    assert rounds
    assert value == pytest.approx(model.certificate_.primal, rel=1e-8)
    if "L2" in repr(penalty):  # else the two columns may share in any way
        np.testing.assert_allclose(found, model.coef_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, np.float32])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-5])
@pytest.mark.parametrize("loss", ["logistic", "exponential", "poisson", "gamma", "tweedie"])
def test_quasi_newton_steps_find_the_minimum_of_newton(loss, alpha, intercept, kind, monkeypatch):
    """With weights, an offset, a constant column and one that is absent from most rows."""
    rng = np.random.default_rng(1)
    n, d = 1300, 60
    x = rng.standard_normal((n, d)) * np.geomspace(0.01, 100.0, d) + rng.standard_normal(d)
    x[:, 3], x[:, 4] = 2.0, np.arange(n) == 7
    y = _target(loss, x[:, -1] / 100 + rng.standard_normal(n))
    weights, offset = rng.uniform(0.2, 2.0, n), 0.3 * rng.standard_normal(n)
    given = {"sample_weight": weights, "offset": offset}
    make = LOSSES[loss]
    model = make(loss, alpha=alpha, intercept=intercept, solver="newton", tol=1e-9)
    steps = _count(monkeypatch, Newton, "_steps")
    model.fit(kind(x), y, **given)
    found, value = model.coef_.copy(), model.certificate_.primal
    assert model.certificate_.relative <= 1e-9
    assert not steps
    monkeypatch.setattr(Newton, "at_once", lambda *_: iter(()))
    model.fit(kind(x), y, **given)
    assert steps
    scale = np.abs(model.coef_).max()
    np.testing.assert_allclose(found, model.coef_, rtol=1e-3, atol=1e-3 * scale)
    assert value == pytest.approx(model.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, np.float32])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-2, 1e-6])
def test_a_hessian_of_changed_rows_is_that_of_all(alpha, intercept, kind, monkeypatch):
    rng = np.random.default_rng(5)
    X = kind(rng.standard_normal((400, 60)) + 3.0)
    y = np.where(X[:, 0] + X[:, 1] + 2 * rng.standard_normal(400) > 6, 1, -1)
    options = {"alpha": alpha, "intercept": intercept, "tol": 1e-10}
    steps = _count(monkeypatch, Newton, "_steps")
    one = mm.Classifier("squared_hinge", **options).fit(X, y)
    assert one.solver_ == "newton"
    assert not steps
    other = mm.Classifier("squared_hinge", solver="primal_dual", **options).fit(X, y)
    assert one.certificate_.relative <= 1e-10
    assert np.allclose(one.coef_, other.coef_, atol=1e-3 * np.abs(other.coef_).max())


@pytest.mark.parametrize("free", [[0], [0, 1, 2, 3]])
@pytest.mark.parametrize("loss", LOSSES)
def test_columns_without_a_penalty_need_no_steps(loss, free, monkeypatch):
    """Nor do they differ from those of the steps, if they are not collinear."""
    steps, make = _count(monkeypatch, Newton, "_steps"), LOSSES[loss]
    y = _target(loss, Y + RNG.standard_normal(90))
    weights = np.ones(4)
    weights[free] = 0.0
    model = make(loss, mm.L2(weights), 0.01, solver="newton", tol=1e-10)
    found = model.fit(X[:, :4], y).coef_.copy()
    assert model.certificate_.relative <= 1e-10
    assert not steps
    monkeypatch.setattr(Newton, "at_once", lambda *_: iter(()))
    np.testing.assert_allclose(found, model.fit(X[:, :4], y).coef_, rtol=1e-4, atol=1e-6)
    assert steps


@pytest.mark.parametrize("free", [60, 7])
@pytest.mark.parametrize("loss", ["logistic", "exponential", "poisson", "gamma", "tweedie"])
def test_quasi_newton_steps_take_columns_without_a_penalty(loss, free, monkeypatch):
    steps = _count(monkeypatch, Newton, "_steps")
    rng = np.random.default_rng(2)
    x = rng.standard_normal((900, 60)) * np.geomspace(0.01, 100.0, 60) + rng.standard_normal(60)
    y = _target(loss, x[:, -1] / 100 + rng.standard_normal(900))
    given = {"sample_weight": rng.uniform(0.2, 2.0, 900), "offset": 0.3 * rng.standard_normal(900)}
    penalty = mm.L2(np.arange(60) >= free)
    model = LOSSES[loss](loss, penalty, 0.01, solver="newton", tol=1e-9).fit(x, y, **given)
    value = model.certificate_.primal
    assert model.certificate_.relative <= 1e-9
    assert not steps
    monkeypatch.setattr(Newton, "at_once", lambda *_: iter(()))
    model.fit(x, y, **given)
    assert steps
    assert value == pytest.approx(model.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize(
    "loss", [mm.Poisson(), mm.Tweedie(1.3), mm.Gamma(), mm.Exponential()], ids=str
)
def test_exponentials_are_the_loss(loss):
    """The values that compiled steps see, near the minimum of the loss and far from it."""
    z = np.concatenate([np.linspace(-700.0, 600.0, 53), np.geomspace(1e-9, 1.0, 40)])
    y = RNG.choice([-1.0, 1.0], z.size) if isinstance(loss, mm.Exponential) else np.ones(z.size)
    if not isinstance(loss, (mm.Exponential, mm.Gamma)):
        y[::3] = 0.0
    if not isinstance(loss, mm.Exponential):
        y[1::3] = 1e5
        z[1::3] += np.log(1e5)
    rows, none, column = loss.rowwise(y), np.zeros(0), np.zeros((1, 1))
    for i, score in enumerate(z):
        psi = rows.psi._replace(size=rows.psi.size[[i]], single=rows.psi.single[[i]])
        row = np.ones(1), rows.sign[[i]], rows.shift[[i]]
        primal, w = np.zeros(2), np.zeros(1)
        limits = (0.0, 1, primal, none)
        _core.smooth_steps(column, psi.parts, row, np.ones(1), w[:0], w, False, w, score, *limits)
        # The rounding of t = z − ln y.
        noise = 4e-16 * (abs(score) + abs(rows.shift[i])) * abs(loss.gradient(z, y)[i])
        value = loss.value(z, y)[i]
        assert primal[0] == pytest.approx(value, rel=1e-12, abs=noise + 1e-300)


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
