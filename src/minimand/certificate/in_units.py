"""Judgements of a problem whose columns have units, as judgements of the whole problem."""

from __future__ import annotations

import math
from dataclasses import replace

from ..problem.column_units import ColumnUnits
from .finding import Dual, Judgement


def outside(columns: ColumnUnits, judgement: Judgement) -> Judgement:
    """The same model and dual point; the gap includes the part of Ω(w) that was left out.

    A column whose penalty was left out has one in the whole problem, so that what is said of
    unpenalised columns does not hold there.
    """
    left = columns.left_out(judgement.point)
    primal, gap = judgement.primal + left, judgement.gap + left
    why = "" if columns.faint.any() and math.isfinite(gap) else judgement.infeasibility
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
