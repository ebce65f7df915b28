"""Predictions and scores on plain arrays are those of scikit-learn's own methods."""

import numpy as np
import pytest
from sklearn import linear_model, svm
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import InvalidParameterError

from minimand import sklearn as ours

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
SCORE = X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=90)
COUNTS = RNG.poisson(np.exp(0.4 * SCORE)).astype(float)
NUMBERS = ["Ridge", "Lasso", "LinearRegression", "HuberRegressor", "LinearSVR", "SGDRegressor"]
LABELS = ["LogisticRegression", "LinearSVC", "RidgeClassifier", "SGDClassifier"]
DEVIANCES = ["PoissonRegressor", "TweedieRegressor"]


def its_own(model, name, *arguments):
    """The method of scikit-learn's class, on the attributes of ours."""
    theirs = getattr(linear_model, type(model).__name__, None) or getattr(svm, type(model).__name__)
    theirs = theirs()
    theirs.__dict__.update(model.__dict__)
    return getattr(theirs, name)(*arguments)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_numbers(name, kind):
    y = np.round(3 * SCORE).astype(kind)
    model = getattr(ours, name)().fit(X, y)
    found = model.predict(X)
    np.testing.assert_array_equal(found, its_own(model, "predict", X))
    assert model.score(X, y) == r2_score(y, found)
    weights = RNG.random(90)
    assert model.score(X, y, weights) == r2_score(y, found, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(X.tolist()), found)


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [np.int64, np.float64, np.str_, bool])
def test_labels(name, classes, kind):
    if kind is bool and classes == 3:
        pytest.skip("three classes are no booleans")
    y = np.digitize(SCORE, [0.0, 1.0][: classes - 1]).astype(kind)
    model = getattr(ours, name)().fit(X, y)
    found = model.predict(X)
    assert found.dtype.kind == y.dtype.kind
    np.testing.assert_array_equal(found, its_own(model, "predict", X))
    np.testing.assert_array_equal(
        model.decision_function(X), its_own(model, "decision_function", X)
    )
    assert model.score(X, y) == accuracy_score(y, found)
    np.testing.assert_array_equal(model.classes_, np.unique(y))


@pytest.mark.parametrize("name", DEVIANCES)
def test_deviances(name):
    model = getattr(ours, name)().fit(X, COUNTS)
    np.testing.assert_array_equal(model.predict(X), its_own(model, "predict", X))
    assert model.score(X, COUNTS) == pytest.approx(its_own(model, "score", X, COUNTS), rel=1e-14)
    with pytest.raises(ValueError, match="NaN"):
        model.score(X, COUNTS + np.nan)


def test_special_cases_of_r2_are_those_of_scikit_learn():
    model = ours.LinearRegression().fit(X, SCORE)
    constant = np.ones(90)
    assert model.score(X, constant) == 0.0
    assert ours.LinearRegression().fit(X, constant).score(X, constant) in (0.0, 1.0)
    with pytest.warns(Warning, match="less than two samples"):
        assert np.isnan(model.score(X[:1], SCORE[:1]))


@pytest.mark.parametrize("name", ["Ridge", "LogisticRegression", "PoissonRegressor"])
def test_bad_rows_are_refused_as_before(name):
    y = COUNTS if name == "PoissonRegressor" else (SCORE > 0).astype(int)
    model = getattr(ours, name)()
    with pytest.raises(Exception, match="not fitted"):
        model.predict(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])
    if name != "PoissonRegressor":  # scikit-learn's own score does not compare lengths
        with pytest.raises(ValueError, match="inconsistent numbers"):
            model.score(X, y[:-1])


def test_names_of_columns_are_still_compared():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = ours.Ridge().fit(frame, SCORE)
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("name", ["Ridge", "LogisticRegression", "SGDClassifier", "SVC"])
def test_bad_parameters_are_refused_also_where_the_default_is_bad(name):
    parent = getattr(ours, name)
    with pytest.raises(InvalidParameterError, match="'tol' parameter"):
        parent(tol="small").fit(X, SCORE > 0)

    rules = {**parent._parameter_constraints, "tol": [str]}
    Strict = type("Strict", (parent,), {"_parameter_constraints": rules})
    with pytest.raises(InvalidParameterError, match="'tol' parameter of Strict"):
        Strict().fit(X, SCORE > 0)


def test_a_sparse_model_predicts():
    y = (SCORE > 0).astype(int)
    model = ours.LogisticRegression().fit(X, y)
    before = model.predict(X)
    np.testing.assert_array_equal(model.sparsify().predict(X), before)


def test_ridge_on_rows_without_two_classes():
    """scikit-learn's RidgeClassifier takes a single class."""
    y = np.zeros(90, dtype=int)
    theirs = linear_model.RidgeClassifier().fit(X, y)
    np.testing.assert_array_equal(ours.RidgeClassifier().fit(X, y).predict(X), theirs.predict(X))
