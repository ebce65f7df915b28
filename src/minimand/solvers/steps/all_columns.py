"""Least squares on a few dense columns: one Gram, one compiled solve, one judgement.

Of one output with penalties by feature, or of several under a norm for every row of W.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ..._core import minimise_gram
from ...canonical import Runs, minimise_groups
from ...certificate import Finding
from ...certificate.least_squares import squares_at, squares_at_null
from ...certificate.row_models import lengths, rows_at, rows_at_null
from ...penalties import Separable, Strengths
from ...problem.objective import Objective, Point
from ..base import Control

_MOST = 300  # columns; definition: up to so many, the compiled minimiser is exact
_SWEPT = 1e-9  # share of the target that a last step may gain; safeguard: digits cost little here
_LEFT = 0.1  # share of the target that the minimiser of rows may leave; safeguard
_NARROW = 32  # columns, up to which the Gram of all costs no more than choosing; safeguard
_SOME = 0.25  # share of the columns, up to which their Gram saves a pass or more; safeguard
_ROUNDS = 2  # choices of columns, before all of them are taken; safeguard


def fit_at_once(objective: Objective) -> Strengths | None:
    """The penalty, if a Gram of all columns costs less than choosing some of them; else None.

    Constraints, columns without any penalty and the problems of a path need more judgements.
    """
    n, d = objective.design.shape
    few = 0 < d <= min(_MOST, n) and not objective.design.sparse
    if not few or objective.path_facts or not objective.is_summed:
        return None
    row = objective.penalty.row_sizes
    return None if row is None else Strengths(row[0][None], row[1][None])


def all_at_once(
    objective: Objective, strengths: Strengths, control: Control, start: Point
) -> Iterator[Finding]:
    """The start, and the minimiser on the Gram of all columns.

    Before all, those columns are tried whose slopes at the null model say that they are not zero.
    """
    null = objective.null
    if start is not null:
        yield _found(objective, strengths, start.w, start.b)
    residual = objective.loss.gradient(null.z, objective.y)
    slope = objective.backward(objective.weigh(residual))
    if start is null:  # which often ends a lasso
        yield _found_at_null(objective, strengths, residual, slope)
    if len(slope) > _NARROW:
        yield from _on_some(objective, strengths, control, slope)
    yield _minimised(objective, strengths, control, slope, None)


def _on_some(
    objective: Objective, strengths: Strengths, control: Control, slope: Array
) -> Iterator[Finding]:
    """Minimisers on the columns that matter, while these are few; ``slope``: of the null model."""
    within = _sizes(slope) > strengths.kink[0]
    for _ in range(_ROUNDS):
        if np.count_nonzero(within) > _SOME * within.size:
            return
        found = _minimised(objective, strengths, control, slope, within)
        yield found
        within = within | (_sizes(found.slope) > strengths.kink[0])


def _minimised(
    objective: Objective,
    strengths: Strengths,
    control: Control,
    slope: Array,
    within: BoolArray | None,
) -> Finding:
    """The minimiser whose coefficients are zero elsewhere; ``slope`` is that of the null model."""
    null = objective.null
    columns: IntArray | slice = slice(None) if within is None else np.flatnonzero(within)
    if isinstance(columns, slice):
        matrix, mean = objective.own_hessian
    else:
        matrix, mean = objective.hessian(objective.mass, columns)
    kink = np.ascontiguousarray(strengths.kink[0, columns])
    l2 = np.ascontiguousarray(strengths.l2[0, columns])
    inside = null.w[columns].copy()
    w = null.w.copy()
    if w.ndim == 1:
        minimise_gram(matrix, slope[columns], inside, kink, l2, _SWEPT * control.target)
    else:
        goal, runs = _LEFT * control.target, Runs.of_rows(kink, l2, w.shape[1])
        minimise_groups(matrix, slope[columns], objective.scale, runs, inside, goal)
    w[columns] = inside
    return _found(objective, strengths, w, null.b - mean @ inside)


def _found_at_null(
    objective: Objective, strengths: Strengths, residual: Array, slope: Array
) -> Finding:
    """The judgement of the null model, whose residuals and slopes these are."""
    if slope.ndim > 1:
        return rows_at_null(objective, strengths, residual, slope)
    form = Separable(strengths.kink[0], strengths.l2[0])
    return squares_at_null(objective, form, residual, slope)


def _found(objective: Objective, strengths: Strengths, w: Array, b: Any) -> Finding:
    """The judgement of a model with its best intercept, which b is near."""
    if w.ndim == 1:
        form = Separable(strengths.kink[0], strengths.l2[0])
        return squares_at(objective, form, w, float(b))
    return rows_at(objective, strengths, w)


def _sizes(slope: Array) -> Array:
    """|slope|, or the lengths of its rows."""
    return np.abs(slope) if slope.ndim == 1 else lengths(slope[None])[0]
