"""Selects the columns to solve on next: by |∂ⱼL|/l1ⱼ, which also limits the dual point."""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array, IntArray
from ...canonical import movable
from ...certificate import Judgement
from ...penalties import Separable
from ...problem.objective import Objective

_FEWEST = 100  # columns of a working set at least; safeguard
_FEWEST_VIOLATORS = 50  # columns of a round at least, if fewer violate their bound; safeguard
_NEAR = 0.98  # share of the bound, from which a forecast slope is expected to reach it; safeguard


def support_size(form: Separable, w: Array) -> int:
    """The number of coefficients that are neither zero nor at a bound."""
    return int(np.count_nonzero((w != 0) & ~form.at_bound(w)))


def _scores(objective: Objective, judgement: Judgement, form: Separable) -> Array:
    """The ratio; infinite for columns that must be included."""
    score = np.abs(judgement.slope) / np.where(form.l1 > 0, form.l1, 1.0)
    score[movable(form, judgement.point.w)] = np.inf
    if form.bounds is not None:
        _score_at_bounds(score, objective, judgement, form)
    return score


def _score_at_bounds(
    score: Array, objective: Objective, judgement: Judgement, form: Separable
) -> None:
    """Adjust, in place, the scores of columns at a bound: only those that would leave it count.

    If the bound is zero and l1 > 0, the score is the ratio as before, for the remaining sign.
    Otherwise it is 1 plus the correlation of the column with the gradient.
    """
    assert form.bounds is not None
    w, slope, (lo, hi) = judgement.point.w, judgement.slope, form.bounds
    at_lo, at_hi = w <= lo, w >= hi
    full = slope + form.l2 * w + form.l1 * np.sign(w)
    inward = np.where(at_lo, -full, full) * ~(at_lo & at_hi)
    size = np.sqrt(objective.mean(judgement.terms.gradient**2)) * objective.root_spread
    graded = np.where(inward > 0, 1.0 + inward / np.where(size > 0, size, 1.0), 0.0)
    ratio = np.maximum(inward, 0.0) / np.where(form.l1 > 0, form.l1, 1.0)
    at = at_lo | at_hi
    score[at] = np.where((form.l1 > 0) & (w == 0), ratio, graded)[at]


def best_columns(
    objective: Objective, judgement: Judgement, form: Separable, size: int = _FEWEST
) -> IntArray:
    """The support, free columns, and the best-scored others, at least ``size`` in all."""
    if objective.n_features <= max(size, _FEWEST):
        return np.arange(objective.n_features)
    score = _scores(objective, judgement, form)
    size = max(size, _FEWEST, int(np.isinf(score).sum()))
    if size >= score.size:
        return np.arange(score.size)
    return np.sort(np.argpartition(-score, size - 1)[:size])


def first_columns(objective: Objective, judgement: Judgement, form: Separable) -> IntArray:
    """The first columns: a path's forecast, else a hundred dense columns or a share of sparse ones.

    Sweeps over sparse columns are cheap and find most of the support; dense columns need a Gram. A
    quadratic loss is solved to the end on the first columns already, so it takes fewer.
    """
    if objective.path_facts is not None and objective.path_facts.forecast is not None:
        return expected_columns(objective, judgement, form)
    if objective.n_features <= _FEWEST or not objective.design.sparse:
        return best_columns(objective, judgement, form)
    score = _scores(objective, judgement, form)
    violators = np.flatnonzero(score > 1)
    violators = violators[np.argsort(-score[violators], kind="stable")]
    stored = np.cumsum(objective.design.column_sizes[violators])
    share = 5 if objective.loss.quadratic else 2  # of the stored numbers; safeguard
    count = int(np.searchsorted(stored, objective.design.nnz // share))
    least = max(_FEWEST, int(np.isinf(score).sum()))
    return (
        np.sort(violators[:count])
        if count > least
        else best_columns(objective, judgement, form, least)
    )


def expected_columns(objective: Objective, judgement: Judgement, form: Separable) -> IntArray:
    """Columns in the model, and those that a path's forecast puts out of bounds."""
    forecast = objective.path_facts.forecast if objective.path_facts else None
    if forecast is None:
        return violating_columns(objective, judgement, form)
    wanted = movable(form, judgement.point.w) | (np.abs(forecast.slope) >= _NEAR * form.l1)
    return np.flatnonzero(wanted)


def violating_columns(objective: Objective, judgement: Judgement, form: Separable) -> IntArray:
    """Columns in the model or out of bounds, and a few that are nearly out of bounds."""
    score = _scores(objective, judgement, form)
    count = min(max(_FEWEST_VIOLATORS, int((score > 1.0).sum())), score.size)
    return np.argpartition(-score, count - 1)[:count]
