"""clone, pickle, pipelines, searches, metadata routing, features: scikit-learn's machinery."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import Parallel, delayed, parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import minimand as mm


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    return X, X @ [1.0, -1.0, 0.0] + 0.1 * rng.normal(size=80)


class PseudoHuber(mm.Distance):
    """A user's own loss, √(1 + r²) − 1, at module level so that it can be pickled."""

    def psi(self, t):
        return t * (t / (1 + np.hypot(1, t)))

    def dpsi(self, t):
        return t / np.hypot(1, t)

    def ddpsi(self, t):
        return np.hypot(1, t) ** -3.0


# Nested parameters ---------------------------------------------------------------------------


def test_a_nested_parameter_replaces_the_object_by_a_changed_copy():
    penalty, loss = mm.L1() + 0.5 * mm.L2(), mm.Huber(delta=1.0)
    a, b = mm.Regressor(loss, penalty), mm.Regressor(loss, penalty)
    a.set_params(penalty__left__weights=[1.0], penalty__right__factor=2.0, loss__delta=3.0)
    assert penalty == mm.L1() + 0.5 * mm.L2()
    assert loss.delta == 1.0
    assert b.penalty is penalty
    assert b.loss is loss
    assert a.loss.delta == 3.0
    assert a.penalty.left.weights == [1.0]
    assert a.penalty.right.factor == 2.0


def test_a_clone_shares_no_changeable_part():
    model = mm.Regressor(mm.Huber(2.0), mm.L1(np.ones(3)), features=StandardScaler())
    other = clone(model).set_params(
        loss__delta=5.0, penalty__weights=np.zeros(3), features__with_mean=False, alpha=9.0
    )
    assert model.loss.delta == 2.0
    assert model.alpha is None
    assert model.features.with_mean
    assert_array_equal(model.penalty.weights, 1.0)
    assert other.features.with_mean is False


def test_features_are_replaced_by_a_changed_clone():
    scaler = StandardScaler()
    model = mm.Regressor(features=scaler).set_params(features__with_std=False)
    assert scaler.with_std
    assert model.features is not scaler
    assert not model.features.with_std


def test_a_short_name_can_be_refined():
    model = mm.Regressor("huber", "l1").set_params(loss__delta=2.0, penalty__weights=[1.0, 2.0])
    assert model.loss == mm.Huber(2.0)
    assert model.penalty == mm.L1([1.0, 2.0])
    model.set_params(loss="squared", penalty="l2", penalty__weights=None)
    assert model.loss == "squared"
    assert model.penalty == mm.L2()
    assert model.set_params() is model


def test_get_params_reaches_every_depth():
    params = mm.Regressor(mm.Huber(), mm.L1() + 0.5 * mm.L2()).get_params()
    assert params["loss__delta"] == 1.0
    assert params["penalty__right__factor"] == 0.5
    assert params["penalty__right__penalty__weights"] is None


@pytest.mark.parametrize(
    "grid",
    [
        {"alpha": [0.01, 0.1, 10.0]},
        {"penalty": ["l1", mm.L2(), mm.L1() + mm.L2()]},
        {"penalty__weights": [None, [1.0, 1.0, 0.0], np.array([0.0, 5.0, 1.0])]},
        {"loss": [mm.Huber()], "loss__delta": [0.1, 1.0]},
        {"penalty": [mm.L1() + 0.5 * mm.L2()], "penalty__left__weights": [[1, 1, 1], [1, 1, 9]]},
        {"features": [None, PolynomialFeatures(2)]},
        {"features": [PolynomialFeatures()], "features__degree": [1, 2]},
    ],
    ids=str,
)
def test_grid_search(grid, data):
    X, y = data
    model = mm.Regressor("huber", "l1", alpha=0.1)
    before = repr(model)
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert repr(model) == before
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    for name, value in search.best_params_.items():
        found = search.best_estimator_.get_params()[name]
        if isinstance(value, np.ndarray):
            assert_array_equal(found, value)
        else:
            changed_within = any(other.startswith(f"{name}__") for other in search.best_params_)
            assert changed_within or repr(found) == repr(value)


def test_grid_search_in_a_pipeline_reaches_the_factors(data):
    X, y = data
    penalty = mm.L1() + 0.5 * mm.L2()
    pipe = make_pipeline(StandardScaler(), mm.Classifier("logistic", penalty, alpha=0.01))
    search = GridSearchCV(pipe, {"classifier__penalty__right__factor": [0.1, 10.0]}, cv=3)
    search.fit(X, y > 0)
    assert penalty == mm.L1() + 0.5 * mm.L2()
    factor = search.best_params_["classifier__penalty__right__factor"]
    assert search.best_estimator_[-1].penalty.right.factor == factor


# Copies --------------------------------------------------------------------------------------


