"""Judgements of a problem whose columns have units, as judgements of the whole problem."""

from __future__ import annotations

import math
from dataclasses import replace

from ..problem.column_units import ColumnUnits
from .finding import Dual, Judgement


def outside(columns: ColumnUnits, judgement: Judgement) -> Judgement:
    """The same model and dual point; the gap includes the part of Ω(w) that was left out.

    If no bound was found, θ = 0 gives one, because Ω ≥ 0: the mean infimum of the loss.
    """
    whole = columns.whole
    left = columns.left_out(judgement.point)
    primal = judgement.primal + left
    gap, why = judgement.gap + left, judgement.infeasibility
    if not math.isfinite(gap) and math.isfinite(primal):
        gap, why = primal - whole.infimum, ""
    dual = judgement.dual
    return replace(
        judgement,
        point=columns.outside(judgement.point),
        primal=primal,
        gap=gap,
        dual=Dual(dual.theta, dual.slope / columns.units, primal - gap),
        slope=judgement.slope / columns.units,
        promise=min(judgement.promise + left, gap),
        infeasibility=why,
    )
