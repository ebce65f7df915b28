"""What objective a fitted scikit-learn model minimised, on our scale: mean loss + penalty.

Each adapter reads a model's parameters and gives the loss, the penalty and its factor. Total
weight S = Σs turns sums into means: Ridge's α‖w‖² beside Σ s·r² is (α/S)·½‖w‖² beside mean ½r².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import Array
from .losses import Gamma, Logistic, Loss, Poisson, Squared, Tweedie
from .penalties import L1, L2, NonNegative, NoPenalty, Penalty


@dataclass(frozen=True)
class Reading:
    """A model's objective; ``constant`` is the value of a penalised constant column, 0 if none."""

    loss: Loss
    penalty: Penalty
    alpha: float
    intercept: bool
    constant: float = 0.0
    labels: bool = False


def read(model: Any, total: Callable[[], float]) -> Reading:
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


def _linear_regression(model: Any, total: Callable[[], float]) -> Reading:
    return Reading(Squared(), _signed(model, NoPenalty()), 0.0, model.fit_intercept)


def _ridge(model: Any, total: Callable[[], float]) -> Reading:
    alpha = np.unique(np.asarray(model.alpha, dtype=float))
    if alpha.size != 1:
        raise ValueError("cannot certify Ridge with one alpha per target yet.")
    factor = float(alpha[0]) / total()
    return Reading(Squared(), _signed(model, L2()), factor, model.fit_intercept)


def _lasso(model: Any, total: Callable[[], float]) -> Reading:
    return Reading(Squared(), _signed(model, L1()), float(model.alpha), model.fit_intercept)


def _elastic_net(model: Any, total: Callable[[], float]) -> Reading:
    penalty = _signed(model, _mix(model.l1_ratio))
    return Reading(Squared(), penalty, float(model.alpha), model.fit_intercept)


def _mix(l1_ratio: float) -> Penalty:
    """l1_ratio·‖w‖₁ + (1 − l1_ratio)·½‖w‖²."""
    return float(l1_ratio) * L1() + (1.0 - float(l1_ratio)) * L2()


def _logistic_regression(model: Any, total: Callable[[], float]) -> Reading:
    if len(model.classes_) > 2:
        raise ValueError(
            f"cannot certify {type(model).__name__} with {len(model.classes_)} classes yet: "
            "it fits a multinomial model; audit two classes at a time."
        )
    penalty = getattr(model, "penalty", "l2")
    ratio = getattr(model, "l1_ratio", None) or 0.0
    by_name: dict[Any, Penalty] = {None: NoPenalty(), "l1": L1(), "l2": L2()}
    # scikit-learn ≥ 1.8 deprecates `penalty` in favour of l1_ratio alone.
    form = by_name.get(penalty, _mix(ratio))
    unpenalised = penalty is None or not np.isfinite(model.C)
    alpha = 0.0 if unpenalised else 1.0 / (float(model.C) * total())
    constant = 0.0
    if model.solver == "liblinear" and model.fit_intercept:
        constant = float(model.intercept_scaling)
    return Reading(Logistic(), form, alpha, model.fit_intercept, constant, labels=True)


def _poisson(model: Any, total: Callable[[], float]) -> Reading:
    return Reading(Poisson(), L2(), float(model.alpha), model.fit_intercept)


def _gamma(model: Any, total: Callable[[], float]) -> Reading:
    return Reading(Gamma(), L2(), float(model.alpha), model.fit_intercept)


def _tweedie(model: Any, total: Callable[[], float]) -> Reading:
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


_ADAPTERS: dict[str, Callable[[Any, Callable[[], float]], Reading]] = {
    "LinearRegression": _linear_regression,
    "Ridge": _ridge,
    "Lasso": _lasso,
    "ElasticNet": _elastic_net,
    "LogisticRegression": _logistic_regression,
    "PoissonRegressor": _poisson,
    "GammaRegressor": _gamma,
    "TweedieRegressor": _tweedie,
}


def with_constant_column(X: Any, constant: float) -> Any:
    """[X constant·1], for solvers that penalise the intercept as one more coefficient."""
    from scipy import sparse

    column = np.full((X.shape[0], 1), constant)
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_matrix(column)], format="csr")
    return np.hstack([np.asarray(X, dtype=float), column])


def as_target(model: Any, y: Any, reading: Reading) -> Array:
    """y as the loss wants it: ±1 by the model's own classes, else numbers."""
    if not reading.labels:
        return np.ascontiguousarray(y, dtype=np.float64)
    unknown = ~np.isin(y, model.classes_)
    if unknown.any():
        raise ValueError(
            f"y holds labels that the model has never seen: {np.unique(y[unknown])!r}."
        )
    return np.where(y == model.classes_[1], 1.0, -1.0)
