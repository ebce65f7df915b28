"""An estimator's parameters, checked: every bad one gets one sentence that names it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import shorten
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._base.wording import brief
from ..kernels import REGISTRY as KERNELS
from ..kernels import Kernel, kernel_of
from ..losses import REGISTRY as LOSSES
from ..losses import Loss
from ..penalties import REGISTRY as PENALTIES
from ..penalties import Penalty
from ..solvers import REGISTRY as SOLVERS
from .callbacks import is_sklearn_callback

_LONGEST = 150  # characters of a map in words; safeguard: a pipeline may have many steps
_MIXED = "penalty=l1_ratio * minimand.L1() + (1 - l1_ratio) * minimand.L2()"
_STEPS = "solver=minimand.solvers.Sgd(…), which has the options of stochastic steps"
ELSEWHERE = {  # other libraries' names of parameters, and what to write here
    **dict.fromkeys(("C", "c"), "alpha=1/(C*n_samples), since alpha multiplies the penalty here"),
    **dict.fromkeys(
        ("lambda_", "lam", "reg", "reg_lambda", "reg_param", "regularization"), "alpha=…"
    ),
    "fit_intercept": "intercept=…",
    "l1_ratio": _MIXED,
    "positive": "penalty=minimand.NonNegative(), or a sum such as L1() + NonNegative()",
    **dict.fromkeys(
        ("epsilon", "eps"), "loss=minimand.EpsilonInsensitive(eps=…) or Huber(delta=…)"
    ),
    "delta": "loss=minimand.Huber(delta=…)",
    "quantile": "loss=minimand.Quantile(q=…)",
    "power": "loss=minimand.Tweedie(power=…)",
    **dict.fromkeys(("eta0", "learning_rate", "batch_size", "early_stopping"), _STEPS),
    "n_jobs": "threadpoolctl.threadpool_limits(…) around fit, as threads are used where they help",
    "max_epochs": "max_iter=…",
}


@dataclass(frozen=True)
class Settings:
    """The parts of the problem that do not depend on data."""

    loss: Loss
    penalty: Penalty
    alpha: float | None  # None: 1/Σs, which `at` replaces by a number
    features: str = ""  # the map φ in words; empty where the columns are those of X
    intercept: bool = True
    class_weight: Any = None  # as the estimator has it; None for regression

    @property
    def factor(self) -> float:
        """Alpha; it must not be None any more."""
        assert self.alpha is not None
        return self.alpha

    def at(self, alpha: float) -> Settings:
        """The same settings, with this alpha if none was given."""
        return replace(self, alpha=alpha) if self.alpha is None else self

    @property
    def words(self) -> str:
        """The objective as a formula."""
        return self.words_at(self.factor)

    def words_with_score(self, alpha: float, *, offset: bool, intercept: bool) -> str:
        """The objective and the score as formulas."""
        linear = "φ(X) w" if self.features else "X w"
        score = " + ".join(["offset"] * offset + [linear] + ["b"] * intercept)
        note = f", φ = {self.features}" if self.features else ""
        return f"{self.words_at(alpha)}, z = {score}{note}"

    def words_at(self, alpha: float) -> str:
        """The objective as a formula, at another alpha."""
        formula = self.penalty.words(alpha)
        return self._mean_loss if formula == "0" else f"{self._mean_loss} + {formula}"

    @cached_property
    def _mean_loss(self) -> str:
        return self.loss.name if self.loss.unit == "set" else f"mean {self.loss.name}"


def check_settings(estimator: Any) -> Settings:
    """Validate the constructor's arguments of an estimator."""
    loss = LOSSES.get(estimator.loss)
    loss.check_parameters()
    if loss.refusal:
        raise ValueError(f"loss={loss!r} cannot be minimised: {loss.refusal}.")
    penalty = PENALTIES.get(estimator.penalty)
    alpha = None if estimator.alpha is None else check_real("alpha", estimator.alpha, low=0.0)
    check_limits(estimator)
    if estimator.solver != "auto":
        check_solver(estimator.solver)
    if estimator.random_state is not None:
        check_seed(estimator.random_state)
    if estimator.callbacks is not None:
        check_callbacks(estimator.callbacks)
    words = ""
    if estimator.features is not None:
        words = _checked_features(estimator.features)
        if kernel_of(estimator.features) is not None:
            _check_function_of_norm(penalty, words, joint=loss.joint)
    weight = getattr(estimator, "class_weight", None)
    return Settings(loss, penalty, alpha, words, bool(estimator.intercept), weight)


def loss_of(estimator: Any) -> Loss | None:
    """The loss that the parameters name; None if the name is not valid, which a fit refuses."""
    try:
        return LOSSES.get(estimator.loss)
    except ValueError:
        return None


def penalty_of(estimator: Any) -> Penalty | None:
    """The penalty that the parameters name; None if the name is not valid."""
    try:
        return PENALTIES.get(estimator.penalty)
    except ValueError:
        return None


