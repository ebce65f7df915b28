"""Whether an epoch of stochastic training has helped."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ..._base.typing import AnyArray, Array
from ...canonical.row_steps import EpochCourse, EpochRule
from ...problem.objective import Objective
from ...solvers.stochastic.learner import Learner, Steps


class Progress:
    """The number that must decrease: the mean objective of an epoch, or 1 − the held-out score.

    The objective of an epoch is the mean of what its rows pay before their steps (`Learner.paid`),
    which is scikit-learn's rule.

    Parameters
    ----------
    model : estimator
        ``early_stopping`` is read, and whether it is a classifier.
    X, held_out : matrix and boolean mask
    """

    def __init__(self, model: Any, X: Any, held_out: AnyArray) -> None:
        self.by_score, self.labels = bool(model.early_stopping), hasattr(model, "classes_")
        self.X, self.held_out = X, held_out

    def next(
        self,
        objective: Objective,
        learner: Learner,
        weight: Array,
        rows: AnyArray,
        steps: Steps,
        when: EpochRule,
        course: EpochCourse,
    ) -> EpochCourse:
        """One epoch more, or as many as one compiled call may take."""
        alone = not (self.by_score or self.held_out.any())
        if alone and (most := learner.short_epochs(objective, steps)):
            few = when._replace(most=min(most, when.most - course.done))
            return learner.learn_epochs(objective, weight, rows, steps, few, course)
        if when.shuffle:
            _core.shuffle_rows(rows, when.seed)  # the last order, shuffled again
        order = rows[~self.held_out[rows]]
        learner.learn(objective, weight, order, steps)
        if when.tol == -np.inf:
            return course._replace(done=course.done + 1)
        value = float(learner.paid()[0]) / max(order.size, 1)
        if self.by_score:
            value = self._score(objective, *learner.model(objective, average=False))
        value = value if np.isfinite(value) else np.inf  # steps that were too long
        waited = course.waited + 1 if value > course.best - when.tol else 0
        return EpochCourse(course.done + 1, min(course.best, value), waited)

    def _score(self, objective: Objective, w: Array, b: float) -> float:
        """1 − accuracy, or 1 − R², on the held-out rows."""
        held = self.held_out
        z, y, mass = objective.point(w, b).z[held], objective.y[held], objective.mass[held]
        if self.labels:
            return float(mass @ ((z > 0) != (y > 0)) / mass.sum())
        centred = y - mass @ y / mass.sum()
        return float(mass @ (z - y) ** 2 / max(mass @ centred**2, 1e-300))  # safeguard: constant y
