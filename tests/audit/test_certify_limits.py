"""A time limit for the fit that `certify` makes itself."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, Lasso

import minimand as mm


def rough(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 30))
    y = X @ rng.standard_normal(30) + rng.standard_normal(80)
    return X, y


def test_a_bound_that_was_cut_short_is_valid():
    X, y = rough()
    model = Lasso(alpha=0.05, max_iter=3, tol=1e-30).fit(X, y)
    whole, short = mm.certify(model, X, y), mm.certify(model, X, y, max_seconds=1e-9)
    assert short.primal == pytest.approx(whole.primal)
    assert whole.gap <= short.gap * (1 + 1e-9)
    assert mm.certify(model, X, y, max_seconds=60).gap == pytest.approx(whole.gap)


def test_of_several_parts_and_of_a_fitted_scale():
    X, y = rough(1)
    model = mm.Classifier(mm.OneVsRest("logistic"), "l1", alpha=0.01, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, np.digitize(y, [-3, 3]))
    short = mm.certify(model, X, np.digitize(y, [-3, 3]), max_seconds=1e-9)
    assert short.gap >= mm.certify(model, X, np.digitize(y, [-3, 3])).gap * (1 - 1e-9)
    huber = HuberRegressor(max_iter=5000).fit(X, y)
    assert np.isfinite(mm.certify(huber, X, y, max_seconds=10).gap)


def test_what_is_refused():
    X, y = rough()
    model = Lasso(alpha=0.05).fit(X, y)
    with pytest.raises(ValueError, match="max_seconds"):
        mm.certify(model, X, y, max_seconds=-1)
    with pytest.raises(TypeError, match="max_seconds is for models"):
        mm.certify(model, batches=[(X, y)], max_seconds=1)
