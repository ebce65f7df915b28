"""Classes of one-versus-rest on a thread each: the same models, and they can still be stopped."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import minimand as mm
from minimand._base.threads import get_num_threads
from minimand.solvers import in_parallel as module


def texts(n=900, d=2000, classes=5, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.02, format="csr", rng=rng)
    return X, rng.integers(classes, size=n)


def fit(X, y, **options):
    return mm.Classifier("logistic", "l2", alpha=1e-3, **options).fit(X, y)


def test_the_number_of_threads_changes_nothing():
    X, y = texts()
    models = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            models.append(fit(X, y))
            assert get_num_threads() == threads
    assert models[0].solver_ == "dual"
    assert models[0].certificate_.relative <= 1e-6
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        np.testing.assert_array_equal(model.intercept_, models[0].intercept_)
        assert model.certificate_.gap == models[0].certificate_.gap


def test_those_who_listen_hear_every_class_in_turn():
    X, y = texts()
    seen = []
    model = fit(X, y, callbacks=[seen.append])
    assert [state.iteration for state in seen].count(0) == 5
    np.testing.assert_array_equal(model.coef_, fit(X, y).coef_)
    with pytest.warns(ConvergenceWarning, match="a callback"):
        stopped = fit(X, y, callbacks=[lambda state: mm.STOP])
    assert stopped.coef_.shape == (5, 2000)


def test_an_interrupt_stops_all_classes(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "wait", interrupted)
    X, y = texts(classes=12)
    with threadpool_limits(2):
        with pytest.raises(mm.Interrupted, match="relative gap") as stopped:
            fit(X, y, tol=1e-12)
        assert get_num_threads() == 2
    model = stopped.value.result
    assert np.isfinite(model.certificate_.gap)
    assert model.certificate_.dual <= model.certificate_.primal
    assert model.predict(X).shape == y.shape


def test_time_is_up_for_all_classes():
    X, y = texts()
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = fit(X, y, tol=1e-12, max_seconds=1e-9)
    assert np.isfinite(model.certificate_.gap)


def test_an_error_in_one_class_is_raised(monkeypatch):
    class Fails(mm.Classifier):
        def _minimise(self, objective, *args):
            if objective.y[0] > 0:
                raise ValueError("this class fails")
            return super()._minimise(objective, *args)

    X, y = texts()
    with threadpool_limits(2):
        with pytest.raises(ValueError, match="this class fails"):
            Fails("logistic", "l2", alpha=1e-3).fit(X, y)
        assert get_num_threads() == 2
