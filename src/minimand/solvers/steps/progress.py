"""Whether a solver still makes progress."""

from __future__ import annotations

import numpy as np

from ...certificate import Judgement


class Progress:
    """Whether a convex solver still makes progress: its goal may lie below the rounding.

    A residual of 1 matters to a robust loss however large y is, but the rounding of a tangent
    problem grows with y. ``patience`` is the number of iterations that may pass without progress.
    """

    def __init__(self, target: float, patience: int) -> None:
        self._target, self._patience = target, patience
        self._gap, self._primal, self._idle = np.inf, np.inf, 0

    def ended(self, judgement: Judgement) -> bool:
        """Whether several iterations have lowered neither the gap nor the objective."""
        # Shares of the target and of P: least progress; safeguard.
        noise = max(0.01 * self._target, 1e-13 * abs(judgement.primal))
        # Factor of the gap; safeguard.
        moved = judgement.gap < 0.9 * self._gap or judgement.primal < self._primal - noise
        self._idle = 0 if moved else self._idle + 1
        self._gap = min(self._gap, judgement.gap)
        self._primal = min(self._primal, judgement.primal)
        return self._idle >= self._patience
