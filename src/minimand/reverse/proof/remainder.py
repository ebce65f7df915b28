r"""What the remainder of a factor adds to the objective of kernel k-means, and to its bound.

With K = LLᵀ + R, R ⪰ 0, and R̃ = S^½RS^½ for weights s, a clustering with the projection Z of rank k
(see `proof.points`) has the objective of L plus tr R̃ − tr R̃Z. Its own tr R̃Z is a sum over pairs of
rows of a cluster, and that of every clustering is at most √k·‖R̃‖, Frobenius' norm: where R is
spread over many directions that is far less than its trace.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._base.typing import Array, IntArray
from ...kernels import Kernel
from ..cuts.bounds import rounding_of

_WORK = 4e11  # operations of a pass over all pairs; safeguard: some seconds


class Remainder(NamedTuple):
    """tr R̃Z of the clustering, and a lower bound of tr R̃ − tr R̃Z for all clusterings."""

    inner: float = 0.0
    lost: float = 0.0


def remainder_of(
    kernel: Kernel, rows: Any, factor: Array, rest: Array, weights: Array, labels: IntArray, k: int
) -> Remainder | None:
    """The remainder, by one pass over all pairs of rows; None if that would take too long.

    ``rest`` is the diagonal of R.
    """
    n, rank = factor.shape
    if float(n) * n * (rank + k) > _WORK:
        return None
    joined = np.zeros((n, k))
    joined[np.arange(n), labels] = weights
    volumes = joined.sum(axis=0)
    squares = 0.0
    inner = np.zeros(n)
    for some, part in kernel.blocks(rows, rows):
        left = np.asarray(part, dtype=float) - factor[some] @ factor.T
        squares += float(weights[some] @ (left * left @ weights))
        own = labels[some]
        inner[some] = (left @ joined)[np.arange(own.size), own]
    filled = volumes[labels] > 0
    inner = weights * np.divide(inner, volumes[labels], out=np.zeros(n), where=filled)
    most = math.sqrt(k) * (math.sqrt(squares) + rounding_of(weights, kernel.sizes(rows)))
    return Remainder(max(float(inner.sum()), 0.0), max(float(weights @ rest) - most, 0.0))
