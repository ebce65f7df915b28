"""What objective a scikit-learn model minimises, on our scale: mean loss + penalty.

Each adapter reads a model's parameters and gives the loss, the penalty and its factor. Total
weight S = Σs turns sums into means: Ridge's α‖w‖² beside Σ s·r² is (α/S)·½‖w‖² beside mean ½r².
`certify` and the drop-ins of `minimand.sklearn` share these readings, so each scale stands here
and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ._typing import AnyArray, Array
from .estimators.class_weights import weighted_by_class
from .estimators.data import check_numbers
from .estimators.problem import build
from .estimators.settings import Settings
from .losses import (
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Margin,
    PerceptronLoss,
    Pieces,
    Poisson,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Tweedie,
)
from .objective import Objective
from .penalties import L1, L2, NonNegative, NoPenalty, Penalty

Total = Callable[[], float]


@dataclass(frozen=True)
class Reading:
    """A model's objective; ``constant`` is the value of a penalised constant column, 0 if none."""

    loss: Loss
    penalty: Penalty
    alpha: Any  # a number, or one per output
    intercept: bool
    constant: float = 0.0
    labels: bool = False


@dataclass(frozen=True)
class Problem:
    """What a model minimises on given data: one objective per output, sharing the design."""

    objectives: list[Objective]
    settings: Settings  # of the first
    constant: float = 0.0

    def points(self, coef: Any, intercept: Any) -> tuple[Array, Array]:
        """Coefficients (k, d) and intercepts (k,) as the objectives have them."""
        coef = coef.toarray() if sparse.issparse(coef) else coef
        w = np.atleast_2d(np.asarray(coef, dtype=float))
        b = np.broadcast_to(np.ravel(np.asarray(intercept, dtype=float)), w.shape[:1])
        if self.constant:
            w, b = np.column_stack([w, b / self.constant]), np.zeros(w.shape[0])
        return w, b

    def attributes(self, w: Array, b: Array) -> tuple[Array, Array]:
        """The way back: what the model calls coefficients and intercepts."""
        return (w[:, :-1], w[:, -1] * self.constant) if self.constant else (w, b)


def problem_of(
    model: Any, X: Any, y: AnyArray, weights: Array | None, offset: Array | None = None
) -> Problem:
    """The problem of a scikit-learn model on data that have been checked."""
    name = check_known(model)
    weights = _WEIGHTS.get(name, _weighted)(model, y, weights)
    reading = read(model, lambda: float(X.shape[0] if weights is None else weights.sum()))
    if reading.constant:
        X = with_constant_column(X, reading.constant)
    targets = _targets(model, y, reading)
    for target in targets:
        reading.loss.check_target(target)
    alphas = _per_output(reading.alpha, len(targets))
    intercept = bool(reading.intercept) and not reading.constant
    settings = [Settings(reading.loss, reading.penalty, alpha) for alpha in alphas]
    first = build(settings[0], X, targets[0], weights, offset, intercept)
    if reading.constant:
        note = " (the intercept is a penalised column of X, as liblinear has it)"
        first = replace(first, words=first.words + note)
    kept = slice(None) if weights is None or weights.all() else np.flatnonzero(weights)
    others = [
        _for_output(first, settings[0], own, target[kept])
        for own, target in zip(settings[1:], targets[1:])
    ]
    return Problem([first, *others], settings[0], reading.constant)


def _for_output(first: Objective, shared: Settings, own: Settings, target: Array) -> Objective:
    """The first objective with another target, and another alpha if it has its own."""
    objective = first.with_target(target)
    if own.alpha == shared.alpha:
        return objective
    words = objective.words.replace(shared.words, own.words)
    return replace(objective, penalty=own.penalty.bind(first.n_features, own.alpha), words=words)


def _per_output(alpha: Any, n_outputs: int) -> list[float]:
    alphas = np.ravel(np.asarray(alpha, dtype=float))
    if alphas.size not in (1, n_outputs):
        raise ValueError(
            f"Number of targets and number of penalties do not correspond: {alphas.size} != "
            f"{n_outputs}; pass one alpha, or one per column of y."
        )
    return [float(a) for a in np.broadcast_to(alphas, n_outputs)]


def _weighted(model: Any, y: AnyArray, weights: Array | None) -> Array | None:
    return weighted_by_class(getattr(model, "class_weight", None), y, weights)


def _weighted_by_count(model: Any, y: AnyArray, weights: Array | None) -> Array | None:
    """RidgeClassifier balances the numbers of samples, whatever these weigh."""
    if y.ndim == 2 and model.class_weight is not None:
        raise ValueError(
            "class_weight needs one label per sample, but y has several columns: pass "
            "sample_weight instead."
        )
    factors = weighted_by_class(model.class_weight, y, None)
    if factors is None or weights is None:
        return factors if weights is None else weights
    return factors * weights


