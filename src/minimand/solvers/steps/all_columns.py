"""Least squares on a few dense columns: one Gram, one compiled solve, one judgement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ..._core import dot, minimise_gram
from ...certificate import Finding
from ...certificate.least_squares import squares_at, squares_at_null
from ...penalties import Separable
from ...problem.objective import Objective, Point
from ..base import Control

_MOST = 300  # columns; definition: up to so many, the compiled minimiser is exact
_SWEPT = 1e-9  # share of the target that a last step may gain; safeguard: digits cost little here
_NARROW = 32  # columns, up to which the Gram of all costs no more than choosing; safeguard
_SOME = 0.25  # share of the columns, up to which their Gram saves a pass or more; safeguard
_ROUNDS = 2  # choices of columns, before all of them are taken; safeguard


def fit_at_once(objective: Objective, form: Separable, start: Point) -> bool:
    """Whether a Gram of all columns costs less than choosing some of them.

    Constraints, columns without any penalty and the problems of a path need more judgements.
    """
    n, d = objective.design.shape
    few = 0 < d <= min(_MOST, n) and not objective.design.sparse
    if not (few and objective.loss.quadratic and start is objective.null):
        return False
    return not (form.has_constraints or objective.has_free_columns or objective.path_facts)


def all_at_once(objective: Objective, form: Separable, control: Control) -> Iterator[Finding]:
    """The null model, and the minimiser on the Gram of all columns.

    Before all, those columns are tried whose slopes at the null model say that they are not zero.
    """
    null = objective.null
    residual = objective.loss.gradient(null.z, objective.y)
    slope = objective.backward(objective.mass * residual)
    yield squares_at_null(objective, form, residual, slope)  # which often ends a lasso
    within = np.abs(slope) > form.l1
    for _ in range(_ROUNDS):
        if within.size <= _NARROW or np.count_nonzero(within) > _SOME * within.size:
            break
        found = _minimised(objective, form, control, slope, within)
        yield found
        within = within | (np.abs(found.slope) > form.l1)
    yield _minimised(objective, form, control, slope, None)


def _minimised(
    objective: Objective, form: Separable, control: Control, slope: Array, within: BoolArray | None
) -> Finding:
    """The minimiser whose coefficients are zero elsewhere; ``slope`` is that of the null model."""
    null = objective.null
    columns: IntArray | slice = slice(None) if within is None else np.flatnonzero(within)
    if isinstance(columns, slice):
        (matrix, mean), own = objective.own_hessian, form
    else:
        (matrix, mean), own = objective.hessian(objective.mass, columns), form.take(columns)
    inside = null.w[columns].copy()
    minimise_gram(matrix, slope[columns], inside, own.l1, own.l2, _SWEPT * control.target)
    w = null.w.copy()
    w[columns] = inside
    return squares_at(objective, form, w, null.b - dot(mean, inside))
