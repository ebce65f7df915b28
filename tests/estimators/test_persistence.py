"""Every fitted model is arrays, numbers, strings and dicts: skops saves and loads all of them."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest
import skops.io
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
import minimand.sklearn as drop_ins

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # of scikit-learn, about its own future
]


@pytest.fixture(scope="module")
def data() -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = np.abs(X @ [1.0, 2.0, 0.0, -1.0]) + 0.1
    names = np.array(["low", "mid", "high"], dtype=object)[np.digitize(y, [1.0, 2.0])]
    return SimpleNamespace(X=X, y=y, signs=X[:, 0] > 0, names=names)


def loaded(model):
    """The model after a journey through a file, nothing of it pickled."""
    saved = skops.io.dumps(model)
    schema = json.loads(zipfile.ZipFile(BytesIO(saved)).read("schema.json"))
    assert "PickleNode" not in json.dumps(schema)
    return skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))


REGRESSORS = {
    "lasso": mm.Regressor("squared", "l1", alpha=0.1),
    "algebra": mm.Regressor(
        mm.Quantile(0.9), mm.L1() + 0.5 * mm.L2(weights=np.arange(1.0, 5.0)) + mm.Box(-1, 1)
    ),
    "robust": mm.Regressor(mm.GemanMcClure(2.0), "mcp", alpha=0.1),
    "poisson": mm.Regressor("poisson", alpha=0.1),
    "transform": mm.Regressor(mm.MatchingLoss(np.sinh), alpha=0.1),
    "maps": mm.Regressor(alpha=0.1, features=mm.Monomials(2) + mm.Neighbors(3)),
    "hidden": mm.Regressor(alpha=0.1, features=mm.HiddenLayer(2), random_state=0),
    "solver": mm.Regressor("squared", "l1", alpha=0.1, solver=mm.solvers.Fista(restart=True)),
    "sgd": mm.Regressor(alpha=0.1, solver="sgd"),
    "tuned": mm.Tuned(mm.Regressor("squared", "l1"), cv=3),
}
CLASSIFIERS = {
    "hinge": mm.Classifier("hinge", alpha=0.1),
    "logistic": mm.Classifier(mm.Logistic(), mm.L1(), alpha=0.01),
    "tanh": mm.Classifier("tanh_margin", alpha=0.1),
    "tuned": mm.Tuned(mm.Classifier("squared_hinge"), cv=3),
    "perceptron": mm.Perceptron(),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_survives(data: SimpleNamespace, name: str) -> None:
    model = REGRESSORS[name].fit(data.X, data.y)
    again = loaded(model)
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    assert again.certificate_.gap == model.certificate_.gap
    assert repr(again) == repr(model)


@pytest.mark.parametrize("labels", ["signs", "names"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_survives(data: SimpleNamespace, name: str, labels: str) -> None:
    y = getattr(data, labels)
    if name == "perceptron" and labels == "names":
        y = data.X[:, 1] > 0
    model = CLASSIFIERS[name].fit(data.X, y)
    again = loaded(model)
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    if name == "hinge":
        np.testing.assert_array_equal(again.support_, model.support_)


def test_a_hard_margin_survives(data: SimpleNamespace) -> None:
    model = mm.HardMargin().fit(data.X, data.signs)
    np.testing.assert_array_equal(loaded(model).predict(data.X), data.signs)


@pytest.mark.parametrize("name", drop_ins.__all__)
def test_a_drop_in_survives(data: SimpleNamespace, name: str) -> None:
    model = getattr(drop_ins, name)()
    numbers = np.column_stack([data.y, -data.y]) if name.startswith("MultiTask") else data.y
    model.fit(data.X, data.signs if is_classifier(model) else numbers)
    again = loaded(model)
    for method in ("predict", "transform"):
        if hasattr(model, method):
            expected = getattr(model, method)(data.X)
            np.testing.assert_array_equal(getattr(again, method)(data.X), expected)
    assert vars(again).keys() == vars(model).keys()


@pytest.mark.parametrize("rows", [20, 60])
def test_a_stream_goes_on_where_it_was(data: SimpleNamespace, rows: int) -> None:
    """Also while its first rows are kept, from which the steps are to be chosen."""
    model = mm.Classifier("logistic", alpha=0.1).partial_fit(data.X[:rows], data.signs[:rows])
    again = loaded(model)
    for each in (model, again):
        each.partial_fit(data.X, data.signs)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_the_course_of_a_fit_survives(data: SimpleNamespace) -> None:
    with pytest.warns(ConvergenceWarning):
        model = mm.Regressor("squared", "l1", alpha=0.01, solver="fista", tol=0, max_iter=40).fit(
            data.X, data.y
        )
    again = loaded(model).history_
    assert len(again) == len(model.history_) > 40
    np.testing.assert_array_equal(again.gap, model.history_.gap)
    assert again[-1] == model.history_[-1]


def test_a_path_survives(data: SimpleNamespace) -> None:
    path = mm.path(mm.Regressor("squared", "l1"), data.X, data.y, alphas=5)
    np.testing.assert_array_equal(loaded(path).coefs, path.coefs)
