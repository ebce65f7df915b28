"""Lower bounds of what any clustering into k clusters costs.

Under squared distances the objective is the trace of the scatter matrix Σ s(x − x̄)(x − x̄)ᵀ less
that of its part between the means of k clusters, which has rank k − 1. So it is never below the
sum of all eigenvalues but the k − 1 largest (Ding and He 2004).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import Array
from ...certificate.relaxation import top_of_rows
from .rows import Rows


def lower_bound(rows: Rows, k: int) -> tuple[float, float]:
    """A lower bound of the objective, and its rounding error; under Manhattan there is none.

    The cosine distance: with s_c the sum of the rows of a cluster, each of length one, and W_c its
    weight, the objective is W − Σ‖s_c‖ ≥ W − (W·Σ‖s_c‖²/W_c)^½, and W − Σ‖s_c‖²/W_c is the
    squared objective, which has the bound L; so it is at least L/(1 + (1 − L/W)^½).
    """
    if rows.distance.name == "euclidean":
        return _discarded(rows.X, rows.weights, k)
    if rows.distance.name == "cosine":
        lengths = rows.factors > 0
        weights = np.ones(rows.shape[0]) if rows.weights is None else rows.weights
        whole = float(weights[lengths].sum())
        zeros = float(weights[~lengths].sum())
        if whole == 0:
            return zeros, 0.0
        least, rounding = _discarded(_unit(rows)[lengths], weights[lengths], k)
        share = min(least / whole, 1.0)
        return zeros + least / (1.0 + math.sqrt(1.0 - share)), rounding
    return -math.inf, 0.0


def _discarded(X: Any, weights: Array | None, k: int) -> tuple[float, float]:
    """The sum of all eigenvalues of the scatter matrix but the k − 1 largest."""
    if k == 1:
        found = top_of_rows(X, 1, weights=weights)
        return max(found.total - found.rounding, 0.0), found.rounding
    found = top_of_rows(X, k - 1, weights=weights)
    return found.discarded, found.rounding


def _unit(rows: Rows) -> Any:
    """The rows, each of length one."""
    if sparse.issparse(rows.X):
        return sparse.diags(rows.factors).tocsr() @ rows.X.astype(float)
    return rows.X * rows.factors[:, None]
