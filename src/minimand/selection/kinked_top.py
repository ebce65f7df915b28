"""alpha_max where many samples lie at a kink: the least of their slopes, by a linear program.

min α   over   uᵢ = massᵢθᵢ,  θᵢ between the slopes on the two sides of sample i,
with  |Xⱼᵀu| ≤ α·cⱼ for every column, and Σu = 0 under an intercept
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._base.typing import Array
from ..penalties import Separable
from ..problem.intercept import slopes_beside
from ..problem.objective import Objective
from ..solvers.programs.column_scaling import beside, matrix_of, scaled_rows
from ..solvers.programs.highs import Failure, minimise

_LARGEST = 500_000  # numbers in the rows of those samples; safeguard: larger programs are slow


def least_slope(objective: Objective, form: Separable, slope: Array, top: float) -> Array:
    """Xᵀu at the null model, with the subgradient u that needs the smallest alpha.

    ``slope`` is Xᵀu of another subgradient and ``top`` the alpha that it needs. ``slope`` is
    returned if the subgradient is unique, if too many samples lie at a kink, or if no solution of
    the program is found.
    """
    beside_kinks = slopes_beside(objective, objective.null.z)
    if beside_kinks is None or not top > 0:
        return slope
    least, greatest = beside_kinks
    free = np.flatnonzero((greatest > least) & (objective.mass > 0))
    if free.size <= objective.intercept or free.size * form.l1.size > _LARGEST:
        return slope
    weight = objective.n_samples * objective.mass
    fixed = np.where(greatest > least, 0.0, weight * least)
    size = np.where(objective.root_spread > 0, objective.root_spread, 1.0)
    rows = scaled_rows(matrix_of(objective.design, free), weight[free])
    rows = (rows / size[None, :]).T
    rest = objective.backward(fixed) / size
    price = -top * objective.n_samples * form.l1 / size
    equal = None
    if objective.intercept:
        equal = (beside(weight[None, free], np.zeros((1, 1))), np.array([-fixed.sum()]))
    found = minimise(
        np.append(np.zeros(free.size), 1.0),
        upper=_sides(rows, price, rest, form),
        equal=equal,
        bounds=np.vstack([np.column_stack([least, greatest])[free], [0.0, 1.0]]),
    )
    if isinstance(found, Failure):
        return slope
    u = fixed
    u[free] = weight[free] * np.clip(found.x[:-1], least[free], greatest[free])
    return objective.backward(u) / objective.n_samples


def _sides(rows: Any, price: Array, rest: Array, form: Separable) -> tuple[Any, Array]:
    """±(rows·v + rest) ≤ α·cⱼ, for the signs that a coefficient may have."""
    low, high = form.bounds if form.bounds is not None else (-np.inf, np.inf)
    stack = sparse.vstack if sparse.issparse(rows) else np.vstack
    up, down = np.flatnonzero((price < 0) & (low < 0)), np.flatnonzero((price < 0) & (high > 0))
    matrix = stack([beside(rows[up], price[up]), beside(-rows[down], price[down])])
    return matrix, np.concatenate([-rest[up], rest[down]])
