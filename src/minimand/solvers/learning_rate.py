"""The first step of stochastic training, by cross-validation on a sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import AnyArray
from ..objective import Objective
from .learner import Learner, Steps
from .search import recentred

_SAMPLE = 1000
_PASSES = 2
_FACTORS = (4.0, 2.0)  # climb in long strides first
_MOST = 20  # strides in one direction


def first_step(
    objective: Objective, rows: AnyArray, plan: Callable[[float], Steps], b: float
) -> float:
    """The step for which half of a sample, learnt in two passes, serves both halves best.

    Training starts from w = 0 and the intercept b.

    ``plan`` makes a schedule of a first step. From a guess on the scale of the data the search
    climbs by factors of 4, then of 2, while the held-out loss falls.
    """
    sample = rows[:_SAMPLE]
    halves = (sample[0::2], sample[1::2])
    if not halves[1].size:
        halves = (sample, sample)
    scores: dict[float, float] = {}

    def score(step: float) -> float:
        if step not in scores:
            scores[step] = sum(
                _held_out(objective, halves[i], halves[1 - i], plan(step), b) for i in (0, 1)
            )
        return scores[step]

    best = _guess(objective, sample, plan)
    for factor in _FACTORS:
        for direction in (factor, 1.0 / factor):
            for _ in range(_MOST):
                if not score(best * direction) < score(best):
                    break
                best *= direction
    return best


def _guess(objective: Objective, sample: AnyArray, plan: Callable[[float], Steps]) -> float:
    """Half of how far scores must move; divided by ‖x‖² where rates know nothing of the units."""
    spread = 1.0
    if objective.loss.target == "real":
        spread = float(np.std(objective.y[sample])) or 1.0
    if plan(1.0).adaptive:
        return 0.5 * spread
    rows = objective.design.rows(np.sort(sample))
    square = float(rows.row_squares(np.ones(1)).mean()) + objective.intercept
    return 0.5 / square if square > 0 else 0.5


def _held_out(
    objective: Objective, train: AnyArray, test: AnyArray, steps: Steps, b: float
) -> float:
    """The objective on some rows and on those that it was learnt from, in two passes."""
    train, test = np.sort(train), np.sort(test)
    part = objective.on_rows(train)
    learner = Learner.start(np.zeros(objective.n_features), b, steps.adaptive)
    order = np.arange(train.size, dtype=np.uint32)
    weight = np.ones(train.size)
    for _ in range(_PASSES):
        learner.learn(part, weight, order, steps)
    w, b = learner.model(part, average=np.isfinite(steps.average_from))
    # The objective on both halves: on rare features the other half alone would rather see nothing
    # learnt at all, and to minimise the objective is what the steps are for.
    seen = objective.on_rows(np.sort(np.concatenate([train, test])))
    value = seen.primal(recentred(seen, seen.point(w, b)))
    return value if np.isfinite(value) else np.inf