def with_found_scale(settings: Settings, known: Loss | None) -> Settings:
    """The settings with the scale that an earlier fit has found, if the loss needs one.

    Without such a fit the loss is refused: the scale needs the residuals of all samples, and a
    batch has only its own.
    """
    loss = settings.loss
    if loss.undecided and known is not None and _is_with_numbers(known, loss):
        return replace(settings, loss=known)
    for name in loss.undecided:
        raise ValueError(
            f"{name}='auto' of {type(loss).__name__} needs all samples at once: pass a number to "
            "learn from batches."
        )
    return settings


def _is_with_numbers(loss: Loss, asked: Loss) -> bool:
    """Whether ``loss`` is ``asked`` with numbers in place of its "auto" parameters."""
    return (
        type(loss) is type(asked)
        and loss.copy(**{name: getattr(asked, name) for name in asked.undecided}) == asked
    )


def check_limits(estimator: Any) -> None:
    """Check the limits and switches of an estimator, those that it has."""
    check_real("tol", getattr(estimator, "tol", 0.0), low=0.0)
    for name in ("max_seconds", "memory"):
        if getattr(estimator, name, None) is not None:
            check_real(name, getattr(estimator, name), low=0.0)
    most = getattr(estimator, "max_iter", None)
    if most is not None and (
        not isinstance(most, numbers.Integral) or isinstance(most, bool) or most < 1
    ):
        raise ValueError(f"max_iter must be None or an integer ≥ 1, not {most!r}.")
    for name in ("intercept", "warm_start", "verbose"):
        # 0 and 1 are accepted as switches: scikit-learn's verbose is a number.
        switch = getattr(estimator, name, False)
        if not isinstance(switch, (bool, np.bool_, numbers.Integral)):
            raise ValueError(f"{name} must be True or False, not {switch!r}.")


def check_solver(solver: Any) -> None:
    """Check a solver: a known name, or an object with valid options."""
    if not (isinstance(solver, str) and solver == SOLVERS.special):
        SOLVERS.get(solver).check_parameters()


def check_seed(random_state: Any) -> None:
    """Check ``random_state`` as scikit-learn does."""
    try:
        check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be None, an integer ≥ 0 or a numpy RandomState, "
            f"not {random_state!r}."
        ) from error


def _check_function_of_norm(penalty: Penalty, kernel: str, *, joint: bool) -> None:
    """Refuse penalties of single coefficients: a function of a kernel has only its norm.

    With a ``joint`` loss the scores are one function, whose norm is that of all of them.
    """
    try:
        bound = penalty.bind((2, 2) if joint or penalty.couples_scores else 2, 1.0)
    except ValueError:  # weights or groups of features
        bound = None
    if bound is None or bound.function_of_norm is None:
        raise ValueError(
            f"penalty={penalty!r} is no function of the norm ‖f‖ alone, but features={kernel} is a "
            "kernel, whose functions have no coefficients to penalise one by one: take L2() or "
            "L2Ball(), or explicit features such as Nystrom(kernel) or RandomFourier(kernel)."
        )


def _checked_features(features: Any) -> str:
    """The map in one short line; a map that is learnt with the model gives its own formula."""
    if isinstance(features, str | Kernel):
        kernel = KERNELS.get(features, "features")
        kernel.check_parameters()
        return shorten(str(kernel), _LONGEST, placeholder=" …")
    if isinstance(features, type):
        raise TypeError(f"features must be an object, not a class: pass {features.__name__}().")
    if callable(features) and not hasattr(features, "transform"):
        raise TypeError(
            f"features must be a kernel or a transformer, not a function: for a kernel function of "
            f"X and Z pass minimand.Callable({getattr(features, '__name__', 'function')})."
        )
    if not hasattr(features, "fit_transform") or not hasattr(features, "transform"):
        raise TypeError(f"features must have fit_transform and transform, not {features!r}.")
    if hasattr(features, "check_parameters"):  # a minimand map
        features.check_parameters()
    if getattr(features, "learnt", False) is True:
        return ""
    return shorten(str(features), _LONGEST, placeholder=" …")


def check_callbacks(callbacks: Any) -> None:
    """Check that ``callbacks`` is a list of functions or of scikit-learn's callbacks."""
    if callable(callbacks) or is_sklearn_callback(callbacks) or not isinstance(callbacks, Iterable):
        raise TypeError(f"callbacks must be a list, not {callbacks!r}: put a single one in a list.")
    for callback in callbacks:
        if isinstance(callback, type):
            raise TypeError(
                f"callbacks must hold objects, not classes: pass {callback.__name__}()."
            )
        if not callable(callback) and not is_sklearn_callback(callback):
            raise TypeError(f"callbacks must be callables, but {callback!r} is not.")


def check_real(name: str, value: Any, low: float, *, above: bool = False) -> float:
    """A finite number of at least ``low``, or ``above`` it."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < low or (above and value == low):
        sign = ">" if above else "≥"
        raise ValueError(f"{name} must be a finite number {sign} {low:g}, not {value!r}.")
    return float(value)


def check_whole(name: str, value: Any, low: int = 1, high: int | None = None) -> int:
    """An integer of at least ``low``, and at most ``high`` if that is given."""
    is_number = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    if not is_number or value < low:
        raise ValueError(f"{name} must be an integer ≥ {low}, not {brief(value)}.")
    if high is not None and value > high:
        raise ValueError(f"{name} must be at most {high}, not {value}.")
    return int(value)
