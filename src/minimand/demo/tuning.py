"""Alpha by cross-validation with both libraries, and a figure of the path and its scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from .._base.typing import AnyArray, Array
from ..estimators import Classifier, Regressor
from ..selection import Tuned
from .problems import Data, breast_cancer

FIGURE = "minimand-demo.png"


@dataclass(frozen=True)
class Choice:
    """One library's choice of alpha, on our scale, with its time and its test score."""

    problem: str
    library: str
    alpha: float
    seconds: float
    nonzeros: int
    features: int
    metric: str
    test_score: float


@dataclass(frozen=True)
class Task:
    """A model to tune, and scikit-learn's class for the same model on the same grid."""

    name: str
    data: Callable[[], Data]
    ours: Tuned
    theirs: Callable[[Array, int], Any]
    alpha: Callable[[Any, int], float]
    metric: str
    score: Callable[[AnyArray, AnyArray], float]


@lru_cache
def scaled_diabetes() -> Data:
    """The diabetes data with columns of one size."""
    return Data(*train_test_split(*load_diabetes(return_X_y=True), random_state=0))


def _logistic(alphas: Array, n_samples: int) -> Any:
    """L1 logistic regression; scikit-learn 1.8 renamed its parameter."""
    new = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    l1: dict[str, Any] = {"l1_ratios": (1.0,)} if new else {"penalty": "l1"}
    if new:
        l1["use_legacy_attributes"] = False
    inverse = 1 / (alphas * n_samples)
    return LogisticRegressionCV(Cs=inverse, cv=5, solver="liblinear", scoring="neg_log_loss", **l1)


TASKS: tuple[Task, ...] = (
    Task(
        "lasso, 5 folds",
        scaled_diabetes,
        Tuned(Regressor("squared", "l1"), alphas=100),
        lambda alphas, n: LassoCV(alphas=alphas, cv=5),
        lambda model, n: float(model.alpha_),
        "R²",
        r2_score,
    ),
    Task(
        "L1 logistic, 5 folds",
        breast_cancer,
        Tuned(Classifier("logistic", "l1"), alphas=20, eps=1e-5),
        _logistic,
        lambda model, n: 1.0 / (n * float(np.ravel(model.C_)[0])),
        "accuracy",
        accuracy_score,
    ),
)


def choices(tasks: tuple[Task, ...] = TASKS) -> list[tuple[Choice, Choice, Tuned]]:
    """Our and scikit-learn's choice for every task, each on one thread, and our tuned model."""
    found = []
    for task in tasks:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn's models that do not converge
            found.append(_compare(task))
    return found


def _compare(task: Task) -> tuple[Choice, Choice, Tuned]:
    data = task.data()
    count = len(data.y)
    ours, seconds = _fit(task.ours, data)
    mine = _choice(task, "minimand", ours.alpha_, seconds, ours.best_estimator_.coef_, ours, data)
    theirs, seconds = _fit(task.theirs(ours.alphas_, count), data)
    alpha = task.alpha(theirs, count)
    other = _choice(task, "scikit-learn", alpha, seconds, theirs.coef_, theirs, data)
    return mine, other, ours


def _fit(estimator: Any, data: Data) -> tuple[Any, float]:
    """A fitted clone and its seconds."""
    model = clone(estimator)
    started = time.perf_counter()
    model.fit(data.X, data.y)
    return model, time.perf_counter() - started


def _choice(
    task: Task, library: str, alpha: float, seconds: float, coef: Array, model: Any, data: Data
) -> Choice:
    score = float(task.score(data.y_test, model.predict(data.X_test)))
    nonzeros = int(np.count_nonzero(coef))
    features = data.X.shape[1]
    return Choice(task.name, library, alpha, seconds, nonzeros, features, task.metric, score)


def draw(tuned: Tuned, file: Path) -> str:
    """Draw the scores above the path; returns where the file is, or why there is none."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "No figure was drawn: it needs matplotlib (pip install 'minimand[plot]')."
    figure = Figure(figsize=(8.0, 8.4), layout="constrained")
    above, below = figure.subplots(2, 1)
    tuned.plot(ax=above)
    best, simple = (tuned.alphas_[tuned.chosen_[rule]] for rule in ("min", "1se"))
    names = np.array(load_diabetes().feature_names)  # arrays have no column names
    path = replace(tuned.path_, attributes={**tuned.path_.attributes, "feature_names_in_": names})
    path.plot(ax=below, chosen={"best": best, "1-SE rule": simple})
    figure.savefig(file, dpi=120)
    return f"The lasso's cross-validation and its path are drawn in {file.resolve()}."
