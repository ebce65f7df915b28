"""The candidates of LogisticRegressionCV, from old and new parameters."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.typing import Array


@dataclass(frozen=True)
class Candidates:
    """The grid, and how to report it."""

    Cs: Array
    ratios: list[Any]  # [None] if none were given
    penalty: str
    scoring: Any
    legacy: bool

    @property
    def unasked(self) -> bool:
        """Whether no l1_ratios were given."""
        return self.ratios == [None]

    def read(self, ratio: Any) -> float:
        """The effective l1_ratio: a named penalty overrides it."""
        named = {"l1": 1.0, "l2": 0.0}
        return named.get(self.penalty, 0.0 if ratio is None else float(ratio))


def candidates_of(model: Any) -> Candidates:
    """Read the parameters, with scikit-learn's deprecation warnings."""
    asked = None if _is_warn(model.l1_ratios) else model.l1_ratios
    _warn(model)
    penalty = model.penalty
    if penalty == "deprecated":
        unique = [0.0] if asked is None else np.unique(np.asarray(asked)).tolist()
        penalty = {(0.0,): "l2", (1.0,): "l1"}.get(tuple(unique), "elasticnet")
    elif asked is not None and penalty != "elasticnet":
        _say(
            "l1_ratios parameter is only used when penalty is 'elasticnet'. Got "
            f"(penalty={penalty})",
            UserWarning,
        )
    if penalty == "elasticnet" and not _are_ratios(asked):
        raise ValueError(
            f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={asked!r})"
        )
    ratios = [None] if asked is None else list(asked)
    scoring = None if _is_warn(model.scoring) else model.scoring
    legacy = bool(getattr(model, "use_legacy_attributes", True))  # "warn" means legacy
    return Candidates(_strengths(model.Cs), ratios, penalty, scoring or "accuracy", legacy)


def _strengths(Cs: Any) -> Array:
    if isinstance(Cs, numbers.Integral):
        return np.logspace(-4, 4, int(Cs))  # powers of ten; convention: scikit-learn's
    values = np.ravel(np.asarray(Cs, dtype=float))
    if not values.size or not (values > 0).all():
        raise ValueError(f"Cs must be positive numbers, at least one, or how many; got {Cs!r}.")
    return values


def _are_ratios(ratios: Any) -> bool:
    return (
        ratios is not None
        and len(ratios) > 0
        and all(isinstance(r, numbers.Real) and 0 <= float(r) <= 1 for r in ratios)
    )


def _is_warn(value: Any) -> bool:
    return isinstance(value, str) and value == "warn"


def _warn(model: Any) -> None:
    if _is_warn(model.l1_ratios):
        _say(
            "The default value for l1_ratios will change from None to (0.0,) in version 1.10. "
            "From version 1.10 onwards, only array-like with values in [0, 1] will be allowed, "
            "None will be forbidden. To avoid this warning, explicitly set a value, e.g. "
            "l1_ratios=(0,)."
        )
    # From 1.8 on, "deprecated" is the default of penalty.
    new = type(model).__init__.__kwdefaults__.get("penalty") == "deprecated"
    if new and model.penalty != "deprecated":
        _say(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this "
            "warning, leave 'penalty' set to its default value and use 'l1_ratios' and 'Cs' "
            "instead. Use l1_ratios=(0,) instead of penalty='l2', l1_ratios=(1,) instead of "
            "penalty='l1', l1_ratios set to floats between 0 and 1 instead of "
            "penalty='elasticnet', and Cs=(np.inf,) instead of penalty=None."
        )
    elif new and model.l1_ratios is None:
        _say(
            "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. "
            "Use an array-like with values in [0, 1] instead."
        )
    if _is_warn(model.scoring):
        _say(
            "The default value of the parameter 'scoring' will change from None, i.e. accuracy, "
            "to 'neg_log_loss' in version 1.11. To silence this warning, explicitly set the "
            "scoring parameter: scoring='neg_log_loss' for the new, scoring='accuracy' or "
            "scoring=None for the old default."
        )
    if _is_warn(getattr(model, "use_legacy_attributes", None)):
        _say(
            f"The fitted attributes of {type(model).__name__} will be simplified in scikit-learn "
            "1.10 to remove redundancy. Set `use_legacy_attributes=False` to enable the new "
            "behavior now, or set it to `True` to silence this warning during the transition "
            "period while keeping the deprecated behavior for the time being. The default value "
            "of use_legacy_attributes will change from True to False in scikit-learn 1.10."
        )


def _say(text: str, category: type[Warning] = FutureWarning) -> None:
    warnings.warn(text, category, stacklevel=7)
