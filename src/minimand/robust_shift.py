"""The best intercept for a loss that is not convex: the lowest of many local minima."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._typing import Array
from .losses import Loss, RobustLoss

_MOST = 256  # candidates
_EFFORT = 4_000_000  # values of the loss that may be computed to compare them
_FINALISTS = 3
_STEPS = 200
_AROUND = np.array([-20.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 20.0])

Refine = Callable[[Loss, Array, Array, Array], float]


def robust_shift(loss: RobustLoss, z: Array, y: Array, mass: Array, refine: Refine) -> float:
    """The b with the least Σ mass·ℓ(z + b, y), among the minima next to many candidates.

    ``refine(loss, z, y, mass)`` is the best shift of a convex loss: of the tangent at z, the base
    loss with sample weights, from where the objective falls to a minimum of its own.
    """

    def height(b: float) -> float:
        return float(mass @ loss.value(z + b, y))

    candidates = _candidates(loss, z, y)
    order = np.argsort([height(b) for b in candidates], kind="stable")
    best, least = 0.0, height(0.0)
    for start in candidates[order[:_FINALISTS]]:
        b, value = float(start), height(float(start))
        for _ in range(_STEPS):
            step = refine(loss.base, z + b, y, mass * loss.weights(z + b, y))
            # A tangent's minimum stops short of the objective's: look twice as far, too.
            at, new = min((height(b + t * step), b + t * step) for t in (1.0, 2.0))
            gain = value - at
            if gain > 0:
                b, value = new, at
            if not gain > 1e-12 * abs(value):
                break
        if value < least:
            best, least = b, value
    return best


def _candidates(loss: RobustLoss, z: Array, y: Array) -> Array:
    """Shifts that fit single samples: all of them, or quantiles where there are many."""
    single = -z if loss.target == "sign" else y - z
    count = int(np.clip(_EFFORT // max(z.size, 1), 16, _MOST))
    single = np.unique(single)
    if single.size > count:
        single = np.quantile(single, np.linspace(0.0, 1.0, count), method="nearest")
    if loss.target != "sign":
        return single
    few = single[:: max(1, single.size // 16)]
    return np.unique(np.append(single, few[:, None] + _AROUND))