def pickled(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize(
    "model",
    [
        mm.Regressor(PseudoHuber(), "l1", alpha=0.1),
        mm.Regressor("poisson", mm.L1() + mm.L2(), alpha=0.1, features=PolynomialFeatures(2)),
        mm.Classifier(mm.Logistic(), mm.L2(np.ones(3)), alpha=0.1, class_weight="balanced"),
    ],
    ids=repr,
)
def test_copies_predict_the_same(copier, model, data):
    X, y = data
    y = np.round(np.abs(y)) if isinstance(model, mm.Regressor) else np.digitize(y, [-1, 1])
    model.fit(X, y)
    twin = copier(model)
    assert_array_equal(twin.predict(X), model.predict(X))
    assert twin.certificate_.gap == model.certificate_.gap
    assert_array_equal(twin.certificate_.dual_point, model.certificate_.dual_point)
    assert repr(twin) == repr(model)


def test_a_clone_is_unfitted_and_equal(data):
    X, y = data
    model = mm.Regressor(mm.Huber(2.0), mm.L1([1, 2, 3]), alpha=0.3, max_iter=7, tol=1e-3)
    before = repr(model)
    twin = clone(model.fit(X, y))
    assert not hasattr(twin, "coef_")
    assert repr(twin) == before


# Cross-validation ----------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_scores_do_not_depend_on_where_they_are_computed(backend, data):
    X, y = data
    model = mm.Regressor("huber", "l1", alpha=0.05)
    here = cross_val_score(model, X, y, cv=4)
    with parallel_config(backend=backend):
        there = cross_val_score(model, X, y, cv=4, n_jobs=2)
    assert_allclose(here, there, rtol=1e-12)
    assert (here > 0.9).all()


def test_fitted_models_come_back_from_processes(data):
    X, y = data
    model = mm.Classifier(alpha=0.1)
    back = Parallel(n_jobs=2)(delayed(clone(model).fit)(X, y > c) for c in (-0.5, 0.5))
    for found, c in zip(back, (-0.5, 0.5)):
        assert_allclose(found.coef_, clone(model).fit(X, y > c).coef_, rtol=1e-12)
        assert found.certificate_.relative <= 1e-6


# Metadata routing ----------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_weights_and_offsets_are_routed(data):
    X, y = data
    weights, offset = np.linspace(1, 2, 80), np.linspace(-1, 1, 80)
    model = mm.Regressor(alpha=0.1).set_fit_request(sample_weight=True, offset=True)
    model.set_score_request(sample_weight=False, offset=True)
    seen = cross_validate(
        model,
        X,
        y,
        cv=KFold(2),
        params={"sample_weight": weights, "offset": offset},
        return_estimator=True,
    )["estimator"]
    for fitted, (train, _) in zip(seen, KFold(2).split(X)):
        direct = mm.Regressor(alpha=0.1).fit(X[train], y[train], weights[train], offset[train])
        assert_allclose(fitted.coef_, direct.coef_, rtol=1e-10)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_routes_offsets_to_fit_and_predict(data):
    X, y = data
    offset = np.linspace(-1, 1, 80)
    model = mm.Regressor(alpha=0.1).set_fit_request(offset=True).set_predict_request(offset=True)
    pipe = make_pipeline(FunctionTransformer(), model).fit(X, y, offset=offset)
    direct = mm.Regressor(alpha=0.1).fit(X, y, offset=offset)
    assert_allclose(pipe.predict(X, offset=offset), direct.predict(X, offset), rtol=1e-12)


@pytest.mark.usefixtures("routing")
def test_an_unrequested_weight_is_an_error(data):
    X, y = data
    with pytest.raises(Exception, match="sample_weight"):
        cross_validate(mm.Regressor(), X, y, params={"sample_weight": np.ones(80)})


# Features ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "features",
    [
        PolynomialFeatures(2, include_bias=False),
        StandardScaler(),
        Nystroem(n_components=10, random_state=0),
        make_pipeline(StandardScaler(), PolynomialFeatures(2)),
        FunctionTransformer(np.abs),
    ],
    ids=lambda f: type(f).__name__,
)
def test_features_are_a_pipeline_inside(features, data):
    X, y = data
    inside = mm.Regressor("huber", "l2", alpha=0.1, features=features).fit(X, y)
    outside = make_pipeline(clone(features), mm.Regressor("huber", "l2", alpha=0.1)).fit(X, y)
    assert_allclose(inside.predict(X), outside.predict(X), rtol=1e-10)
    assert_allclose(inside.coef_, outside[-1].coef_, rtol=1e-10)
    assert inside.n_features_in_ == 3
    assert inside.features is features
    assert mm.certify(inside, X, y).relative <= 2e-6


def test_features_may_give_sparse_or_whole_numbers(data):
    X, y = data
    groups = np.digitize(X[:, :1], [-1, 0, 1])
    for output in (True, False):
        encoder = OneHotEncoder(sparse_output=output, dtype=np.int64)
        model = mm.Classifier(features=encoder, alpha=0.01).fit(groups, y > 0)
        assert model.coef_.shape == (1, 4)
        assert model.predict(groups).shape == (80,)


def test_features_may_pick_columns_and_give_frames(data):
    X, y = data
    picked = ColumnTransformer([("first", StandardScaler(), [0])]).set_output(transform="pandas")
    model = mm.Regressor(features=picked).fit(pd.DataFrame(X, columns=list("abc")), y)
    assert model.coef_.shape == (1,)


def test_features_that_are_not_finite_are_named(data):
    X, y = data
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="the output of features= contains NaN"),
    ):
        mm.Regressor(features=FunctionTransformer(np.log)).fit(X, y)


def test_the_callers_features_stay_unfitted(data):
    X, y = data
    scaler = StandardScaler()
    model = mm.Regressor(features=scaler).fit(X, y)
    assert not hasattr(scaler, "mean_")
    assert hasattr(model.features_, "mean_")
