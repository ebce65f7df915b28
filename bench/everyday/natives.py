"""Losses of Regressor and Classifier with L1, L2 and no penalty, at the gap of scikit-learn's.

scikit-learn's model of the same objective is fitted at its defaults, and its relative gap measured
by the bound of a fit of ours at a tol of 1e-9. Then ours is timed at this gap as its tol. Where
scikit-learn has no such model, or has one that penalises the intercept, the cell has our
milliseconds, or both go without an intercept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import linear_model, svm

import minimand as mm
from minimand.estimators.prepare import copy_of, posed

from .cells import Cell, Turns, best
from .data import Data
from .drop_ins import MOST

PENALTIES = ("l1", "l2", "no_penalty")
SIZES = ("442×10", "2000×20", "5000×100", "2000×5000 sparse")  # and those that are drawn
_SHARE = 0.05  # of alpha_max: some columns matter
_TIGHTEST, _LOOSEST = 1e-9, 1e-2  # relative gaps at which ours is timed
Make = Callable[[float, int], Any]


class Twin(NamedTuple):
    """scikit-learn's model of the same objective, from alpha and the number of rows."""

    make: Make
    intercept: bool = True
    most: float = np.inf  # stored numbers, up to which it takes seconds


def _logistic(alpha: float, n: int, **more: Any) -> Any:
    C = np.inf if alpha == 0 else 1 / (n * alpha)
    return linear_model.LogisticRegression(C=C, **more)


def _svc(alpha: float, n: int, **more: Any) -> Any:
    return svm.LinearSVC(C=1 / (n * alpha), fit_intercept=False, **more)


def _svr(alpha: float, n: int, **more: Any) -> Any:
    return svm.LinearSVR(C=1 / (n * alpha), fit_intercept=False, **more)


def _quantile(q: float, factor: float) -> Twin:
    def make(alpha: float, n: int) -> Any:
        return linear_model.QuantileRegressor(quantile=q, alpha=factor * alpha)

    return Twin(make, most=MOST["QuantileRegressor"])


def _deviance(name: str, **more: Any) -> Twin:
    return Twin(lambda alpha, n: getattr(linear_model, name)(alpha=alpha, **more))


LOSSES: dict[str, tuple[Any, str]] = {
    "squared": ("squared", "number"),
    "huber": ("huber", "number"),
    "lp 1.5": (mm.Lp(1.5), "number"),
    "absolute": ("absolute", "number"),
    "quantile .9": (mm.Quantile(0.9), "number"),
    "quantiles": ("quantiles", "number"),
    "chebyshev": ("chebyshev", "number"),
    "epsilon_insensitive": ("epsilon_insensitive", "number"),
    "squared_epsilon_insensitive": ("squared_epsilon_insensitive", "number"),
    "truncated_squared": ("truncated_squared", "number"),
    "geman_mcclure": (mm.GemanMcClure(), "number"),
    "poisson": ("poisson", "count"),
    "tweedie": ("tweedie", "count"),
    "gamma": ("gamma", "positive"),
    "cross_entropy": ("cross_entropy", "share"),
    "logistic": ("logistic", "class"),
    "hinge": ("hinge", "class"),
    "squared_hinge": ("squared_hinge", "class"),
    "exponential": ("exponential", "class"),
    "squared_margin": ("squared_margin", "class"),
    "perceptron_loss": ("perceptron_loss", "class"),
    "tanh_margin": ("tanh_margin", "class"),
    "multinomial": ("multinomial", "classes"),
    "crammer_singer": ("crammer_singer", "classes"),
    "ranking": ("ranking", "classes"),
    "weighted_ranking": ("weighted_ranking", "classes"),
    "top_k": (mm.TopK(2), "classes"),
}  # all but zero_one, which cannot be minimised
TWINS: dict[tuple[str, str], Twin] = {
    ("squared", "l1"): Twin(lambda alpha, n: linear_model.Lasso(alpha=alpha)),
    ("squared", "l2"): Twin(lambda alpha, n: linear_model.Ridge(alpha=n * alpha)),
    ("squared", "no_penalty"): Twin(lambda alpha, n: linear_model.LinearRegression()),
    ("absolute", "l1"): _quantile(0.5, 0.5),
    ("absolute", "no_penalty"): _quantile(0.5, 0.5),
    ("quantile .9", "l1"): _quantile(0.9, 1.0),
    ("quantile .9", "no_penalty"): _quantile(0.9, 1.0),
    ("absolute", "l2"): Twin(partial(_svr, epsilon=0.0), False),
    ("epsilon_insensitive", "l2"): Twin(partial(_svr, epsilon=0.1), False),
    ("squared_epsilon_insensitive", "l2"): Twin(
        partial(_svr, epsilon=0.1, loss="squared_epsilon_insensitive", dual=False), False
    ),
    ("poisson", "l2"): _deviance("PoissonRegressor"),
    ("poisson", "no_penalty"): _deviance("PoissonRegressor"),
    ("tweedie", "l2"): _deviance("TweedieRegressor", power=1.5),
    ("tweedie", "no_penalty"): _deviance("TweedieRegressor", power=1.5),
    ("gamma", "l2"): _deviance("GammaRegressor"),
    ("gamma", "no_penalty"): _deviance("GammaRegressor"),
    ("logistic", "l1"): Twin(
        partial(_logistic, l1_ratio=1.0, solver="liblinear", fit_intercept=False), False
    ),
    ("logistic", "l2"): Twin(_logistic),
    ("logistic", "no_penalty"): Twin(_logistic),
    ("hinge", "l2"): Twin(partial(_svc, loss="hinge"), False),
    ("squared_hinge", "l1"): Twin(partial(_svc, penalty="l1", dual=False), False),
    ("squared_hinge", "l2"): Twin(_svc, False),
    ("multinomial", "l2"): Twin(_logistic),
    ("multinomial", "no_penalty"): Twin(_logistic),
}


