"""Whether an epoch of stochastic training has helped."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.typing import AnyArray, Array
from ...problem.objective import Objective
from ...solvers.stochastic.learner import Learner, Steps


class Progress:
    """The number that must decrease: the mean objective of an epoch, or 1 − the held-out score.

    The objective of an epoch is the mean loss of its rows, each before its step, plus the mean of
    the penalty before and after the epoch: no further pass is needed.

    Parameters
    ----------
    model : estimator
        ``early_stopping`` is read, and whether it is a classifier.
    X, held_out : matrix and boolean mask
    """

    def __init__(self, model: Any, X: Any, held_out: AnyArray) -> None:
        self.by_score, self.labels = bool(model.early_stopping), hasattr(model, "classes_")
        self.X, self.held_out = X, held_out

    def of_epoch(
        self, objective: Objective, learner: Learner, weight: Array, order: AnyArray, steps: Steps
    ) -> float:
        """Learn the rows in this order; returns the number above, infinite after an overflow."""
        if self.by_score:
            learner.learn(objective, weight, order, steps)
            return self._score(objective, *learner.model(objective, average=False))
        with np.errstate(over="ignore", invalid="ignore"):  # steps that were too long
            before = objective.penalty.value(learner.model(objective, average=False)[0])
            learner.learn(objective, weight, order, steps._replace(add_up=True))
            after = objective.penalty.value(learner.model(objective, average=False)[0])
            value = float(learner.paid()[0]) / max(order.size, 1) + 0.5 * (before + after)
        return value if np.isfinite(value) else np.inf

    def _score(self, objective: Objective, w: Array, b: float) -> float:
        """1 − accuracy, or 1 − R², on the held-out rows."""
        held = self.held_out
        z, y, mass = objective.point(w, b).z[held], objective.y[held], objective.mass[held]
        if self.labels:
            return float(mass @ ((z > 0) != (y > 0)) / mass.sum())
        centred = y - mass @ y / mass.sum()
        return float(mass @ (z - y) ** 2 / max(mass @ centred**2, 1e-300))  # safeguard: constant y
