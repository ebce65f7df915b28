"""Training of conditional random fields over chains, with a certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...._base.typing import Array
from ...base import Control
from ..course import Course, Trained
from ..own_columns import chain_on_own_columns
from ..problem import ChainProblem, ChainWeights
from .descent import LARGEST, descend, points
from .metric import balanced
from .penalised import ChainModel

# One sequence in so many gives a first start; measured: on 8936 sentences of CoNLL-2000 a third
# needs a fifth less time than an eighth, which gives too large weights; elsewhere the two differ by
# 10 %.
_PART = 3
_MANY = 1300  # sequences of such a part, from which it is worth it; measured there and on OCR words
_ROUGH = 0.03  # share of the scale, the gap of that start; measured on CoNLL-2000 and OCR words


def train_crf(
    problem: ChainProblem, control: Control, start: ChainWeights | None = None
) -> Trained:
    """Weights that minimise the mean negative log-likelihood plus the penalty, to a certified gap.

    The gap is that of the marginals as a dual point (see `penalised`), and is computed anew, from
    the returned weights, at the end. Limits, callbacks and Ctrl-C leave a valid model with its true
    gap; without a penalty the only bound is that no loss is negative.
    """
    problem, own = chain_on_own_columns(problem)
    problem.design.ready_for_scores(min(control.memory, LARGEST))
    model = ChainModel(problem)
    course = Course(problem, control, "crf", model.likelihood.null_value())
    w = np.zeros(problem.layout.size)
    if start is not None:
        w = balanced(problem, problem.layout.vector(own.of_chain(start)))

    def prepare(w: Array) -> Array:
        return w if start is not None else _rough_start(problem, w, course)

    found = descend(model, course, w, prepare)
    return replace(found, weights=own.whole_chain(problem.layout.weights(found.weights)))


def _rough_start(problem: ChainProblem, w: Array, course: Course) -> Array:
    """Weights that are nearly optimal for a part of many sequences; w itself if they are few."""
    if problem.n_sequences < _PART * _MANY or course.control.max_iter is not None:
        return w
    part = problem.on_sequences(_PART)
    model = ChainModel(part)
    for point in points(model, w, course):
        w = point.w
        if point.gap <= _ROUGH * course.scale or course.control.expired:
            break
    problem.meter.passes += part.meter.passes / _PART
    return w
