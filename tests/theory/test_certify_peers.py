"""`certify` reads linear models of celer and skglm, by the names of their classes.

Light stand-ins have the names, modules and attributes of the real classes; the first fits of the
real ones take minutes of compilation. With MINIMAND_PEERS=1 these are read as well.
"""

import importlib
import os
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Lasso

import minimand as mm

RNG = np.random.default_rng(0)
N, D = 60, 4
X = RNG.standard_normal((N, D))
Y = X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * RNG.standard_normal(N) + 0.4
C = np.where(Y > 0, "yes", "no")
THREE = np.digitize(Y, [-1.0, 1.0])
WEIGHTS = np.array([0.5, 1.0, 2.0, 1.5])
HOMES = {"celer": "celer.dropin_sklearn", "skglm": "skglm.estimators"}


def stand_in(library, name, base=BaseEstimator, **attributes):
    """A model of that class with these parameters and attributes."""
    own = {"__module__": HOMES[library], "__init__": lambda self: None, "fit": lambda self: self}
    kind = type(name, (base,), own)
    model = kind()
    vars(model).update(attributes)
    return model


def part(name, **attributes):
    """A datafit or a penalty of skglm."""
    return type(name, (), attributes)()


def generalized(datafit, penalty, intercept=True):
    rest = {"datafit": datafit, "penalty": penalty}
    return {**rest, "solver": SimpleNamespace(fit_intercept=intercept)}


L1, NET = mm.L1(), 0.3 * mm.L1() + 0.7 * mm.L2()
PLAIN = {"alpha": 0.1, "fit_intercept": True, "positive": False}
BARE = {**PLAIN, "weights": None}
SQUARED = part("Quadratic")

# library, class, its parameters, and the same problem in our words
REGRESSORS = [
    ("celer", "Lasso", BARE, ("squared", L1, 0.1)),
    ("celer", "Lasso", {**BARE, "weights": WEIGHTS}, ("squared", mm.L1(WEIGHTS), 0.1)),
    ("celer", "Lasso", {**BARE, "positive": True}, ("squared", L1 + mm.NonNegative(), 0.1)),
    ("celer", "ElasticNet", {**BARE, "l1_ratio": 0.3}, ("squared", NET, 0.1)),
    (
        "celer",
        "ElasticNet",
        {**BARE, "l1_ratio": 0.3, "weights": WEIGHTS},
        ("squared", 0.3 * mm.L1(WEIGHTS) + 0.7 * mm.L2(WEIGHTS), 0.1),
    ),
    ("celer", "LassoCV", {**PLAIN, "alpha": None, "alpha_": 0.2}, ("squared", L1, 0.2)),
    (
        "celer",
        "ElasticNetCV",
        {**PLAIN, "alpha_": 0.2, "l1_ratio": [0.3, 0.9], "l1_ratio_": 0.3},
        ("squared", NET, 0.2),
    ),
    ("skglm", "Lasso", PLAIN, ("squared", L1, 0.1)),
    ("skglm", "WeightedLasso", {**PLAIN, "weights": WEIGHTS}, ("squared", mm.L1(WEIGHTS), 0.1)),
    ("skglm", "ElasticNet", {**PLAIN, "l1_ratio": 0.3}, ("squared", NET, 0.1)),
    ("skglm", "MCPRegression", {**BARE, "gamma": 2.5}, ("squared", mm.MCP(2.5), 0.1)),
    (
        "skglm",
        "GeneralizedLinearEstimator",
        generalized(part("Huber", delta=0.5), part("WeightedL1", alpha=0.1, weights=WEIGHTS)),
        (mm.Huber(0.5), mm.L1(WEIGHTS), 0.1),
    ),
    (
        "skglm",
        "GeneralizedLinearEstimator",
        generalized(SQUARED, part("L1_plus_L2", alpha=0.1, l1_ratio=0.3, positive=True)),
        ("squared", NET + mm.NonNegative(), 0.1),
    ),
    (
        "skglm",
        "GeneralizedLinearEstimator",
        generalized(SQUARED, part("SCAD", alpha=0.1, gamma=3.5)),
        ("squared", mm.SCAD(3.5), 0.1),
    ),
    (
        "skglm",
        "GeneralizedLinearEstimator",
        generalized(SQUARED, part("PositiveConstraint")),
        ("squared", mm.NonNegative(), 0.0),
    ),
    (
        "skglm",
        "GeneralizedLinearEstimator",
        generalized(SQUARED, part("L2", alpha=0.1), intercept=False),
        ("squared", mm.L2(), 0.1),
    ),
]
CLASSIFIERS = [
    ("celer", "LogisticRegression", {"C": 0.5, "fit_intercept": False}, ("logistic", L1, 2 / N)),
    (
        "skglm",
        "SparseLogisticRegression",
        {"alpha": 0.05, "fit_intercept": True, "l1_ratio": 0.3},
        ("logistic", NET, 0.05),
    ),
    ("skglm", "LinearSVC", {"C": 0.5, "fit_intercept": True}, ("hinge", mm.L2(), 2 / N)),
    (
        "skglm",
        "GeneralizedLinearEstimator",
        generalized(part("QuadraticSVC"), part("IndicatorBox", alpha=0.5), intercept=False),
        ("hinge", mm.L2(), 2 / N),
    ),
    (
        "skglm",
        "GeneralizedLinearEstimator",
        generalized(part("Logistic"), part("L1", alpha=0.05)),
        ("logistic", L1, 0.05),
    ),
]


