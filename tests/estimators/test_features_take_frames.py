"""features= takes what a pipeline takes: frames with text and missing values, lists of texts."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import minimand as mm

COLUMNS = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["city"]),
    (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
)
NAMES = ["city_Bonn", "city_Oslo", "city_Rome"]
TEXTS = ["good film", "bad film", "great", "awful and bad", "good, great", "bad"] * 8
LABELS = [1, 0, 1, 0, 1, 0] * 8


def _columns() -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(0)
    city, age = rng.choice(["Bonn", "Oslo", "Rome"], 90), rng.normal(40, 10, 90)
    y = 2.0 * (city == "Rome") + 0.05 * age + 0.1 * rng.standard_normal(90)
    age[::9] = np.nan
    return {"city": city, "age": age}, y


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def frame(request: pytest.FixtureRequest) -> tuple[Any, np.ndarray]:
    columns, y = _columns()
    return request.param(columns), y


def _names(model: Any) -> list[str]:
    return [str(name).split("__")[1] for name in model.features_.get_feature_names_out()]


def test_a_model_with_features_is_a_pipeline(frame: tuple[Any, np.ndarray]) -> None:
    X, y = frame
    inside = mm.Regressor("huber", "l1", features=COLUMNS).fit(X, y)
    outside = make_pipeline(clone(COLUMNS), mm.Regressor("huber", "l1")).fit(X, y)
    assert_allclose(inside.coef_, outside[-1].coef_, rtol=1e-9)
    assert_allclose(inside.predict(X), outside.predict(X), rtol=1e-9)
    assert_allclose(inside.decision_function(X), outside.predict(X), rtol=1e-9)
    assert inside.score(X, y) == pytest.approx(outside.score(X, y))
    assert inside.n_features_in_ == 2
    assert_array_equal(inside.feature_names_in_, ["city", "age"])
    assert _names(inside) == [*NAMES, "age"]
    copy = pickle.loads(pickle.dumps(inside))
    assert_array_equal(copy.predict(X), inside.predict(X))


def test_who_speaks_of_the_problem_takes_frames(frame: tuple[Any, np.ndarray]) -> None:
    X, y = frame
    model = mm.Regressor("squared", "l1", features=COLUMNS).fit(X, y)
    assert mm.certify(model, X, y).relative <= 1e-6
    assert mm.explain(model, X, y).chosen == model.solver_
    assert mm.duality(model, X, y).certificate.relative <= 1e-6
    assert mm.alpha_max(model, X, y) > 0
    path = mm.path(model, X, y, alphas=4)
    assert [name.split("__")[1] for name in path._names()] == [*NAMES, "age"]
    assert_allclose(path.model(2).score(X, y), path.score[2])


def test_tuned_fits_the_features_in_every_fold(frame: tuple[Any, np.ndarray]) -> None:
    X, y = frame
    alphas, folds = [1e-3, 1e-2, 0.1], KFold(3)
    estimator = mm.Regressor("squared", "l2", features=COLUMNS, tol=1e-10)
    tuned = mm.Tuned(estimator, alphas, cv=folds).fit(X, y)
    for i, alpha in enumerate(tuned.alphas_):
        scores = cross_val_score(
            make_pipeline(clone(COLUMNS), mm.Regressor(alpha=alpha, tol=1e-10)),
            X, y, cv=folds, scoring="neg_mean_squared_error",
        )  # fmt: skip
        assert 2 * tuned.cv_results_["mean_test_score"][i] == pytest.approx(scores.mean())
    assert_array_equal(tuned.feature_names_in_, ["city", "age"])
    assert_allclose(tuned.predict(X), tuned.best_estimator_.predict(X))
    scored = mm.Tuned(estimator, alphas, cv=folds, scoring="r2").fit(X, y)
    assert scored.best_score_ > 0.5


def test_searches_reach_inside(frame: tuple[Any, np.ndarray]) -> None:
    X, y = frame
    grid = {"features__pipeline__simpleimputer__strategy": ["mean", "median"]}
    search = GridSearchCV(mm.Classifier(features=COLUMNS), grid, cv=2).fit(X, y > np.median(y))
    assert search.best_score_ > 0.7
    assert not hasattr(COLUMNS, "transformers_")


def test_texts_become_columns() -> None:
    model = mm.Classifier(features=TfidfVectorizer()).fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) == 1.0
    assert list(model.predict(["good", "awful"])) == [1, 0]
    assert mm.certify(model, TEXTS, LABELS).relative <= 1e-6
    path = mm.path(model, TEXTS, LABELS, alphas=[0.1, 0.01])
    assert path._names() == ["and", "awful", "bad", "film", "good", "great"]
    tuned = mm.Tuned(model, [0.1, 0.01], cv=3).fit(np.array(TEXTS), LABELS)
    assert tuned.score(TEXTS, LABELS) == 1.0


def test_batches_of_texts() -> None:
    model = mm.Classifier(features=HashingVectorizer(n_features=32))
    batches = [(TEXTS[i : i + 12], LABELS[i : i + 12]) for i in range(0, 48, 12)]
    for X, y in batches:
        model.partial_fit(X, y)
    assert model.score(TEXTS, LABELS) == 1.0
    assert mm.certify(model, batches=batches).relative < 1


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (lambda X: X[:5], "must give a row per sample, but it gives 5 rows for 20 samples"),
        (lambda X: X[:, :0], "gives no columns"),
        (lambda X: X[:, 0], r"a matrix of real numbers, but it gives an array of 1 dimension"),
        (lambda X: X + 1j, "but it gives complex numbers"),
        (lambda X: np.full(X.shape, "a"), "must give numbers, but it gives 'a' in column 0"),
        (lambda X: X / 0 * 0, "the output of features= contains NaN"),
    ],
)
def test_what_features_give_is_checked_in_their_name(gives: Any, message: str) -> None:
    X = np.random.default_rng(0).standard_normal((20, 2))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        mm.Regressor(features=FunctionTransformer(gives)).fit(X, X[:, 0])


def test_another_width_than_in_the_fit_is_refused() -> None:
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = mm.Regressor(features=FunctionTransformer()).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="gives 2 columns, but the model was fitted on 3"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("form", ["coo", "lil", "csc"])
def test_sparse_outputs_of_any_form(form: str) -> None:
    X = np.random.default_rng(0).standard_normal((20, 3))
    features = FunctionTransformer(lambda X: sparse.coo_array(X).asformat(form))
    model = mm.Regressor(features=features).fit(X, X[:, 0])
    assert_allclose(model.coef_, mm.Regressor().fit(X, X[:, 0]).coef_, rtol=1e-6)
