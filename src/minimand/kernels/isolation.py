"""Whether a kernel of distances tells training rows apart and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Kernel
from .distances import DistanceKernel
from .rows import count

_LOOKED_AT = 32  # rows that are compared with all; safeguard: half of them decide
_NEARLY_ZERO = 0.01  # of k(x, x) = 1: value for the nearest other row; convention
_EQUAL = 1.0 - 1e-12  # the value from which rows count as copies; safeguard: rounding
_FEWEST = 10  # rows; safeguard: of fewer none need be near


def isolates(kernel: Kernel, x: Any) -> bool:
    """Whether most rows are nearly orthogonal to every row that is not a copy of theirs."""
    n = count(x)
    if not isinstance(kernel, DistanceKernel) or n < _FEWEST:
        return False
    some = np.unique(np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(np.intp))
    values = kernel.block(x[some], x)
    nearest = np.where(values < _EQUAL, values, -1.0).max(axis=1)  # -1: there are copies only
    nearest = nearest[nearest >= 0]
    return bool(nearest.size and np.median(nearest) < _NEARLY_ZERO)
