"""Least squares without a penalty: one Gram of the smaller side, one solve, one judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..._base.linear_system import factorise
from ..._base.typing import Array
from ..._core import dot
from ...certificate import Finding
from ...certificate.least_squares import free_squares_at, squares_at_null
from ...penalties import Separable
from ...problem.objective import Objective
from ..base import Control

_REFINEMENTS = 3  # rounds of iterative refinement, before X itself is factorised; safeguard


class _System(NamedTuple):
    """The step that removes residuals with these slopes, and the mean of every column."""

    step: Callable[[Array, Array], Array]
    mean: Array


def free_squares(objective: Objective, control: Control) -> Iterator[Finding]:
    """The null model, then the minimiser and its refinements.

    With fewer rows than columns the minimiser is that of least norm; if it fits every row, θ = 0
    proves it. Otherwise θ is the residuals, whose slopes vanish up to rounding. There is no point
    where X is sparse, or where its rank is not clear.
    """
    form = objective.penalty.sum_over_features
    if form is None or not _concerns(objective, form, control):
        return
    n, d = objective.design.shape
    system = _of_rows(objective) if n <= d else _of_columns(objective)
    if system is None:
        return
    null = objective.null
    residual = objective.loss.gradient(null.z, objective.y)
    slope = objective.backward(objective.mass * residual)
    yield squares_at_null(objective, form, residual, slope)
    w = null.w
    for _ in range(_REFINEMENTS):
        w = w - system.step(residual, slope)
        found = free_squares_at(objective, w, null.b - dot(system.mean, w))
        yield found
        residual, slope = objective.loss.gradient(found.point.z, objective.y), found.slope


def _concerns(objective: Objective, form: Separable, control: Control) -> bool:
    """Whether nothing but the squared loss of dense data is minimised, and memory suffices."""
    design, loss = objective.design, objective.loss
    if not (loss.quadratic and objective.n_scores == 1 and objective.has_columns):
        return False
    if design.sparse or objective.path_facts or objective.units is not None:
        return False
    n, d = design.shape
    numbers = n * d if n <= d else d * d
    free = not form.has_constraints and bool(objective.penalty.free.all())
    return free and d > 0 and 3 * 8.0 * numbers <= control.memory


def _of_columns(objective: Objective) -> _System | None:
    """(X_cᵀMX_c) dw = slope, if the columns are far from collinear."""
    basis = objective.free_basis
    if basis is None or not basis.regular:
        return None
    matrix, mean = objective.own_hessian
    solve = factorise(matrix)
    return None if solve is None else _System(lambda residual, slope: solve(slope), mean)


def _of_rows(objective: Objective) -> _System | None:
    """The shortest dw that brings X_c dw nearest to the residuals, if the rank is clear."""
    rows = objective.row_space
    if rows is None:
        return None
    mean = np.zeros(objective.n_features) if rows.centre is None else rows.centre
    return _System(lambda residual, slope: rows.shortest(residual), mean)
