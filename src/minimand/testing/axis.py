"""Points at which losses are checked, and the rounding that is allowed there."""

from __future__ import annotations

import numpy as np

from .._base.typing import Array
from ..losses import Loss
from ..problem.objective import EPS

TARGETS: dict[str, list[float]] = {
    "real": [-3.0, -0.5, 0.0, 0.7, 40.0],
    "sign": [-1.0, 1.0],
    "unit": [0.0, 0.2, 0.5, 1.0],
    "count": [0.0, 0.3, 1.0, 7.0, 200.0],
    "positive": [1e-3, 0.3, 1.0, 7.0, 200.0],
    "class": [0.0, 1.0, 2.0],
    "vector": [-3.0, 0.0, 0.7],
}


def axis(centre: float) -> Array:
    """Scores of both signs: dense near 0, near the target and one unit from it, and far out."""
    near = np.linspace(-6.0, 6.0, 61)
    far = np.geomspace(1e-3, 1e3, 25)
    around = np.concatenate([near, far, -far])
    return np.unique(np.concatenate([around, around + centre, np.array([centre])]))


def rounding_of(loss: Loss, z: Array, y: Array) -> Array:
    """An allowance for the rounding of a value: 64 ulp (safeguard) of the numbers it sums."""
    value, slope = loss.value(z, y), loss.gradient(z, y)
    pieces = np.abs(value) + (1.0 + np.abs(slope) + np.abs(y)) * (1.0 + np.abs(z) + np.abs(y))
    return 64 * EPS * np.where(np.isfinite(pieces), pieces, 0.0)
