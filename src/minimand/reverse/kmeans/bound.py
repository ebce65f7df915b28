"""Lower bounds of what any clustering into k clusters costs.

Under squared distances the objective is the trace of the scatter matrix Σ s(x − x̄)(x − x̄)ᵀ less
that of its part between the means of k clusters, which has rank k − 1. So it is never below the
sum of all eigenvalues but the k − 1 largest (Ding and He 2004).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from scipy import sparse

from ..._base.typing import Array
from ...certificate.eigenvalues.rough import top_within
from .rows import Rows


class Lower(NamedTuple):
    """No clustering has a smaller objective than ``value``."""

    value: float
    rounding: float = 0.0
    certain: bool = True  # False if it rests on random vectors; see `Certificate`


def lower_bound(rows: Rows, k: int, passes: float = math.inf) -> Lower:
    """A lower bound of the objective; under Manhattan there is none.

    The cosine distance: with s_c the sum of the rows of a cluster, each of length one, and W_c its
    weight, the objective is W − Σ‖s_c‖ ≥ W − (W·Σ‖s_c‖²/W_c)^½, and W − Σ‖s_c‖²/W_c is the
    squared objective, which has the bound L; so it is at least L/(1 + (1 − L/W)^½).

    ``passes``: comparisons of all rows with all centres that the bound may cost, about; where
    eigenvalues of sparse rows cost more, it is one by norms (`certificate.eigenvalues.rough`).
    """
    if rows.distance.name == "euclidean":
        return _discarded(rows.X, rows.weights, k, passes)
    if rows.distance.name == "cosine":
        lengths = rows.factors > 0
        weights = rows.masses
        whole = float(weights[lengths].sum())
        zeros = float(weights[~lengths].sum())
        if whole == 0:
            return Lower(zeros)
        found = _discarded(_unit(rows)[lengths], weights[lengths], k, passes)
        share = min(found.value / whole, 1.0)
        return found._replace(value=zeros + found.value / (1.0 + math.sqrt(1.0 - share)))
    return Lower(-math.inf)


def _discarded(X: Any, weights: Array | None, k: int, passes: float) -> Lower:
    """The sum of all eigenvalues of the scatter matrix but the k − 1 largest."""
    # k-means++ compares 2 + ln k rows with all others for every centre.
    all_passes = passes + 2.0 + math.log(k)
    budget = all_passes * k * float(X.nnz if sparse.issparse(X) else X.size)
    found = top_within(X, k - 1, weights=weights, budget=budget)
    return Lower(found.discarded, found.rounding, found.certain)


def _unit(rows: Rows) -> Any:
    """The rows, each of length one."""
    if sparse.issparse(rows.X):
        return sparse.diags(rows.factors).tocsr() @ rows.X.astype(float)
    return rows.X * rows.factors[:, None]
