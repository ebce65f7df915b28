"""The dual of a problem with kinks as a linear program, whose multipliers are the model.

For a penalty Σ l1ⱼ|wⱼ| within bounds, Ω* is the least cost of a split of the slope,

    −(Xᵀu)ⱼ = σⱼ + μ⁺ⱼ − μ⁻ⱼ,   |σⱼ| ≤ l1ⱼ,   μ ≥ 0,   at the cost hiⱼμ⁺ⱼ − loⱼμ⁻ⱼ,

so that the dual has one row per column of X, for any number of samples. The simplex method is fast
on programs with few rows and many bounded variables. The multiplier of row j is wⱼ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from ..._base.typing import Array, BoolArray, IntArray
from ...penalties import Separable
from ...problem.objective import Objective
from .column_scaling import Units, beside
from .highs import Failure, Optimum, minimise

_LARGEST = 20_000_000  # numbers in the system that refines multipliers; safeguard of memory


class Split(NamedTuple):
    """σ, μ⁺ and μ⁻ as variables: their columns, costs, bounds and features."""

    features: IntArray
    sign: Array
    cost: Array
    bounds: Array
    is_l1: BoolArray

    @classmethod
    def of(cls, form: Separable, scale: Array, size: float, unit: float) -> Split:
        """Of a penalty in the program's units: w times scaleⱼ/unit, and u times size."""
        groups: list[tuple[Any, float, Array, Array, bool]] = []
        j = np.flatnonzero(form.l1)
        limit = size * form.l1[j] / scale[j]
        groups.append((j, 1.0, np.zeros(j.size), np.column_stack([-limit, limit]), True))
        for sign, ends in zip((1.0, -1.0), reversed(form.bounds or ())):
            j = np.flatnonzero(np.isfinite(ends))
            sides = np.tile([0.0, np.inf], (j.size, 1))
            groups.append((j, sign, sign * ends[j] * scale[j] / unit, sides, False))
        return cls(
            np.concatenate([g[0] for g in groups]),
            np.concatenate([np.full(g[0].size, g[1]) for g in groups]),
            np.concatenate([g[2] for g in groups]),
            np.vstack([g[3] for g in groups]),
            np.concatenate([np.full(g[0].size, g[4]) for g in groups]),
        )

    def columns(self, n_rows: int, as_sparse: bool) -> Any:
        """One column per variable, with its sign in the row of its feature."""
        places = (self.features, np.arange(self.features.size))
        shape = (n_rows, self.features.size)
        matrix = sparse.csc_array((self.sign, places), shape=shape)
        return matrix if as_sparse else matrix.toarray()


class Vertex(NamedTuple):
    """The variables of the samples at the optimum, and the model."""

    variables: Array
    w: Array
    b: float


def solve_dual(
    objective: Objective,
    units: Units,
    columns: Any,
    cost: Array,
    bounds: Array,
    rest: Array,
    *,
    size: float,
    unit: float,
    total: float | None = None,
    seconds: float | None = None,
) -> Vertex | Failure:
    """Minimise cost·v + Ω*(−Xᵀu) over variables v of the samples, where Xᵀu = columns·v + rest.

    Parameters
    ----------
    columns : (d [+ 1], k) matrix, in the units given; the last row is that of the intercept
    cost, bounds : of the variables; the cost as a multiple of ``unit``
    size : factor of u in the program
    total : an upper limit of the sum of the variables, or None
    """
    form = objective.penalty.sum_over_features
    assert form is not None
    split = Split.of(form, units.scale, size, unit)
    n_rows, k = columns.shape
    matrix = beside(columns, split.columns(n_rows, sparse.issparse(columns)))
    upper = None
    if total is not None:
        ones = np.append(np.ones(k), np.zeros(split.cost.size))[None, :]
        upper = (ones, np.array([total]))
    found = minimise(
        np.append(cost, split.cost),
        upper=upper,
        equal=(matrix, -rest),
        bounds=np.vstack([bounds, split.bounds]),
        seconds=seconds,
    )
    if isinstance(found, Failure):
        return found
    w, b = units.model(-unit * found.equal)
    return Vertex(found.x[:k], _snapped(form, split, found, w), b)


def _snapped(form: Separable, split: Split, found: Optimum, w: Array) -> Array:
    """Exact zeros where the slope is inside the l1 box, exact bounds where μ is positive."""
    w = form.project(w)
    part = found.x[found.x.size - split.cost.size :]
    limit = split.bounds[:, 1]
    inside = split.is_l1 & (np.abs(part) < (1.0 - 1e-9) * limit)
    if form.bounds is not None:
        lo, hi = form.bounds
        pushed = ~split.is_l1 & (part > 1e-9)
        at = split.features[pushed]
        w[at] = np.where(split.sign[pushed] > 0, hi[at], lo[at])
        # With a slope inside the box and a positive μ, wⱼ is at the bound, not at zero.
        inside &= ~np.isin(split.features, at)
    w[split.features[inside]] = 0.0
    return form.project(w)


def polished(objective: Objective, units: Units, w: Array, theta: Array) -> Array:
    """The same multipliers, corrected so that slopes agree with w up to rounding.

    Where wⱼ is neither zero nor at a bound, (Xᵀu)ⱼ = −l1ⱼ·sign(wⱼ), and Σu = 0 with an intercept.
    Multipliers inside their domain are changed; those at its edge stay.
    """
    form = objective.penalty.sum_over_features
    assert form is not None
    room = objective.loss.room(theta, objective.y)
    rows = np.flatnonzero(room > 1e-9 * room.max(initial=0.0))
    active = np.flatnonzero(((w != 0) | (form.l1 == 0)) & ~form.at_bound(w))
    kept = np.append(active, w.size) if objective.intercept else active
    if not 0 < rows.size * kept.size <= _LARGEST:
        return theta
    x = units.rows(objective.design, rows)
    x = x[:, kept]
    x = x.toarray() if sparse.issparse(x) else x
    system = (objective.row_mass[rows, None] * room[rows, None] * x).T
    wanted = -form.l1[active] * np.sign(w[active])
    for _ in range(2):
        u = objective.row_mass * theta
        total = u.sum()
        slope = objective.backward(u)[active] - units.shift[active] * total
        missing = (wanted - slope) / units.scale[active]
        missing = np.append(missing, -total) if objective.intercept else missing
        step = linalg.lstsq(system, missing, check_finite=False)[0]
        theta = theta.copy()
        theta[rows] += room[rows] * step
    return objective.loss.into_domain(theta, objective.y)
