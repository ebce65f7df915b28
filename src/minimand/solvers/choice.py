"""Which columns to solve on next: by |∂ⱼL|/l1ⱼ, the ratio that also limits the dual point."""

from __future__ import annotations

import numpy as np

from .._typing import Array, IntArray
from ..certificate import Judgement
from ..objective import Objective
from ..penalties import Separable

_FEWEST = 100
_FEWEST_VIOLATORS = 50
_NEAR = 0.98  # share of the bound from which a forecast slope is expected to reach it


def _ratio(slope: Array, form: Separable) -> Array:
    """|slopeⱼ|/l1ⱼ; infinite for columns without an l1 part."""
    bounded = form.l1 > 0
    return np.where(bounded, np.abs(slope) / np.where(bounded, form.l1, 1.0), np.inf)


def _scores(judgement: Judgement, form: Separable) -> Array:
    """The ratio; infinite for columns that must be there."""
    score = _ratio(judgement.slope, form)
    score[judgement.point.w != 0] = np.inf
    return score


def best_columns(judgement: Judgement, form: Separable, size: int = _FEWEST) -> IntArray:
    """The support, free columns, and the best-scored others, at least ``size`` in all."""
    score = _scores(judgement, form)
    size = max(size, _FEWEST, int(np.isinf(score).sum()))
    if size >= score.size:
        return np.arange(score.size)
    return np.sort(np.argpartition(-score, size - 1)[:size])


def first_columns(objective: Objective, judgement: Judgement, form: Separable) -> IntArray:
    """To begin with: what a path forecasts, else a hundred dense columns or a share of sparse ones.

    Sweeps over sparse columns are cheap and find most of the support; dense columns must pay for a
    Gram. A quadratic loss is solved to the end on the first columns already, so it takes fewer.
    """
    if objective.memory is not None and objective.memory.forecast is not None:
        return expected_columns(objective, judgement, form)
    if objective.n_features <= _FEWEST or not objective.design.sparse:
        return best_columns(judgement, form)
    score = _scores(judgement, form)
    violators = np.flatnonzero(score > 1)
    violators = violators[np.argsort(-score[violators], kind="stable")]
    stored = np.cumsum(objective.design.column_sizes[violators])
    share = 5 if objective.loss.quadratic else 2
    count = int(np.searchsorted(stored, objective.design.nnz // share))
    least = max(_FEWEST, int(np.isinf(score).sum()))
    return np.sort(violators[:count]) if count > least else best_columns(judgement, form, least)


def expected_columns(objective: Objective, judgement: Judgement, form: Separable) -> IntArray:
    """Columns in the model and those that a path's forecast puts out of bounds."""
    wanted = (judgement.point.w != 0) | (form.l1 == 0)
    forecast = objective.memory.forecast if objective.memory else None
    if forecast is None:
        return np.union1d(np.flatnonzero(wanted), violating_columns(judgement, form))
    return np.flatnonzero(wanted | (np.abs(forecast.slope) >= _NEAR * form.l1))


def violating_columns(judgement: Judgement, form: Separable) -> IntArray:
    """The columns out of bounds, and a few that are nearly so."""
    ratio = _ratio(judgement.slope, form)
    count = min(max(_FEWEST_VIOLATORS, int((ratio > 1.0).sum())), ratio.size)
    return np.argpartition(-ratio, count - 1)[:count]
