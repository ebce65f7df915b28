"""Whether an epoch of stochastic training has helped."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..design import as_design
from ..objective import Objective, dot
from ..solvers.learner import Learner, Steps

_PARTS, _MANY_PARTS = 8, 32  # of an epoch, after each of which the model is looked at
_MANY = 5000  # rows
_LOOK = 8  # times d: what a look at the model costs, in stored numbers of a pass


class Progress:
    """What must fall from epoch to epoch: the objective along it, or 1 − the held-out score.

    The model after an epoch depends on its last rows. So the objective is that of several models on
    the way, each on another part of the rows, which together takes one pass.

    Parameters
    ----------
    model : estimator
        ``early_stopping`` is read, and whether it has classes.
    X, held_out : matrix and boolean mask
    """

    def __init__(self, model: Any, X: Any, held_out: AnyArray) -> None:
        self.by_score, self.labels = bool(model.early_stopping), hasattr(model, "classes_")
        self.X, self.held_out = X, held_out
        n = X.shape[0]
        affordable = max(as_design(X).nnz // (_LOOK * X.shape[1]), 1)
        count = min(_PARTS if n < _MANY else _MANY_PARTS, n, affordable)
        ends = np.linspace(0, n, count + 1).astype(int)
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        self.designs = [] if self.by_score else [as_design(X[part]) for part in self.parts]

    def of_epoch(
        self, objective: Objective, learner: Learner, weight: Array, order: AnyArray, steps: Steps
    ) -> float:
        """Learn the rows in this order, and say how well that went; infinite after an overflow."""
        if self.by_score:
            learner.learn(objective, weight, order, steps)
            return self._score(objective, *learner.model(objective, average=False))
        value = 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # steps that were too long
            chunks = np.array_split(order, len(self.parts))
            for rows, part, design in zip(chunks, self.parts, self.designs):
                learner.learn(objective, weight, rows, steps)
                w, b = learner.model(objective, average=False)
                loss = objective.loss.value(design.matvec(w) + b, objective.y[part])
                value += dot(objective.mass[part], loss)
                value += objective.penalty.value(w) / len(self.parts)
        return value if np.isfinite(value) else np.inf

    def _score(self, objective: Objective, w: Array, b: float) -> float:
        """1 − the share of right signs, or 1 − R², on the held-out rows."""
        held = self.held_out
        z, y, mass = objective.point(w, b).z[held], objective.y[held], objective.mass[held]
        if self.labels:
            return float(mass @ ((z > 0) != (y > 0)) / mass.sum())
        centred = y - mass @ y / mass.sum()
        return float(mass @ (z - y) ** 2 / max(mass @ centred**2, 1e-300))
