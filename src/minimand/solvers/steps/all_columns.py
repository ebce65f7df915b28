"""Least squares on a few dense columns: one Gram, one compiled solve, one judgement."""

from __future__ import annotations

from collections.abc import Iterator

from ..._core import dot
from ...canonical import Quadratic
from ...certificate import Finding
from ...certificate.least_squares import squares_at, squares_at_null
from ...penalties import Separable
from ...problem.objective import Objective, Point
from ..base import Control

_MOST = 300  # columns; definition: up to so many, the compiled minimiser is exact
_SWEPT = 1e-9  # share of the target that a last step may gain; safeguard: digits cost little here


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
    """The null model, and the minimiser on the Gram of all columns."""
    null, mass = objective.null, objective.mass
    residual = objective.loss.gradient(null.z, objective.y)
    matrix, mean = objective.hessian(mass)
    slope = objective.backward(mass * residual)
    yield squares_at_null(objective, form, residual, slope)
    w = null.w.copy()
    Quadratic(matrix, slope).minimise(form, w, _SWEPT * control.target)
    b = null.b - dot(mean, w)
    yield squares_at(objective, form, w, b)
