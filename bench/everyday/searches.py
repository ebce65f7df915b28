"""Fits inside searches, cross-validations and ensembles: the time of all of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn import linear_model
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score

import minimand as mm
from minimand import sklearn as ours

from .cells import Cell, Turns, best
from .data import Data
from .drop_ins import theirs

SIZES = ("442×10", "2000×20")  # and the first that is drawn
GRID = 20  # values of a parameter
MEMBERS = 50  # of an ensemble
TEN: tuple[tuple[str, str, str], ...] = (
    ("Ridge", "alpha", "number"),
    ("Lasso", "alpha", "number"),
    ("ElasticNet", "alpha", "number"),
    ("HuberRegressor", "alpha", "number"),
    ("LinearSVR", "C", "number"),
    ("PoissonRegressor", "alpha", "count"),
    ("LogisticRegression", "C", "class"),
    ("LinearSVC", "C", "class"),
    ("RidgeClassifier", "alpha", "class"),
    ("SGDClassifier", "alpha", "class"),
)
_VALUES = {"alpha": np.logspace(-4, 1, GRID), "C": np.logspace(-3, 1, GRID)}


def cells(data: Data, turns: Turns) -> Iterator[Cell]:
    """Grid searches, cross-validation at the defaults, bagging, and `Tuned` at a few sizes."""
    if not (data.drawn or data.name in SIZES):
        return
    X, targets, n = data.X, data.targets, data.X.shape[0]
    once = turns._replace(repeats=1)
    for name, parameter, kind in TEN:
        if not turns.wants(f"GridSearchCV {name}"):
            continue
        searches = [
            partial(_search, model(), parameter, X, targets[kind])
            for model in (getattr(ours, name), theirs(name))
        ]
        yield Cell(f"GridSearchCV {name}", data.name, n, *best(searches, once))
    for name, _, kind in TEN:
        if not turns.wants(f"cross_val_score {name}"):
            continue
        scores = [
            partial(cross_val_score, model(), X, targets[kind], cv=5)
            for model in (getattr(ours, name), theirs(name))
        ]
        yield Cell(f"cross_val_score {name}", data.name, n, *best(scores, turns))
    for name, bagging, kind in (
        ("Ridge", BaggingRegressor, "number"),
        ("LogisticRegression", BaggingClassifier, "class"),
    ):
        if not turns.wants(f"Bagging {name}"):
            continue
        fits = [
            partial(bagging(model(), MEMBERS, random_state=0).fit, X, targets[kind])
            for model in (getattr(ours, name), theirs(name))
        ]
        yield Cell(f"Bagging {name}", data.name, n, *best(fits, once))
    for label, tuned, peer, kind in _tuned():
        if not turns.wants(label):
            continue
        fits = [partial(model.fit, X, targets[kind]) for model in (tuned, peer)]
        yield Cell(label, data.name, n, *best(fits, turns))


def _search(model: Any, parameter: str, X: Any, y: np.ndarray) -> Any:
    return GridSearchCV(model, {parameter: _VALUES[parameter]}, cv=5).fit(X, y)


def _tuned() -> Iterator[tuple[str, Any, Any, str]]:
    """Our own way to tune, and what scikit-learn has for the same problem."""
    lasso = mm.Tuned(mm.Regressor("squared", "l1"), alphas=GRID)
    yield "Tuned lasso", lasso, linear_model.LassoCV(alphas=GRID, cv=5), "number"
    ridge = GridSearchCV(linear_model.Ridge(), {"alpha": _VALUES["alpha"]}, cv=5)
    yield "Tuned ridge", mm.Tuned(mm.Regressor("squared", "l2"), alphas=GRID), ridge, "number"
    logistic = linear_model.LogisticRegressionCV(
        Cs=GRID, l1_ratios=(0.0,), cv=5, scoring="neg_log_loss", use_legacy_attributes=False
    )
    yield "Tuned logistic", mm.Tuned(mm.Classifier("logistic"), alphas=GRID), logistic, "class"
