"""Rounds of a working set on the Gram that a path remembers: for the squared loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import Array, IntArray
from ..canonical import Quadratic
from ..certificate import Judgement, judge
from ..objective import Objective, Point
from ..penalties import Separable
from ..remembered_gram import RememberedGram
from ..threads import one_blas_thread
from .base import Control

_FEWEST = 50
_ROUNDS = 1000
_NEAR = 0.98  # share of the bound from which a slope is expected to reach it
_STEPS = 100
_SWEEPS = 10
_SHARE = 0.2  # of the gap that may be left, for errors of the model on its columns


def applies(objective: Objective, most: int) -> bool:
    """Whether there is a Gram to remember, and room for the columns this problem may need."""
    if objective.memory is None or not objective.loss.quadratic or objective.design.sparse:
        return False
    form = objective.penalty.separable
    # The working set itself minds bounds.
    return form is not None and form.bounds is None and min(objective.design.shape) <= most


def rounds(
    objective: Objective, form: Separable, judgement: Judgement, control: Control
) -> Iterator[Judgement]:
    """Meet the columns that are out of bounds or soon will be, solve, look at all of them."""
    gram = _gram_of(objective)
    columns = _expected(objective, form, judgement)
    forecast = objective.memory.forecast if objective.memory else None
    start = judgement.point.w if forecast is None else forecast.w
    for _ in range(_ROUNDS):
        gram.add(columns)
        with one_blas_thread():
            point = _solve(objective, form, gram, start, control)
        start = point.w
        judgement = judge(objective, point, known=[judgement.dual])
        yield judgement
        columns = _violating(form, judgement.slope)


def _gram_of(objective: Objective) -> RememberedGram:
    assert objective.memory is not None
    if objective.memory.gram is None:
        gradient = objective.loss.gradient(objective.null.z, objective.y)
        objective.memory.gram = RememberedGram(
            objective.design, objective.mass, objective.intercept, gradient
        )
    return objective.memory.gram


def _expected(objective: Objective, form: Separable, judgement: Judgement) -> IntArray:
    """Columns in the model, out of bounds now, or out of bounds by the forecast."""
    assert objective.memory is not None
    forecast = objective.memory.forecast
    slope = np.abs(judgement.slope)
    wanted = (judgement.point.w != 0) | (form.l1 == 0)
    if forecast is None:
        return np.union1d(np.flatnonzero(wanted), _violating(form, slope))
    wanted |= np.abs(forecast.slope) >= _NEAR * form.l1
    return np.flatnonzero(wanted)


def _violating(form: Separable, slope: Array) -> IntArray:
    """The columns furthest out of bounds, and some that are nearly so."""
    score = np.abs(slope) / np.where(form.l1 > 0, form.l1, 1e-300)
    count = min(max(_FEWEST, int((score > 1.0).sum())), score.size)
    return np.argpartition(-score, count - 1)[:count]


def _solve(
    objective: Objective, form: Separable, gram: RememberedGram, start: Array, control: Control
) -> Point:
    """Descent and Newton steps on the Gram; then the scores, computed afresh."""
    w = np.zeros(gram.capacity)
    count = gram.columns.size
    w[:count] = start[gram.columns]
    inner = _padded(form.take(gram.columns), gram.capacity)
    model = Quadratic(gram.gram, gram.linear)
    for _ in range(_STEPS):
        model.descend(inner, w, _SWEEPS, 1e-3 * control.target)
        if _shortfall(inner, w, model.slope(w)) <= _SHARE * control.target or control.expired:
            break
        model.polish(inner, w)
    full = np.zeros_like(start)
    full[gram.columns] = w[:count]
    scores = objective.scores(full, 0.0)
    b = objective.mean(objective.y - scores) if objective.intercept else 0.0
    return Point(full, b, scores + b)


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
