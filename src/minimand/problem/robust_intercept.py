"""The best intercept for a non-convex loss: the lowest of many local minima."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from .._base.typing import Array
from ..losses import Loss

_MOST = 256  # candidates; safeguard
_EFFORT = 4_000_000  # values of the loss computed to compare candidates; safeguard
_FINALISTS = 3  # candidates whose minima are refined; safeguard
# Distances from a score of zero, for sign targets; convention.
_AROUND = np.array([-20.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 20.0])


def robust_shift(loss: Loss, z: Array, y: Array, mass: Array) -> float:
    """The b with the least Σ mass·ℓ(z + b, y), among the minima next to many candidates."""

    def height(b: float) -> float:
        return float(mass @ loss.value(z + b, y))

    candidates = _candidates(loss, z, y)
    heights = np.array([height(b) for b in candidates])
    order = np.argsort(heights, kind="stable")
    best, least = float(candidates[order[0]]), heights[order[0]]
    for k in order[:_FINALISTS]:
        lo, hi = candidates[max(k - 1, 0)], candidates[min(k + 1, candidates.size - 1)]
        if not lo < hi:
            continue
        found = optimize.minimize_scalar(
            height, bounds=(lo, hi), method="bounded", options={"xatol": 1e-10 * (hi - lo)}
        )
        if found.fun < least:
            best, least = float(found.x), found.fun
    return best


def _candidates(loss: Loss, z: Array, y: Array) -> Array:
    """Shifts that fit single samples: all of them, or quantiles if there are many."""
    single = np.unique(-z if loss.target == "sign" else y - z)
    count = int(np.clip(_EFFORT // max(z.size, 1), 16, _MOST))
    if single.size > count:
        single = np.quantile(single, np.linspace(0.0, 1.0, count), method="nearest")
    if loss.target != "sign":
        return single
    few = single[:: max(1, single.size // 16)]
    return np.unique(np.append(single, few[:, None] + _AROUND))
