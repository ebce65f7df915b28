"""Rounds of a working set on the Gram that a path remembers: for the squared loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array
from ...canonical import Quadratic
from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.objective import Objective, Point
from ...problem.path_gram import RememberedGram
from ..base import Control
from .column_choice import expected_columns, violating_columns

MOST_COLUMNS = 5000  # of a Gram that a path remembers

_ROUNDS = 1000
_STEPS = 100
_SWEEPS = 10
_SHARE = 0.2  # of the gap that may be left, for errors of the model on its columns
_LITTLE = 5e-3  # share of that, which a sweep gains when there is no point in another one


def applies(objective: Objective, form: Separable) -> bool:
    """Whether there is a Gram to remember, and room for the columns this problem may need."""
    if objective.memory is None or not objective.loss.quadratic or objective.design.sparse:
        return False
    if form.bounds is not None:
        return False
    return min(objective.design.shape) <= MOST_COLUMNS


def rounds(
    objective: Objective, form: Separable, judgement: Judgement, control: Control
) -> Iterator[Judgement]:
    """Meet the columns that are out of bounds or soon will be, solve, look at all of them."""
    gram = gram_of(objective)
    columns = expected_columns(objective, judgement, form)
    forecast = objective.memory.forecast if objective.memory else None
    start = judgement.point.w if forecast is None else forecast.w
    for _ in range(_ROUNDS):
        gram.add(columns)
        point = _solve(objective, form, gram, start, control)
        start = point.w
        judgement = judge(objective, point, known=[judgement.dual])
        yield judgement
        columns = violating_columns(objective, judgement, form)


def gram_of(objective: Objective) -> RememberedGram:
    """The one that the problems of a path share."""
    assert objective.memory is not None
    if objective.memory.gram is None:
        gradient = objective.loss.gradient(objective.null.z, objective.y)
        objective.memory.gram = RememberedGram(
            objective.design, objective.mass, objective.intercept, gradient
        )
    return objective.memory.gram


def _solve(
    objective: Objective, form: Separable, gram: RememberedGram, start: Array, control: Control
) -> Point:
    """The minimiser on the Gram; then the scores, computed afresh."""
    w = minimised(form, gram, start, _SHARE * control.target, control)
    scores = objective.scores(w, 0.0)
    b = objective.mean(objective.y - scores) if objective.intercept else 0.0
    return Point(w, b, scores + b)


def minimised(
    form: Separable, gram: RememberedGram, start: Array, tol: float, control: Control
) -> Array:
    """Descent and Newton steps on the Gram until about ``tol`` is left of the gap there."""
    w = np.zeros(gram.capacity)
    count = gram.columns.size
    w[:count] = start[gram.columns]
    inner = _padded(form.take(gram.columns), gram.capacity)
    model = Quadratic(gram.gram, gram.linear)
    for _ in range(_STEPS):
        model.descend(inner, w, _SWEEPS, _LITTLE * tol)
        if _shortfall(inner, w, model.slope(w)) <= tol or control.expired:
            break
        model.polish(inner, w)
    full = np.zeros_like(start)
    full[gram.columns] = w[:count]
    return full


def _shortfall(form: Separable, w: Array, slope: Array) -> float:
    """About what the gap of this model on its columns will be.

    Slopes beyond l1 make the dual point shrink, which costs that share of Ω; a slope on the
    support that does not balance the penalty costs its product with the coefficient.
    """
    rest = slope + form.l2 * w
    bounded = form.l1 > 0
    excess = np.max(np.abs(rest[bounded]) / form.l1[bounded], initial=1.0) - 1.0
    return float(excess * form.value(w) + np.abs((rest + form.l1 * np.sign(w)) * w).sum())


def _padded(form: Separable, size: int) -> Separable:
    """With a penalty that keeps coefficients beyond the columns at zero."""
    more = size - form.l1.size
    return Separable(np.append(form.l1, np.ones(more)), np.append(form.l2, np.zeros(more)))
