"""Alternating directions for a loss with a proximal point and a penalty on singular values.

min Σ mass·ℓ(Z) + Ω(W) where Z = offset + X W + b, with multipliers θ = ρU of that constraint:

    W, b  ←  argmin Ω(W) + ½ρ‖offset + X W + b − Z + U‖²      on the Gram matrix
    Z     ←  prox of ℓ at T + U, T = offset + X W + b           row by row
    U     ←  U + T − Z

θ is a subgradient of ℓ at Z, so it is always in the dual's domain.
"""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement
from ...problem.objective import Objective
from .gram_descent import Descent
from .metric import Gram
from .quadratic_models import form_of

_WEIGHT = 3.0  # ρ in units of mean θ²/(2·scale); measured on absolute, quantile, hinge and tube
_RELAXED = 1.6  # factor of the step of T; convention
_STEPS = 3, 6  # proximal steps on W per round: at first, and later; measured as for `_WEIGHT`
_EARLY = 50  # rounds that are early; safeguard
_BALANCED = 1000  # rounds after which ρ stays as it is; safeguard: then they converge
_UNEVEN, _CHANGE = 2.0, 5.0  # factors of ρ: least worth a change, most at once; safeguard


class Alternating:
    """W and b, the copy Z of their scores, and the scaled multipliers U."""

    def __init__(self, objective: Objective, begin: Judgement) -> None:
        self.objective, self.form = objective, form_of(objective)
        self.metric = Gram(objective)
        gradient = begin.terms.gradient
        steep = objective.row_total_of(np.square, gradient)
        self.weight = _WEIGHT * max(steep / (2.0 * max(objective.scale, 1e-300)), 1e-300)
        self.w, self.b, self.copy = begin.point.w, begin.point.b, begin.point.z
        self.scaled = gradient / self.weight
        self._rounds = 0
        self._apart = self._moved = np.zeros_like(self.copy)  # T − Z, and the last step of Z

    @property
    def theta(self) -> Array:
        """The multipliers."""
        return self.weight * self.scaled

    def round(self) -> None:
        """One update of everything."""
        objective = self.objective
        wanted = self.copy - self.scaled
        if objective.offset is not None:
            wanted = wanted - objective.offset
        mean = objective.row_mean(wanted) if objective.intercept else objective.no_shift
        pull = objective.backward(objective.weigh(wanted - mean))
        descent = Descent(self.metric, pull, self.form.times(1.0 / self.weight), self.w)
        for _ in range(_STEPS[self._rounds >= _EARLY]):
            descent.step()
        self.w = descent.w
        self.b = mean - self.metric.means @ self.w if objective.intercept else objective.no_shift
        moved = _RELAXED * objective.scores(self.w, self.b) + (1.0 - _RELAXED) * self.copy
        copy = objective.loss.prox(moved + self.scaled, objective.y, 1.0 / self.weight)
        self.scaled = self.scaled + moved - copy
        self._apart, self._moved = moved - copy, copy - self.copy
        self.copy = copy
        self._rounds += 1

    def balance(self) -> None:
        """Change ρ if scores are far behind multipliers, or the reverse, each in its own size."""
        if self._rounds > _BALANCED:
            return
        size = self._size(self.copy - self.objective.null.z), self._size(self.scaled)
        wrong = self._size(self._apart) * size[1], self._size(self._moved) * size[0]
        if not min(*wrong) > 0:
            return
        factor = float(np.sqrt(wrong[0] / wrong[1]))
        if not 1.0 / _UNEVEN <= factor <= _UNEVEN:
            factor = float(np.clip(factor, 1.0 / _CHANGE, _CHANGE))
            self.weight, self.scaled = factor * self.weight, self.scaled / factor

    def _size(self, values: Array) -> float:
        return float(np.sqrt(self.objective.row_total_of(np.square, values)))