_WEIGHTS = {"RidgeClassifier": _weighted_by_count}


def read(model: Any, total: Total) -> Reading:
    """The objective of a scikit-learn model; ``total`` gives Σ sample weights when asked."""
    return _ADAPTERS[check_known(model)](model, total)


def check_known(model: Any) -> str:
    """The name of the scikit-learn class whose objective we know; refuses others in words."""
    for cls in type(model).__mro__:
        if cls.__module__.split(".")[0] == "sklearn" and cls.__name__ in _ADAPTERS:
            return cls.__name__
    if hasattr(model, "steps"):
        raise TypeError(
            "cannot certify a Pipeline: pass its last step, and X as the steps before transform it."
        )
    raise TypeError(
        f"cannot certify {type(model).__name__}: pass a fitted minimand estimator or one of "
        f"scikit-learn's {sorted(_ADAPTERS)}."
    )


def _signed(model: Any, penalty: Penalty) -> Penalty:
    """The penalty, with w ≥ 0 if the model was asked for positive coefficients."""
    return penalty + NonNegative() if model.positive else penalty


def _linear_regression(model: Any, total: Total) -> Reading:
    return Reading(Squared(), _signed(model, NoPenalty()), 0.0, model.fit_intercept)


def _ridge(model: Any, total: Total) -> Reading:
    alpha = np.asarray(model.alpha, dtype=float) / total()
    return Reading(Squared(), _signed(model, L2()), alpha, model.fit_intercept)


def _ridge_classifier(model: Any, total: Total) -> Reading:
    return replace(_ridge(model, total), labels=True)


def _ridge_cv(model: Any, total: Total) -> Reading:
    return Reading(Squared(), L2(), np.asarray(model.alpha_) / total(), model.fit_intercept)


def _lasso(model: Any, total: Total) -> Reading:
    return Reading(Squared(), _signed(model, L1()), float(model.alpha), model.fit_intercept)


def _elastic_net(model: Any, total: Total) -> Reading:
    penalty = net_penalty(model, model.l1_ratio)
    return Reading(Squared(), penalty, float(model.alpha), model.fit_intercept)


def net_penalty(model: Any, l1_ratio: float) -> Penalty:
    """The penalty of an elastic net at one of the ratios that it chooses from."""
    return _signed(model, _mix(l1_ratio))


def _lasso_cv(model: Any, total: Total) -> Reading:
    return Reading(Squared(), net_penalty(model, 1.0), float(model.alpha_), model.fit_intercept)


def _elastic_net_cv(model: Any, total: Total) -> Reading:
    penalty = net_penalty(model, model.l1_ratio_)
    return Reading(Squared(), penalty, float(model.alpha_), model.fit_intercept)


def _mix(l1_ratio: float) -> Penalty:
    """l1_ratio·‖w‖₁ + (1 − l1_ratio)·½‖w‖²."""
    return float(l1_ratio) * L1() + (1.0 - float(l1_ratio)) * L2()


def _logistic_regression(model: Any, total: Total) -> Reading:
    penalty = getattr(model, "penalty", "l2")
    ratio = getattr(model, "l1_ratio", None) or 0.0
    return _logistic(model, total, penalty, ratio, float(model.C))


def _logistic_regression_cv(model: Any, total: Total) -> Reading:
    """Without a choice of ratios, l1_ratio_ need not be one of them."""
    ratios = np.unique([0.0 if ratio is None else ratio for ratio in model.l1_ratios_])
    ratio = float(ratios[0] if ratios.size == 1 else np.ravel(model.l1_ratio_)[0])
    return _logistic(model, total, model.penalty, ratio, float(np.ravel(model.C_)[0]))


def _logistic(model: Any, total: Total, penalty: Any, ratio: float, C: float) -> Reading:
    if len(model.classes_) > 2:
        raise ValueError(
            "Only binary classification is supported. "
            f"{type(model).__name__} with {len(model.classes_)} classes is a multinomial model, "
            "which minimand cannot fit or certify yet: take two classes at a time, or "
            "minimand.Classifier for one versus rest."
        )
    by_name: dict[Any, Penalty] = {None: NoPenalty(), "l1": L1(), "l2": L2()}
    # scikit-learn ≥ 1.8 deprecates `penalty` in favour of l1_ratio alone.
    form = by_name.get(penalty, _mix(ratio))
    unpenalised = penalty is None or not np.isfinite(C)
    alpha = 0.0 if unpenalised else 1.0 / (C * total())
    constant = 0.0
    if model.solver == "liblinear" and model.fit_intercept:
        constant = float(model.intercept_scaling)
    return Reading(Logistic(), form, alpha, model.fit_intercept, constant, labels=True)


