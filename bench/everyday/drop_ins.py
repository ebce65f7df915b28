"""Drop-ins and the models of scikit-learn that they stand for, both at their defaults."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from scipy import sparse
from sklearn import linear_model, svm

from minimand import sklearn as ours

from .cells import Cell, Turns, best
from .data import Data

MODELS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("LinearRegression", {}, "number"),
    ("Ridge", {}, "number"),
    ("Lasso", {}, "number"),
    ("ElasticNet", {}, "number"),
    ("HuberRegressor", {}, "number"),
    ("QuantileRegressor", {}, "number"),
    ("LinearSVR", {}, "number"),
    ("RidgeCV", {}, "number"),
    ("LassoCV", {}, "number"),
    ("PoissonRegressor", {}, "count"),
    ("LogisticRegression", {}, "class"),
    ("LogisticRegression", {"l1_ratio": 1.0, "solver": "liblinear"}, "class"),
    ("LinearSVC", {}, "class"),
    ("LinearSVC", {"loss": "hinge"}, "class"),
    ("RidgeClassifier", {}, "class"),
    ("SGDClassifier", {"random_state": 0}, "class"),
    ("Perceptron", {"random_state": 0}, "class"),
)
# Stored numbers, up to which a fit of scikit-learn's takes seconds and not minutes.
_MOST_COLUMNS = 5000
MOST = {"QuantileRegressor": 100_000, "LassoCV": 1_000_000}


def theirs(name: str) -> type:
    return getattr(linear_model, name, None) or getattr(svm, name)


def feasible(name: str, data: Data) -> bool:
    """Whether scikit-learn's model fits such data in seconds."""
    n, d = data.X.shape
    if name == "HuberRegressor" and d > _MOST_COLUMNS:
        return False  # its scale is found with a dense Hessian of all columns
    if name == "RidgeCV":
        return not sparse.issparse(data.X) and min(n, d) ** 2 * max(n, d) <= 1e10
    return data.numbers <= MOST.get(name, data.numbers)


def cells(data: Data, turns: Turns) -> Iterator[Cell]:
    """Every model on one data set; what scikit-learn's model refuses is left out."""
    for name, parameters, kind in MODELS:
        label = name + "".join(f" {value}" for key, value in parameters.items() if key == "loss")
        label += " l1" if "l1_ratio" in parameters else ""
        if not (turns.wants(label) and feasible(name, data)):
            continue
        pair = getattr(ours, name)(**parameters), theirs(name)(**parameters)
        fits = [partial(model.fit, data.X, data.targets[kind]) for model in pair]
        try:
            times = best(fits, turns)
        except ValueError as error:
            warnings.warn(f"{label} on {data.name} was left out: {error}", stacklevel=2)
            continue
        if times[1] < float("inf"):
            yield Cell(label, data.name, data.X.shape[0], *times)
