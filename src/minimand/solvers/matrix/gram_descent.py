"""Accelerated proximal steps on ½⟨W, GW⟩ − ⟨B, W⟩ + Ω(W), Ω a function of singular values.

G is a d×d matrix, so a step costs a product of it and a decomposition of W, whatever the number of
samples is. The momentum is dropped when it points uphill, which makes convergence linear.

The optimum has V = B − GW in ∂Ω(W). If V₀ is the subgradient nearest to V, then with G·E = V − V₀
the gap of W is at most ½⟨E, GE⟩: the square of the error, where scaling V into the domain of Ω*
leaves a gap of the size of the error itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ...penalties import SingularValues
from ...penalties.spectral import Factors
from .metric import Metric

_LOOKS = 1.3  # ratio of the steps after which the gap is estimated; safeguard
_FIRST_LOOK = 4  # steps; safeguard
_SHORTER, _LONGER = 2.0, 0.98  # factors of the curvature after too long a step, or not; safeguard


class Correction(NamedTuple):
    """A step E of W that makes V a subgradient, and the estimated gap ½⟨E, GE⟩."""

    step: Array
    gap: float


def correction(metric: Metric, penalty: SingularValues, at: Factors, pull: Array) -> Correction:
    """The correction of a model W with V = ``pull``."""
    wrong = pull - penalty.nearest_subgradient(at, pull)
    step = metric.solve(wrong)
    return Correction(step, 0.5 * float(np.vdot(step, metric.times(step))))


class Descent:
    """A model W, by its factors and as a matrix, that goes downhill step by step."""

    def __init__(
        self, metric: Metric, linear: Array, penalty: SingularValues, start: Array
    ) -> None:
        self.metric, self.linear, self.penalty = metric, linear, penalty
        self.w, self.image = start, metric.times(start)
        self.factors: Factors | None = None
        self._ahead, self._ahead_image = self.w, self.image
        self._momentum, self._top = 1.0, metric.top

    @property
    def pull(self) -> Array:
        """V = B − GW."""
        return self.linear - self.image

    def step(self) -> None:
        """One proximal step from the extrapolated point, and the next extrapolation."""
        while True:
            top = max(self._top, 1e-300)
            at = self._ahead + (self.linear - self._ahead_image) / top
            factors = self.penalty.shrunk(at, 1.0 / top)
            new = factors.matrix.reshape(at.shape)
            image = self.metric.times(new)
            moved, bent = new - self._ahead, image - self._ahead_image
            # The parabola of curvature ``top`` must lie above the objective between both points.
            # A step whose numbers overflow ends here, too.
            if not float(np.vdot(moved, bent)) > (1.0 + 1e-9) * top * float(np.vdot(moved, moved)):
                break
            self._top *= _SHORTER
        if float(np.vdot(self._ahead - new, new - self.w)) > 0:
            self._momentum = 1.0
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self._momentum**2))
        share = (self._momentum - 1.0) / next_momentum
        self._ahead = new + share * (new - self.w)
        self._ahead_image = image + share * (image - self.image)
        self.w, self.image, self.factors = new, image, factors
        self._momentum, self._top = next_momentum, _LONGER * self._top

    def run(
        self, enough: Callable[[Correction], bool], most: int, stop: Callable[[], bool]
    ) -> Correction:
        """Steps until an estimate of the gap is enough; the last estimate."""
        look = _FIRST_LOOK
        for taken in range(1, most + 1):
            self.step()
            if taken < look and taken < most and not stop():
                continue
            assert self.factors is not None
            found = correction(self.metric, self.penalty, self.factors, self.pull)
            if enough(found) or stop():
                break
            look = max(taken + 1, round(_LOOKS * taken))
        return found
