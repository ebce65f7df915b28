"""Parameters beside alpha: the combinations of a grid, checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from ..losses import Loss
from .samples import Samples, present_for

_ELSEWHERE = {
    "alpha": "it is chosen along the path of every combination: pass alphas=",
    "max_seconds": "it is for all combinations together: set it on the estimator",
}
_LONGEST = 200  # characters of another library's error message that are shown; safeguard
# Scores z at which the transforms of two losses are compared; safeguard: any few would do.
_SCORES = np.array([-3.0, -1.0, 0.0, 0.5, 2.0])


class Combination(NamedTuple):
    """Some parameters by name, and the estimator with these parameters."""

    params: dict[str, Any]
    estimator: Any


def combinations_of(estimator: Any, grid: Any) -> list[Combination]:
    """All combinations of a grid, checked; a single one without parameters if there is no grid."""
    if grid is None:
        estimator._checked_settings()
        return [Combination({}, estimator)]
    for part in [grid] if isinstance(grid, Mapping) else _listed(grid):
        _check_part(part)
    return [_combination(estimator, params) for params in ParameterGrid(grid)]


def _listed(grid: Any) -> list[Any]:
    found = list(grid) if isinstance(grid, Iterable) and not isinstance(grid, str) else []
    if not found:
        raise ValueError(
            "grid must be a dict of lists, such as {'loss__delta': [1, 10]}, or a list of such "
            f"dicts, not {grid!r}."
        )
    return found


def _check_part(part: Any) -> None:
    """Check one dict of a grid: names of parameters, and lists of their values."""
    if not isinstance(part, Mapping) or not all(isinstance(name, str) for name in part):
        raise ValueError(f"grid must hold names of parameters and lists of values, not {part!r}.")
    for name, values in part.items():
        if name in _ELSEWHERE:
            raise ValueError(f"grid cannot search {name}, as {_ELSEWHERE[name]}.")
        is_list = isinstance(values, list | tuple | np.ndarray) and np.ndim(values) != 0
        if not is_list or len(values) == 0:
            raise ValueError(f"grid[{name!r}] must be a list of values to try, not {values!r}.")


def _combination(estimator: Any, params: dict[str, Any]) -> Combination:
    try:
        changed = clone(estimator).set_params(**params)
        changed._checked_settings()
    except (TypeError, ValueError, AttributeError) as error:
        reason = shorten(str(error).split(". ")[0], _LONGEST, placeholder=" …").rstrip(".")
        raise ValueError(f"grid with {words_of(params)} is refused: {reason}.") from error
    return Combination(params, changed)


def words_of(params: Mapping[str, Any]) -> str:
    """Parameters in one line."""
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def measure_of(estimator: Any, combinations: list[Combination]) -> Loss | None:
    """The loss that compares models with different losses: the estimator's own as it was passed.

    None if all combinations have that loss. Losses whose scores have another meaning are refused.
    """
    own = estimator._checked_settings().loss
    losses = [each.estimator._checked_settings().loss for each in combinations]
    if all(loss == own for loss in losses):
        return None
    if own.undecided:
        raise ValueError(
            f"scoring=None compares by the loss of the estimator, {own!r}, whose scale every "
            "combination finds anew: give it a number, or pass a scoring."
        )
    for combination, loss in zip(combinations, losses):
        if not np.array_equal(loss.transform(_SCORES.copy()), own.transform(_SCORES.copy())):
            raise ValueError(
                f"scoring=None compares by the loss of the estimator, {own!r}, which says nothing "
                f"of the scores of {words_of(combination.params)}: pass a scoring by predictions."
            )
    return own


def check_same_samples(combination: Combination, samples: Samples, present: Samples) -> None:
    """Refuse a combination that would leave out other samples than the estimator does."""
    own, everything = present_for(combination.estimator, samples), np.arange(len(samples))
    if not np.array_equal(own.weighted(everything), present.weighted(everything)):
        raise ValueError(
            f"grid with {words_of(combination.params)} leaves out classes that the estimator does "
            "not, so their scores cannot be compared: search weights that are not zero."
        )
