"""Alternating directions for a loss with a proximal point and a penalty on singular values.

min Σ mass·ℓ(Z) + Ω(V) where Z = offset + X W + b and V = W, with multipliers ρU and τR of both:

    W, b  ←  argmin ½ρ‖offset + X W + b − Z + U‖² + ½τ‖W − V + R‖²      one linear system
    Z     ←  prox of ℓ/ρ at T + U, T = offset + X W + b                 row by row
    V     ←  prox of Ω/τ at W + R                                       on singular values
    U, R  ←  U + T − Z, R + W − V

ρU is a subgradient of ℓ at Z, so it is always in the dual's domain; V is the model. The system is
solved by a factor of G + τ/ρ, so that columns may have units of any sizes: directions of much
curvature are solved for at once, and those of little are not in the way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._base.linear_system import solver_for
from ..._base.typing import Array
from ...certificate import Judgement
from ...problem.objective import Objective
from .metric import Gram
from .quadratic_models import form_of

_WEIGHT = 3.0  # ρ in units of mean θ²/(2·scale); measured on absolute, quantile, hinge and tube
_RELAXED = 1.6  # factor of the steps of T and W; convention
_BALANCED = 4000  # rounds after which weights stay as they are, so that rounds converge; measured:
# wine, iris and breast cancer as they are; 1000 doubles the rounds of the last
_UNEVEN, _CHANGE = 2.0, 5.0  # factors of a weight: least worth a change, most at once; safeguard


class _Copy:
    """A copy of scores or coefficients, and the scaled multipliers of its being one."""

    def __init__(self, copy: Array, scaled: Array, weight: float) -> None:
        self.copy, self.scaled, self.weight = copy, scaled, max(weight, 1e-300)
        self.apart = self.moved = np.zeros_like(copy)

    @property
    def wanted(self) -> Array:
        """What the original should be."""
        return self.copy - self.scaled

    def follow(self, original: Array, prox: Callable[[Array, float], Array]) -> None:
        """Take the proximal point of the original, relaxed, plus the multipliers."""
        ahead = _RELAXED * original + (1.0 - _RELAXED) * self.copy + self.scaled
        new = prox(ahead, 1.0 / self.weight)
        self.apart, self.moved = original - new, new - self.copy
        self.scaled, self.copy = ahead - new, new

    def balance(self, sizes: tuple[float, float, float, float]) -> bool:
        """Change the weight if copies are far behind multipliers, or the reverse.

        ``sizes`` are those of the copy, the multipliers, and the two steps: each counts in its own
        unit. A copy that has not moved at all needs more weight.
        """
        copy, scaled, apart, moved = sizes
        if not apart > 0:
            return False
        factor = _CHANGE
        if moved * copy > 0:
            factor = float(np.sqrt(apart * scaled / (moved * copy)))
        if 1.0 / _UNEVEN <= factor <= _UNEVEN or not factor > 0:
            return False
        factor = float(np.clip(factor, 1.0 / _CHANGE, _CHANGE))
        self.weight, self.scaled = factor * self.weight, self.scaled / factor
        return True


class Alternating:
    """W and b, the copy Z of their scores, the copy V of W, and the scaled multipliers of both."""

    def __init__(self, objective: Objective, begin: Judgement) -> None:
        self.objective, self.form = objective, form_of(objective)
        self.metric = Gram(objective)
        gradient, w = begin.terms.gradient, begin.point.w
        steep = objective.row_total_of(np.square, gradient)
        weight = _WEIGHT * max(steep / (2.0 * max(objective.scale, 1e-300)), 1e-300)
        self.scores = _Copy(begin.point.z, gradient / weight, weight)
        self.rows = _Copy(w, np.zeros_like(w), weight * max(self.metric.middle, 1e-300))
        self.b = begin.point.b
        self._rounds = 0
        self._factorise()

    @property
    def w(self) -> Array:
        """The model V."""
        return self.rows.copy

    @property
    def theta(self) -> Array:
        """The multipliers of the scores."""
        return self.scores.weight * self.scores.scaled

    def _factorise(self) -> None:
        self._share = self.rows.weight / self.scores.weight
        self._solve = solver_for(self.metric.matrix + self._share * np.eye(len(self.metric.matrix)))

    def round(self) -> None:
        """One update of everything."""
        objective, scores, rows = self.objective, self.scores, self.rows
        wanted = scores.wanted
        if objective.offset is not None:
            wanted = wanted - objective.offset
        mean = objective.row_mean(wanted) if objective.intercept else objective.no_shift
        pull = objective.backward(objective.weigh(wanted - mean))
        w = self._solve(pull + self._share * rows.wanted)
        self.b = mean - self.metric.means @ w if objective.intercept else objective.no_shift
        scores.follow(
            objective.scores(w, self.b), lambda at, step: objective.loss.prox(at, objective.y, step)
        )
        rows.follow(w, self.form.prox)
        self._rounds += 1

    def balance(self) -> None:
        """Weigh copies of scores and of coefficients anew."""
        if self._rounds > _BALANCED:
            return
        scores, rows = self.scores, self.rows
        size, far = self._size, scores.copy - self.objective.null.z
        changed = scores.balance(
            (size(far), size(scores.scaled), size(scores.apart), size(scores.moved))
        )
        lengths = [float(np.linalg.norm(part)) for part in _parts(rows)]
        if rows.balance((lengths[0], lengths[1], lengths[2], lengths[3])) or changed:
            self._factorise()

    def _size(self, values: Array) -> float:
        return float(np.sqrt(self.objective.row_total_of(np.square, values)))


def _parts(copy: _Copy) -> tuple[Array, Array, Array, Array]:
    return copy.copy, copy.scaled, copy.apart, copy.moved