def cells(data: Data, turns: Turns) -> Iterator[Cell]:
    """Every loss with every penalty, at some sizes."""
    if not (data.drawn or data.name in SIZES):
        return
    for loss in LOSSES:
        for penalty in PENALTIES:
            if penalty == "no_penalty" and (data.wide or sparse.issparse(data.X)):
                continue  # many minimisers, or none
            if not turns.wants(_label(loss, penalty)):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield _cell(loss, penalty, data, turns)


def _cell(name: str, penalty: str, data: Data, turns: Turns) -> Cell:
    loss, kind = LOSSES[name]
    X, y = data.X, data.targets[kind]
    n, twin = X.shape[0], TWINS.get((name, penalty))
    if twin is not None and data.numbers > twin.most:
        twin = None
    make = mm.Classifier if kind.startswith("class") else mm.Regressor
    free = twin is None or twin.intercept
    model = make(loss, penalty, intercept=free)
    alpha = {"l2": 1.0 / n, "no_penalty": 0.0}.get(penalty)
    model.alpha = _SHARE * mm.alpha_max(model, X, y) if alpha is None else alpha
    label = _label(name, penalty)
    if twin is None:
        (seconds,) = best([partial(model.fit, X, y)], turns)
        return Cell(label, data.name, n, seconds)
    peer = twin.make(model.alpha, n).fit(X, y)
    gap = gap_of(peer, model, X, y)
    model.tol = float(np.clip(gap, _TIGHTEST, _LOOSEST))
    times = best([partial(model.fit, X, y), partial(peer.fit, X, y)], turns)
    return Cell(label, data.name, n, *times, gap)


def _label(loss: str, penalty: str) -> str:
    return f"{loss}, {penalty.replace('no_penalty', 'none')}"


def gap_of(peer: Any, model: Any, X: Any, y: np.ndarray) -> float:
    """(P(peer) − D)/scale, D the bound of a fit of ours; infinite for a model that overflows."""
    exact = copy_of(model).set_params(tol=_TIGHTEST).fit(X, y)
    (objective,) = posed(copy_of(model), X, y).objectives
    w, b = np.squeeze(peer.coef_), np.squeeze(peer.intercept_)
    if objective.n_scores > 1:
        w, b = np.ascontiguousarray(peer.coef_.T), np.ravel(peer.intercept_)
    w = np.array(w, dtype=float).reshape(objective.coef_shape)
    b = np.array(b, dtype=float) if objective.n_scores > 1 else float(b)
    value = objective.primal(objective.point(w, b if objective.intercept else objective.no_shift))
    found = (value - exact.certificate_.dual) / objective.scale
    return float(found) if np.isfinite(found) else np.inf