def has_intercept(name, parameters):
    if name == "LinearSVC":
        return False
    solver = parameters.get("solver")
    return solver.fit_intercept if solver else parameters["fit_intercept"]


def check(case, kind, y, **extra):
    library, name, parameters, (loss, penalty, alpha) = case
    ours = kind(loss, penalty, alpha, intercept=has_intercept(name, parameters), tol=1e-8).fit(X, y)
    fitted = {"coef_": ours.coef_, "intercept_": ours.intercept_, "n_features_in_": D, **extra}
    model = stand_in(library, name, **parameters, **fitted)
    found = mm.certify(model, X, y)
    assert found.relative <= 1e-6
    expected = mm.certify(ours, X, y)
    assert found.primal == pytest.approx(expected.primal, rel=1e-12)
    assert found.kind == expected.kind
    model.coef_ = 1.1 * model.coef_
    assert mm.certify(model, X, y).gap > expected.gap


@pytest.mark.parametrize("case", REGRESSORS, ids=lambda case: f"{case[0]}.{case[1]}")
def test_regressors(case):
    check(case, mm.Regressor, Y)


@pytest.mark.parametrize("y", [C, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize("case", CLASSIFIERS, ids=lambda case: f"{case[0]}.{case[1]}")
def test_classifiers(case, y):
    check(case, mm.Classifier, y, classes_=np.unique(y))


def test_the_value_is_that_of_their_formula():
    w, b = np.array([0.5, -1.0, 0.0, 0.2]), 0.1
    model = stand_in("celer", "ElasticNet", coef_=w, intercept_=b, **BARE, l1_ratio=0.25)
    model.weights = WEIGHTS
    r = Y - X @ w - b
    value = r @ r / (2 * N) + 0.1 * 0.25 * WEIGHTS @ abs(w) + 0.5 * 0.1 * 0.75 * WEIGHTS @ w**2
    assert mm.certify(model, X, Y).primal == pytest.approx(value)
    sign = np.where(C == "yes", 1, -1)
    model = stand_in(
        "skglm", "LinearSVC", C=0.5, coef_=w[None], intercept_=0.0, classes_=np.unique(C)
    )
    value = (0.5 * np.maximum(0, 1 - sign * (X @ w)).sum() + w @ w / 2) / (0.5 * N)
    assert mm.certify(model, X, C).primal == pytest.approx(value)


def test_batches_too():
    model = stand_in("skglm", "Lasso", coef_=np.zeros(D), intercept_=Y.mean(), **PLAIN)
    batches = [(X[:30], Y[:30]), (X[30:], Y[30:])]
    assert mm.certify(model, batches=batches).primal == pytest.approx(
        mm.certify(model, X, Y).primal
    )


def test_a_subclass_of_scikit_learns_is_not_mistaken_for_it():
    model = stand_in("celer", "GroupLasso", base=Lasso, coef_=np.zeros(D), intercept_=0.0, **BARE)
    with pytest.raises(TypeError, match=r"cannot certify GroupLasso: .* 'celer\.Lasso'"):
        mm.certify(model, X, Y)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("MCPRegression", {**BARE, "gamma": 3.0, "weights": WEIGHTS}, "MCPRegression with weights"),
        (
            "GeneralizedLinearEstimator",
            generalized(part("Cox"), part("L1", alpha=0.1)),
            r"with Cox and L1: its datafit must be one of \['Gamma', 'Huber'",
        ),
        (
            "GeneralizedLinearEstimator",
            generalized(SQUARED, part("LogSumPenalty", alpha=0.1)),
            "with Quadratic and LogSumPenalty: .* its penalty one of",
        ),
    ],
)
def test_what_is_not_known_is_refused(name, parameters, message):
    model = stand_in("skglm", name, coef_=np.zeros(D), intercept_=0.0, **parameters)
    with pytest.raises(ValueError, match=message):
        mm.certify(model, X, Y)


REAL = [
    ("celer", "Lasso", {"alpha": 0.1, "weights": WEIGHTS, "tol": 1e-8}, Y),
    ("celer", "ElasticNet", {"alpha": 0.1, "l1_ratio": 0.3, "tol": 1e-8}, Y),
    ("celer", "LogisticRegression", {"C": 0.5, "tol": 1e-8}, C),
    ("skglm", "Lasso", {"alpha": 0.1, "tol": 1e-8}, Y),
    ("skglm", "SparseLogisticRegression", {"alpha": 0.05, "tol": 1e-8}, C),
    ("skglm", "LinearSVC", {"C": 0.5, "tol": 1e-8}, C),
]


if os.environ.get("MINIMAND_PEERS"):

    @pytest.mark.parametrize(("library", "name", "parameters", "y"), REAL)
    def test_the_real_ones(library, name, parameters, y):
        model = getattr(importlib.import_module(library), name)(**parameters).fit(X, y)
        assert mm.certify(model, X, y).relative <= 1e-6
