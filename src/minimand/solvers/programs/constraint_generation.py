"""The Chebyshev loss with a quadratic penalty, by quadratic programs on a subset of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ..._base.typing import Array, IntArray
from ...certificate import Judgement
from ...penalties import Separable
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..traits import Trait

if TYPE_CHECKING:
    from .column_scaling import ColumnScaling
    from .quadratic_program import Saddle


class ConstraintGeneration(Solver):
    """`Chebyshev` with `L2`, alone or with `L1` and bounds.

    min t + Ω(w) with |rᵢ| ≤ t for every sample: a quadratic program whose solution depends on few
    samples. An interior point method solves it on some of them; samples with a residual above t are
    added, the largest first, until there are none.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> model = mm.Regressor("chebyshev", "l2", alpha=0.1).fit(X, y)
    >>> model.solver_, model.certificate_.relative <= 1e-6
    ('constraint_generation', True)
    """

    name = "constraint_generation"
    kind = Trait.CONVEX_LOSS, Trait.CONVEX_PENALTY, Trait.LARGEST_RESIDUAL
    needs = Trait.SUM_OVER_FEATURES, Trait.SOME_L2
    least_cost = costs.LEAST_PROGRAMS_ON_ROWS

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Chebyshev and a quadratic part."""
        words = "quadratic programs on the rows with the largest residuals"
        return Verdict(True, words, costs.programs_on_rows(objective))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """One quadratic program per round."""
        from .largest_residual import rounds

        form = objective.penalty.sum_over_features
        assert form is not None
        ridge = form.l2_everywhere and not form.l1.any() and form.bounds is None
        if ridge and objective.n_samples < objective.n_features:
            yield from rounds(objective, start, control, _best_by_rows)
        # Also if rows that are all but equal were no system.
        yield from rounds(objective, start, control, _best_on)


def _best_on(
    objective: Objective, scaling: ColumnScaling, null: Point, rows: IntArray, seconds: float | None
) -> tuple[Point, list[Array]] | None:
    """The best model of some rows, and its multipliers.

    The variables are w, the intercept, t, and for every l1 term a number sⱼ ≥ |wⱼ|.
    """
    from .quadratic_program import minimise_quadratic

    form = objective.penalty.sum_over_features
    assert form is not None
    r = null.z[rows] - objective.y[rows]
    unit = float(np.abs(r).max()) or 1.0
    x = _dense(scaling, objective, rows)
    k, d, bent = x.shape[1], objective.n_features, np.flatnonzero(form.l1)
    price = form.l1[bent] / scaling.scale[bent]
    # The multipliers' absolute values sum to 1, so no column gains more than its largest entry:
    # a column whose price is higher stays at zero, and is left out as it would spoil the scaling.
    idle = price >= np.abs(x[:, bent]).max(axis=0)
    x[:, bent[idle]], price[idle] = 0.0, 1.0
    quadratic = np.zeros(k + 1 + bent.size)
    quadratic[:d] = form.l2 * unit / scaling.scale**2
    linear = np.concatenate([np.zeros(k), [1.0], price])
    above = np.column_stack([x, -np.ones(rows.size), np.zeros((rows.size, bent.size))])
    below = np.column_stack([-x, above[:, k:]])
    sizes = [_unit_rows(quadratic.size, bent, s) for s in (1.0, -1.0)]
    for part in sizes:
        part[np.arange(bent.size), k + 1 + np.arange(bent.size)] = -1.0
    sides, ends = _bounds(form, scaling, unit, quadratic.size)
    matrix = np.vstack([above, below, *sizes, *sides])
    limits = np.concatenate([-r / unit, r / unit, np.zeros(2 * bent.size), *ends])
    found = minimise_quadratic(quadratic, linear, matrix, limits)
    w, b = scaling.model(unit * found.x[:k])
    up, down = found.multipliers[2 * rows.size :][: 2 * bent.size].reshape(2, -1)
    size, own = found.x[k + 1 :], found.x[bent]
    # If both multipliers of |wⱼ| ≤ sⱼ exceed their slacks, wⱼ is zero.
    w[bent[idle | ((up > size - own) & (down > size + own))]] = 0.0
    return objective.point(form.project(w), null.b + b), [_theta(objective, rows, found)]


def _best_by_rows(
    objective: Objective, scaling: ColumnScaling, null: Point, rows: IntArray, seconds: float | None
) -> tuple[Point, list[Array]] | None:
    """The same for a ridge on more columns than rows, whose Newton's equations have n unknowns."""
    from .band import Band
    from .quadratic_program import minimise_quadratic

    form, d = objective.penalty.sum_over_features, objective.n_features
    assert form is not None
    r = null.z[rows] - objective.y[rows]
    unit = float(np.abs(r).max()) or 1.0
    x = _dense(scaling, objective, rows)
    quadratic = np.append(form.l2 * unit / scaling.scale**2, np.zeros(x.shape[1] - d + 1))
    linear = np.append(np.zeros(x.shape[1]), 1.0)
    band = Band(x[:, :d], x[:, d:], quadratic[:d])
    found = minimise_quadratic(quadratic, linear, band, np.append(-r, r) / unit)
    w, b = scaling.model(unit * found.x[:-1])
    return objective.point(w, null.b + b), [_theta(objective, rows, found)]


def _dense(scaling: ColumnScaling, objective: Objective, rows: IntArray) -> Array:
    """Some rows with scaled columns, as a matrix of their own."""
    x = scaling.rows(objective.design, rows)
    return np.asarray(x.toarray() if sparse.issparse(x) else np.array(x))


def _theta(objective: Objective, rows: IntArray, found: Saddle) -> Array:
    """The multipliers of all samples, from those of both inequalities of some."""
    theta = np.zeros(objective.n_samples)
    theta[rows] = found.multipliers[: rows.size] - found.multipliers[rows.size : 2 * rows.size]
    return theta


def _unit_rows(width: int, columns: IntArray, sign: float) -> Array:
    """One row per column, with ``sign`` at the column's place."""
    rows = np.zeros((columns.size, width))
    rows[np.arange(columns.size), columns] = sign
    return rows


def _bounds(
    form: Separable, scaling: ColumnScaling, unit: float, width: int
) -> tuple[list[Array], list[Array]]:
    """w ≤ hi and −w ≤ −lo, for finite bounds, as rows and limits."""
    rows, limits = [], []
    for sign, ends in zip((1.0, -1.0), reversed(form.bounds or ())):
        j = np.flatnonzero(np.isfinite(ends))
        rows.append(_unit_rows(width, j, sign))
        limits.append(sign * ends[j] * scaling.scale[j] / unit)
    return rows, limits
