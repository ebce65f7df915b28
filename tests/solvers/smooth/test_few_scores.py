"""Softmax fits in one compiled call are those of Newton's method step by step."""

import numpy as np
import pytest

import minimand as mm
from minimand.solvers.smooth.newton import Newton

TIGHT = 1e-11


def _data(n, d, k, seed=0):
    """Columns of many units; the last class has a single sample."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((n, d))
    y = (normal @ rng.standard_normal((d, k - 1)) + 3 * rng.gumbel(size=(n, k - 1))).argmax(axis=1)
    y[7] = k - 1
    return normal * np.geomspace(0.01, 100.0, d) + rng.standard_normal(d), y


def _model(penalty="l2", alpha=0.01, **rest):
    alpha = None if penalty == "no_penalty" else alpha
    return mm.Classifier(mm.Multinomial(), penalty, alpha, solver="newton", **rest)


@pytest.fixture
def no_steps(monkeypatch):
    """Newton's steps in Python are an error."""

    def refused(*_):
        raise AssertionError("the compiled steps have ended too early")

    monkeypatch.setattr(Newton, "_steps", refused)


SIZES = {"formed": (150, 5, 4), "both": (150, 39, 6), "products": (300, 60, 8)}


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, np.float32])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("size", SIZES)
def test_one_call_finds_the_minimum_of_newton(size, alpha, intercept, kind, monkeypatch):
    x, y = _data(*SIZES[size])
    rng, n = np.random.default_rng(1), len(y)
    given = {"sample_weight": rng.uniform(0.2, 2.0, n)}
    model = _model(alpha=alpha, intercept=intercept, tol=1e-9).fit(kind(x), y, **given)
    found, value = model.coef_.copy(), model.certificate_.primal
    assert model.certificate_.relative <= 1e-9
    monkeypatch.setattr(Newton, "at_once", lambda *_: iter(()))
    model.set_params(tol=TIGHT).fit(kind(x), y, **given)
    assert value == pytest.approx(model.certificate_.primal, rel=1e-8)
    scale = np.abs(model.coef_).max()
    np.testing.assert_allclose(found, model.coef_, rtol=1e-2, atol=1e-3 * scale)


@pytest.mark.parametrize("size", ["formed", "products"])
def test_no_step_in_python_follows(size, no_steps):
    x, y = _data(*SIZES[size])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    model = _model().fit(x, y)
    assert model.certificate_.relative <= 1e-6
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-12)  # no shift of all scores
    assert abs(model.intercept_.sum()) <= 1e-12


def test_without_a_penalty_the_gradient_vanishes(no_steps):
    x, y = _data(300, 4, 4)
    y[y == 3] = 2
    model = _model("no_penalty", tol=1e-12).fit(x, y)
    rest = model.predict_proba(x) - np.eye(3)[y]
    size = np.abs(x).T @ np.abs(rest)
    assert (np.abs(x.T @ rest) <= 1e-6 * size).all()
    assert (np.abs(rest.sum(axis=0)) <= 1e-6 * len(y)).all()


@pytest.mark.parametrize("size", SIZES)
def test_weights_are_copies(size):
    x, y = _data(*SIZES[size])
    counts = np.random.default_rng(2).integers(1, 4, len(y))
    weighted = _model(tol=TIGHT).fit(x, y, sample_weight=counts)
    copied = _model(tol=TIGHT).fit(np.repeat(x, counts, axis=0), np.repeat(y, counts))
    scale = np.abs(copied.coef_).max()
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("size", SIZES)
def test_classes_may_be_numbered_in_any_order(size):
    x, y = _data(*SIZES[size])
    order = np.random.default_rng(3).permutation(y.max() + 1)
    plain, permuted = _model(tol=TIGHT).fit(x, y), _model(tol=TIGHT).fit(x, order[y])
    scale = np.abs(plain.coef_).max()
    np.testing.assert_allclose(plain.coef_, permuted.coef_[order], rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.filterwarnings("ignore:.*stopped by a callback")
@pytest.mark.parametrize("stop", [None, 2])
def test_a_callback_sees_every_step_and_may_stop(stop):
    x, y = _data(*SIZES["formed"])
    seen = []

    def watch(record):
        seen.append(record.primal)
        assert record.point.w.shape == (5, 4)
        assert record.point.b.shape == (4,)
        return mm.STOP if len(seen) == stop else None

    model = _model(callbacks=[watch]).fit(x, y)
    assert (np.diff(seen) <= 1e-12).all()
    assert len(seen) == (stop or len(model.history_))


def test_weights_of_the_penalty_by_column(monkeypatch):
    x, y = _data(*SIZES["formed"])
    model = _model(mm.L2([1.0, 2.0, 0.5, 1.0, 0.0]), tol=1e-9).fit(x, y)
    value = model.certificate_.primal
    assert model.certificate_.relative <= 1e-9
    monkeypatch.setattr(Newton, "at_once", lambda *_: iter(()))
    assert value == pytest.approx(model.fit(x, y).certificate_.primal, rel=1e-8)
