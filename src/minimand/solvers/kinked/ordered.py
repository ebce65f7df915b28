"""Quantiles that must not cross: an interior-point method on all scores at once."""

from __future__ import annotations

from collections.abc import Iterator

from ...certificate import Judgement, judge
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..traits import Trait

_LARGEST = 1500  # unknowns of the system that every iteration factorises; safeguard


class Ordered(Solver):
    """Mehrotra's method for `Quantiles` with ``crossing=False`` and a sum over features.

    About twenty systems in the coefficients of all quantiles. The intercepts of the solution are
    spread by what rounding has left of crossings.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.solvers.Ordered().name
    'ordered'
    """

    name = "ordered"
    shapes = (Trait.COLUMNS,)
    kind = (*Solver.kind, Trait.IN_ORDER)
    needs = (Trait.SUM_OVER_FEATURES,)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Problems with intercepts, and not too many coefficients."""
        if not objective.intercept:
            return Verdict(False, "without intercepts no scores can be kept in order exactly")
        size = objective.n_scores * (objective.n_features + 1)
        # Bytes: three matrices of the system, and 12 per number of the rows of all scores.
        memory = 24.0 * size * size + 36.0 * objective.n_scores * objective.design.nnz
        if size > _LARGEST or memory > control.memory:
            return Verdict(False, f"a system of {size} unknowns in every iteration is too large")
        words = "quantiles in order: an interior-point method on all of them"
        return Verdict(True, words, costs.interior_points(objective, size) * objective.n_scores)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """The start, then a solution for every price that the order needs."""
        from .rows_in_order import solutions  # not needed for a verdict

        judgement = judge(objective, recentred(objective, start))
        yield judgement
        yield from solutions(objective, control, judgement)
