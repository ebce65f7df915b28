"""The certificate of a division of rows, computed anew."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import Array, ArrayLike, IntArray
from ...certificate import Certificate
from ...certificate.eigenvalues.relaxation import TopSum, top_of_kernel
from ...certificate.eigenvalues.rough import top_within
from ...features.low_rank import MEMORY
from ...kernels import Kernel
from ..base import Course
from ..cuts.bounds import rounding_of
from ..rows import row_weights
from .branches import scatter_of

_WORK = 5.0  # passes over rows and clusters that divisions are taken to cost; safeguard


def budget_of(X: Any, k: int) -> float:
    """Multiply-adds that the bound of rows may cost beside divisions into k clusters."""
    return _WORK * k * float(X.nnz if sparse.issparse(X) else X.size)


def of_labels(
    model: Any,
    X: Any,
    labels: IntArray,
    k: int,
    kernel: Kernel | None,
    sample_weight: ArrayLike,
    budget: float = math.inf,
) -> Certificate:
    """Of the sum of squares within clusters, of the rows or of the features of a bound kernel.

    ``budget``: multiply-adds for the bound of rows (`certificate.eigenvalues.rough`).
    """
    s = row_weights(sample_weight, labels.size)
    scatter = scatter_of(X, s, kernel)
    used = np.flatnonzero(s > 0)
    parts = (used[labels[used] == c] for c in range(k))
    primal = float(sum(scatter(part) for part in parts if part.size))
    course = Course(model, "Σ ‖x − c‖²" if kernel is None else "Σ ‖φ(x) − c‖²")
    if k == 1:
        return course.certificate(primal, primal, "relaxation", 0.0, scatter(used))
    if kernel is None:
        top, error = top_within(X, k - 1, weights=s, budget=budget), 0.0
        whole = top.total  # which is scatter(used), but for rounding
    elif 16.0 * s.size**2 > MEMORY:
        reason = "the values of the kernel of all pairs of rows do not fit into memory"
        return course.certificate(
            primal, -np.inf, "relaxation", 0.0, scatter(used), infeasibility=reason
        )
    else:
        top, error = _of_features(X, s, k - 1, kernel)
        whole = scatter(used)
    return course.certificate(
        primal + error,
        max(top.discarded - error, 0.0),
        "relaxation",
        top.rounding + error,
        whole,
        certain=top.certain,
    )


def _of_features(X: Any, s: Array, k: int, kernel: Kernel) -> tuple[TopSum, float]:
    """What k directions of the features keep, and the rounding of sums of their squares."""
    rows = kernel.rows(X, training=True)
    gram = np.asarray(kernel.gram(rows), dtype=float)
    return top_of_kernel(gram, k, weights=s, centred=True), rounding_of(s, kernel.sizes(rows))
