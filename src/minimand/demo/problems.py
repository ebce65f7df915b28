"""The problems of the demonstration, on data that ship with scikit-learn, in their own units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import (
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)
from sklearn.metrics import accuracy_score, d2_pinball_score, d2_tweedie_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from .._base.typing import AnyArray, Array
from ..estimators import Classifier, Regressor
from ..losses import Distance, Huber, Quantile
from ..penalties import L1, L2


class LogCosh(Distance):
    """ln cosh r: a user's own loss, in three lines."""

    def psi(self, r: Array) -> Array:  # noqa: D102
        return np.logaddexp(r, -r) - np.log(2)

    def dpsi(self, r: Array) -> Array:  # noqa: D102
        return np.tanh(r)

    def ddpsi(self, r: Array) -> Array:  # noqa: D102
        return 1 - np.tanh(r) ** 2


class Data(NamedTuple):
    """Training and test parts, the same split for both libraries."""

    X: Array
    X_test: Array
    y: AnyArray
    y_test: AnyArray


@lru_cache
def diabetes() -> Data:
    """442 patients, 10 measurements as they were taken, disease progression after a year."""
    return Data(*train_test_split(*load_diabetes(return_X_y=True, scaled=False), random_state=0))


@lru_cache
def breast_cancer() -> Data:
    """569 tumours, 30 measurements whose sizes differ by a factor of 10⁵, two classes."""
    return Data(*train_test_split(*load_breast_cancer(return_X_y=True), random_state=0))


@dataclass(frozen=True)
class Problem:
    """One objective, our estimator for it, and scikit-learn's if it has one.

    ``theirs`` gets the number of samples, which scikit-learn's scales of alpha and C depend on.
    """

    name: str
    data: Callable[[], Data]
    ours: Any
    theirs: Callable[[int], Any] | None
    metric: str
    score: Callable[[AnyArray, AnyArray], float]


def _d2_poisson(y: AnyArray, prediction: AnyArray) -> float:
    return float(d2_tweedie_score(y, prediction, power=1))


def _d2_upper(y: AnyArray, prediction: AnyArray) -> float:
    return float(d2_pinball_score(y, prediction, alpha=0.9))


def _l1_logistic(n_samples: int) -> Any:
    """L1 logistic regression; scikit-learn 1.8 renamed its parameter."""
    new = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    l1 = {"l1_ratio": 1.0} if new else {"penalty": "l1"}
    return LogisticRegression(C=1 / (0.01 * n_samples), solver="saga", random_state=0, **l1)


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        "lasso",
        diabetes,
        Regressor("squared", "l1", alpha=5.0),
        lambda n: Lasso(alpha=5.0),
        "R²",
        r2_score,
    ),
    Problem(
        "ridge",
        diabetes,
        Regressor("squared", "l2", alpha=1.0),
        lambda n: Ridge(alpha=1.0 * n),
        "R²",
        r2_score,
    ),
    Problem(
        "poisson",
        diabetes,
        Regressor("poisson", "l2", alpha=0.01),
        lambda n: PoissonRegressor(alpha=0.01),
        "D²",
        _d2_poisson,
    ),
    Problem(
        "L1 logistic",
        breast_cancer,
        Classifier("logistic", "l1", alpha=0.01),
        _l1_logistic,
        "accuracy",
        accuracy_score,
    ),
    Problem(
        "L2 logistic",
        breast_cancer,
        Classifier("logistic", "l2", alpha=0.01),
        lambda n: LogisticRegression(C=1 / (0.01 * n)),
        "accuracy",
        accuracy_score,
    ),
    Problem(
        "SVM",
        breast_cancer,
        Classifier("hinge", "l2", alpha=0.1),
        lambda n: SVC(kernel="linear", C=1 / (0.1 * n)),
        "accuracy",
        accuracy_score,
    ),
    Problem(
        "upper decile",
        diabetes,
        Regressor(Quantile(0.9), "l1", alpha=0.1),
        lambda n: QuantileRegressor(quantile=0.9, alpha=0.1),
        "D²",
        _d2_upper,
    ),
    Problem(
        "huber",
        diabetes,
        Regressor(Huber(delta=30), "l2", alpha=1.0),
        None,
        "R²",
        r2_score,
    ),
    Problem(
        "own loss",
        diabetes,
        Regressor(LogCosh(), L1() + 0.5 * L2(), alpha=0.1),
        None,
        "R²",
        r2_score,
    ),
)
