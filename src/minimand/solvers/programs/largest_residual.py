"""The Chebyshev loss, solved on the few rows with the largest residuals.

min over w, b of  maxᵢ |rᵢ| + Ω(w)  has the dual  max Σ θᵢr⁰ᵢ − Ω*(−Xᵀθ)  with  Σ|θᵢ| ≤ 1 (and
Σθᵢ = 0 for the intercept), r⁰ the residuals of a start. Rows that are left out have θᵢ = 0, which
is feasible for all rows: the bound of every round is one of the whole problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._base.typing import Array, IntArray
from ...certificate import Judgement, judge
from ...problem.intercept import recentred
from ...problem.objective import EPS, Objective, Point
from ..base import Control
from .column_scaling import ColumnScaling, beside
from .dual_program import polished, solve_dual
from .highs import Failure

_FIRST = 100  # least number of rows in the first round; safeguard
_NEW = 50  # least number of rows that are added in a round; safeguard

Restricted = Callable[
    [Objective, ColumnScaling, Point, IntArray, float | None], tuple[Point, list[Array]] | None
]
"""For a problem on some rows, the best model and its multipliers; None if time ran out."""


def rounds(
    objective: Objective, start: Point, control: Control, best_on: Restricted
) -> Iterator[Judgement]:
    """Solve on some rows, judge on all, add the rows with the largest residuals."""
    judgement = judge(objective, recentred(objective, start))
    yield judgement
    scaling = ColumnScaling.of(objective.design, objective.row_mass, intercept=objective.intercept)
    null = objective.point(np.zeros(objective.n_features), objective.null.b)
    rows = _first_rows(null.z - objective.y, 2 * (objective.n_features + 2))
    while not control.expired:
        found = best_on(objective, scaling, null, rows, control.remaining)
        if found is None:
            return
        point, duals = found
        judgement = judge(objective, recentred(objective, point), duals, known=[judgement.dual])
        yield judgement
        more = _with_worst(rows, np.abs(point.z - objective.y))
        if more.size == rows.size:
            return
        rows = more


def vertex_on(
    objective: Objective, scaling: ColumnScaling, null: Point, rows: IntArray, seconds: float | None
) -> tuple[Point, list[Array]] | None:
    """A vertex by linear programming, for penalties without a quadratic part."""
    r = null.z[rows] - objective.y[rows]
    unit = float(np.abs(r).max()) or 1.0
    x = scaling.rows(objective.design, rows).T
    found = solve_dual(
        objective,
        scaling,
        beside(x, -x),
        np.append(-r, r) / unit,
        np.tile([0.0, np.inf], (2 * rows.size, 1)),
        np.zeros(x.shape[0]),
        size=1.0,
        unit=unit,
        total=1.0,
        seconds=seconds,
    )
    if isinstance(found, Failure):
        return None
    theta = np.zeros(objective.n_samples)
    theta[rows] = found.variables[: rows.size] - found.variables[rows.size :]
    duals = [polished(objective, scaling, found.w, theta), theta]
    return objective.point(found.w, null.b + found.b), duals


def _first_rows(r: Array, size: int) -> IntArray:
    """The largest residuals of each sign, and as many evenly spaced rows."""
    n, size = r.size, max(_FIRST, size)
    if n <= 2 * size:
        return np.arange(n)
    order = np.argsort(r, kind="stable")
    ends = np.append(order[: size // 2], order[-(size // 2) :])
    return np.union1d(ends, np.linspace(0, n - 1, size).astype(int))


def _with_worst(rows: IntArray, size: Array) -> IntArray:
    """The rows, and others with residuals larger than all of theirs, the largest first."""
    outside = np.ones(size.size, dtype=bool)
    outside[rows] = False
    new = np.flatnonzero(outside & (size > size[rows].max() * (1.0 + 8 * EPS)))
    most = max(_NEW, rows.size // 2)
    new = new[np.argsort(-size[new], kind="stable")[:most]]
    return np.union1d(rows, new)