def _poisson(model: Any, total: Total) -> Reading:
    return Reading(Poisson(), L2(), float(model.alpha), model.fit_intercept)


def _gamma(model: Any, total: Total) -> Reading:
    return Reading(Gamma(), L2(), float(model.alpha), model.fit_intercept)


def _tweedie(model: Any, total: Total) -> Reading:
    """The log link for powers from 1 to 2, the identity link for the normal law of power 0."""
    link = model.link if model.link != "auto" else "identity" if model.power <= 0 else "log"
    loss: Loss
    if link == "log" and 1 <= model.power <= 2:
        loss = Tweedie(float(model.power))
    elif link == "identity" and model.power == 0:
        loss = Squared()
    else:
        raise ValueError(
            f"cannot certify TweedieRegressor with power={model.power!r} and link={link!r}: its "
            "deviance is convex for powers from 1 to 2 with the log link, and for power 0 with "
            "the identity."
        )
    return Reading(loss, L2(), float(model.alpha), model.fit_intercept)


def _sgd(model: Any, total: Total) -> Reading:
    penalties: dict[Any, Penalty] = {
        "l2": L2(),
        "l1": L1(),
        "elasticnet": (model.l1_ratio or 0.0) * L1() + (1 - (model.l1_ratio or 0.0)) * L2(),
        None: NoPenalty(),
    }
    losses: dict[str, Loss] = {
        "hinge": Hinge(),
        "squared_hinge": SquaredHinge(),
        "perceptron": PerceptronLoss(),
        "log_loss": Logistic(),
        "modified_huber": _ModifiedHuber(),
        "squared_error": Squared(),
        "huber": Huber(model.epsilon),
        "epsilon_insensitive": EpsilonInsensitive(model.epsilon),
        "squared_epsilon_insensitive": SquaredEpsilonInsensitive(model.epsilon),
    }
    penalty, labels = penalties[model.penalty], hasattr(model, "classes_")
    fitted = bool(model.fit_intercept)
    return Reading(losses[model.loss], penalty, float(model.alpha), fitted, labels=labels)


class _ModifiedHuber(Margin):
    """max(0, 1 − m)² for m ≥ −1, −4m beyond."""

    pieces = Pieces([-1.0, 1.0], [-4.0, -4.0, 0.0], [0.0, 2.0, 0.0], base=4.0)


_ADAPTERS: dict[str, Callable[[Any, Total], Reading]] = {
    "LinearRegression": _linear_regression,
    "Ridge": _ridge,
    "RidgeClassifier": _ridge_classifier,
    "RidgeCV": _ridge_cv,
    "Lasso": _lasso,
    "ElasticNet": _elastic_net,
    "LassoCV": _lasso_cv,
    "ElasticNetCV": _elastic_net_cv,
    "LassoLarsIC": _lasso_cv,
    "LogisticRegression": _logistic_regression,
    "LogisticRegressionCV": _logistic_regression_cv,
    "PoissonRegressor": _poisson,
    "SGDClassifier": _sgd,
    "SGDRegressor": _sgd,
    "GammaRegressor": _gamma,
    "TweedieRegressor": _tweedie,
}


def with_constant_column(X: Any, constant: float) -> Any:
    """[X constant·1], for solvers that penalise the intercept as one more coefficient."""
    column = np.full((X.shape[0], 1), constant)
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_matrix(column)], format="csr")
    return np.hstack([np.asarray(X, dtype=float), column])


def _targets(model: Any, y: AnyArray, reading: Reading) -> list[Array]:
    """y as the loss wants it, one vector per output: ±1 by the model's own classes, or numbers."""
    if not reading.labels:
        columns = check_numbers(y)
        columns = columns[:, None] if columns.ndim == 1 else columns
        return [np.ascontiguousarray(column) for column in columns.T]
    if y.ndim == 2:  # several labels per sample, each of them yes or no
        return [np.where(column > 0, 1.0, -1.0) for column in y.T]
    unknown = ~np.isin(y, model.classes_)
    if unknown.any():
        raise ValueError(
            f"y holds labels that the model has never seen: {np.unique(y[unknown])!r}."
        )
    if len(model.classes_) == 1:
        return [np.full(y.shape[0], -1.0)]
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    return [np.where(y == label, 1.0, -1.0) for label in classes]
