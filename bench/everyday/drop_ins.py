"""Drop-ins and the models of scikit-learn that they stand for, both at their defaults."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from scipy import sparse
from sklearn import cluster, decomposition, kernel_ridge, linear_model, manifold, neighbors, svm

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
    ("ElasticNetCV", {}, "number"),
    ("LassoLarsIC", {}, "number"),
    ("PoissonRegressor", {}, "count"),
    ("GammaRegressor", {}, "positive"),
    ("TweedieRegressor", {"power": 1.5}, "count"),
    ("LogisticRegression", {}, "class"),
    ("LogisticRegression", {"l1_ratio": 1.0, "solver": "liblinear"}, "class"),
    ("LogisticRegressionCV", {"l1_ratios": (0.0,), "use_legacy_attributes": False}, "class"),
    ("LinearSVC", {}, "class"),
    ("LinearSVC", {"loss": "hinge"}, "class"),
    ("RidgeClassifier", {}, "class"),
    ("SGDClassifier", {"random_state": 0}, "class"),
    ("SGDRegressor", {"random_state": 0}, "number"),
    ("Perceptron", {"random_state": 0}, "class"),
    ("PassiveAggressiveClassifier", {"random_state": 0}, "class"),
    ("PassiveAggressiveRegressor", {"random_state": 0}, "number"),
    ("MultiTaskLasso", {}, "numbers"),
    ("MultiTaskElasticNet", {}, "numbers"),
    ("MultiTaskLassoCV", {}, "numbers"),
    ("MultiTaskElasticNetCV", {}, "numbers"),
    ("SVC", {}, "class"),
    ("NuSVC", {}, "class"),
    ("SVR", {}, "number"),
    ("NuSVR", {}, "number"),
    ("OneClassSVM", {}, "class"),
    ("KernelRidge", {}, "number"),
    ("PCA", {}, "class"),
    ("IncrementalPCA", {}, "class"),
    ("TruncatedSVD", {"random_state": 0}, "class"),
    ("KernelPCA", {"n_components": 2}, "class"),
    ("KMeans", {"random_state": 0}, "class"),
    ("MiniBatchKMeans", {"random_state": 0}, "class"),
    ("BisectingKMeans", {"random_state": 0}, "class"),
    ("AgglomerativeClustering", {}, "class"),
    ("SpectralClustering", {"random_state": 0}, "class"),
    ("SpectralEmbedding", {"random_state": 0}, "class"),
    ("KNeighborsClassifier", {}, "class"),
    ("KNeighborsRegressor", {}, "number"),
)
# Stored numbers, up to which a fit of scikit-learn's takes seconds and not minutes.
_MOST_COLUMNS = 5000
MOST = {
    "QuantileRegressor": 60_000,
    "LassoCV": 1_000_000,
    "ElasticNetCV": 1_000_000,
    "LassoLarsIC": 1_000_000,
    "LogisticRegressionCV": 600_000,
    "MultiTaskLassoCV": 100_000,
    "MultiTaskElasticNetCV": 100_000,
}
# Models of all pairs of rows, for which 2000 rows are many; and those that need a dense X.
_PAIRS = (
    "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "KernelRidge", "KernelPCA",
    "AgglomerativeClustering", "SpectralClustering", "SpectralEmbedding",
)  # fmt: skip
_DENSE = (
    "RidgeCV", "LassoLarsIC", "MultiTaskLasso", "MultiTaskElasticNet", "MultiTaskLassoCV",
    "MultiTaskElasticNetCV", "PCA", "IncrementalPCA",
)  # fmt: skip
_MOST_ROWS = 2000
_MOST_WORK = 1e10  # multiply-adds of a Gram, or of a decomposition of X


def theirs(name: str) -> type:
    rooms = (linear_model, svm, kernel_ridge, decomposition, cluster, manifold, neighbors)
    return next(getattr(room, name) for room in rooms if hasattr(room, name))


def feasible(name: str, data: Data) -> bool:
    """Whether scikit-learn's model fits such data in seconds."""
    n, d = data.X.shape
    if name == "HuberRegressor" and d > _MOST_COLUMNS:
        return False  # its scale is found with a dense Hessian of all columns
    if name in _PAIRS and n > _MOST_ROWS:
        return False
    if name in _DENSE and (sparse.issparse(data.X) or min(n, d) ** 2 * max(n, d) > _MOST_WORK):
        return False
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
        except (TypeError, ValueError) as error:
            warnings.warn(f"{label} on {data.name} was left out: {error}", stacklevel=2)
            continue
        if times[1] < float("inf"):
            yield Cell(label, data.name, data.X.shape[0], *times)
