"""An estimator's parameters, checked: every bad one gets one sentence that names it."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..losses import REGISTRY as LOSSES
from ..losses import Loss
from ..penalties import REGISTRY as PENALTIES
from ..penalties import Penalty


@dataclass(frozen=True)
class Settings:
    """The parts of the problem that do not depend on data."""

    loss: Loss
    penalty: Penalty
    alpha: float

    @property
    def words(self) -> str:
        """The objective as a formula."""
        formula = self.penalty.formula(self.alpha) if self.alpha else "0"
        penalty = "" if formula == "0" else f" + {formula}"
        return f"mean {self.loss.name}{penalty}"


def check_settings(estimator: Any) -> Settings:
    """Validate the constructor's arguments of an estimator."""
    loss = LOSSES.get(estimator.loss)
    loss.check_parameters()
    penalty = PENALTIES.get(estimator.penalty)
    alpha = _real("alpha", estimator.alpha, low=0.0)
    _real("tol", estimator.tol, low=0.0)
    for name in ("max_seconds", "memory"):
        if getattr(estimator, name) is not None:
            _real(name, getattr(estimator, name), low=0.0)
    if estimator.max_iter is not None and (
        not isinstance(estimator.max_iter, numbers.Integral) or estimator.max_iter < 1
    ):
        raise ValueError(f"max_iter must be None or an integer ≥ 1, not {estimator.max_iter!r}.")
    if not isinstance(estimator.intercept, bool | np.bool_):
        raise ValueError(f"intercept must be True or False, not {estimator.intercept!r}.")
    for callback in estimator.callbacks or ():
        if not callable(callback) and not hasattr(callback, "on_fit_task_end"):
            raise TypeError(f"callbacks must be callables, but {callback!r} is not.")
    return Settings(loss, penalty, alpha)


def _real(name: str, value: Any, low: float) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or value < low:
        raise ValueError(f"{name} must be a finite number ≥ {low:g}, not {value!r}.")
    return float(value)
