"""Piecewise linear losses and penalties: an optimal vertex, by linear programming.

ψ(t) = ψ(κ₁) + s₀(t − κ₁) + Σₖ Δₖ(t − κₖ)₊ has kinks at κₖ where its slope grows by Δₖ. Its slope
v = s₀ + Σₖ aₖ with 0 ≤ aₖ ≤ Δₖ costs ψ*(v) = Σₖ κₖaₖ + constant: so the dual of the problem is a
linear program in the aᵢₖ, with bounds, and one row per column of X (see `dual_program`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..traits import Trait


class Simplex(Solver):
    """Exact solutions by linear programming, for piecewise linear losses and penalties.

    Takes `Absolute`, `Quantile`, `Hinge`, `EpsilonInsensitive`, `PerceptronLoss`, your own losses
    with linear ``pieces``, and `Chebyshev`, with `L1`, bounds or no penalty. The model is a vertex:
    without a penalty it passes through at least as many samples as it has coefficients (for
    `Chebyshev`, one more sample than that shares the largest residual).

    HiGHS solves the dual program, which has few rows; for `Chebyshev` on a subset of the samples.
    ``max_seconds`` is kept: a program that is cut off has no model yet, so the start is returned
    with its true gap. Callbacks see the start and the vertex only, and while HiGHS runs neither
    they nor Ctrl-C can stop it.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 50.0])
    >>> model = mm.Regressor("absolute", "no_penalty", solver="simplex").fit(X, y)
    >>> bool(np.allclose([model.coef_[0], model.intercept_], [1.0, 0.0]))
    True
    """

    name = "simplex"
    kind = Trait.CONVEX_LOSS, Trait.CONVEX_PENALTY
    needs = Trait.STRAIGHT_PIECES, Trait.SUM_OVER_FEATURES, Trait.NO_L2
    least_cost = costs.LEAST_LINEAR_PROGRAM

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Piecewise linear losses and penalties."""
        plq = objective.loss.plq(objective.y)
        # One copy of the data per kink, and as much again for HiGHS; Chebyshev copies few rows.
        copies = 0 if plq is None else 2 * plq.pieces.knots.size
        # 12: bytes per stored number (a float and an index).
        if 12.0 * objective.design.nnz * copies > control.memory:
            return Verdict(False, f"the linear program does not fit into memory={control.memory:g}")
        words = "straight pieces: an exact vertex by linear programming"
        return Verdict(True, words, costs.linear_program(objective))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """The start, then one linear program; for a loss of the whole set, one per round."""
        if objective.loss.largest_residual:
            from .largest_residual import rounds, vertex_on

            yield from rounds(objective, start, control, vertex_on)
            return
        begun = judge(objective, recentred(objective, start))
        if not begun.reaches(objective, control.target):  # else the fit would end here
            yield begun  # the last chance to stop: HiGHS calls no callbacks
        found = None if control.expired else _vertex(objective, control)
        yield begun if found is None else judge(objective, *found)


def _vertex(objective: Objective, control: Control) -> tuple[Point, list[Array]] | None:
    """The optimal vertex and its multipliers; None if time ran out."""
    from .column_scaling import ColumnScaling, beside, scaled_rows
    from .dual_program import polished, solve_dual
    from .highs import Failure

    plq = objective.loss.plq(objective.y)
    assert plq is not None
    pieces, sign = plq.pieces, plq.sign
    n = objective.n_samples
    null = objective.point(np.zeros(objective.n_features), objective.null.b)
    ahead = pieces.knots[:, None] - plq.at(null.z)  # distance of every sample to every kink
    unit = float(np.abs(ahead).mean()) or 1.0
    weight = n * objective.mass
    scaling = ColumnScaling.of(objective.design, objective.mass, intercept=objective.intercept)
    x = scaled_rows(scaling.rows(objective.design), sign).T
    steps = pieces.jumps[:, None] * weight
    found = solve_dual(
        objective,
        scaling,
        beside(*[x] * len(pieces.knots)),
        (ahead / unit).ravel(),
        np.column_stack([np.zeros(steps.size), steps.ravel()]),
        np.asarray(x @ (pieces.slopes[0] * weight)),
        size=float(n),
        unit=unit,
        seconds=control.remaining,
    )
    if isinstance(found, Failure):
        return None
    slope = pieces.slopes[0] + found.variables.reshape(-1, n).sum(axis=0) / weight
    theta = sign * slope
    duals = [polished(objective, scaling, found.w, theta), theta]
    return objective.point(found.w, null.b + found.b), duals
