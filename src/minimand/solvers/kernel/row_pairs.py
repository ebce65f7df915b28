"""Steps of pairs on the inner products of rows, for matrices with many columns."""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array
from ...canonical import Box
from ...certificate import Judgement, judge
from ...certificate.finding import Dual
from ...design import Design, GramDesign
from ...kernels import Linear
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Verdict
from ..costs import row_gram
from ..traits import Trait
from .costs import pairs
from .smo import Smo, box_exists, l2_of, theta_of

_MOST_ROWS = 3000  # safeguard: their inner products take 72 MB


class RowPairs(Smo):
    """As `smo`, with K = XXᵀ, which all problems of the same data share; w = Xᵀa.

    It suits factors of kernel matrices, whose columns fall off: `path` and `Tuned` take it there.
    Where columns are alike, or rows are many, others are faster. A problem of a path begins with
    the multipliers of the one before.
    """

    name = "row_pairs"
    by_name_only = True
    shapes = (Trait.ONE_SCORE, Trait.COLUMNS)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses as in `smo`, for few rows of many columns."""
        n = objective.n_samples
        if not box_exists(objective):
            return Verdict(
                False, f"{objective.loss!r} is not a line up and a line down around its minimum"
            )
        if n > _MOST_ROWS or 8.0 * n * n > control.memory:
            return Verdict(False, "there are many rows, whose inner products would cost too much")
        once = 0.0 if objective.facts.row_gram is not None else row_gram(objective)
        cost = once + pairs(objective)
        return Verdict(True, "straight pieces and ‖w‖²: steps of pairs of rows", cost, once)

    def _rows(self, objective: Objective) -> Design:
        facts = objective.facts
        if facts.row_gram is None:
            objective.meter.passes += 1
            facts.row_gram = np.ascontiguousarray(objective.design.row_gram(), dtype=float)
        return GramDesign(Linear(), None, facts.row_gram)  # only its matrix is read

    def _first(self, objective: Objective, start: Point, box: Box) -> Array:
        known = objective.facts.multipliers
        if known is None or known[0] is not objective.y:
            return np.zeros(objective.n_samples)
        return known[1] / l2_of(objective)

    def _judged(self, objective: Objective, a: Array) -> tuple[Judgement, Array]:
        l2 = l2_of(objective)
        point = objective.point(objective.design.rmatvec(a), objective.no_shift)
        f = point.z.copy() if objective.offset is None else point.z - objective.offset
        point = recentred(objective, point) if objective.intercept else point
        dual = Dual(theta_of(objective, a), -l2 * point.w)
        objective.facts.multipliers = objective.y, l2 * a
        return judge(objective, point, known=[dual], raw=False), f
