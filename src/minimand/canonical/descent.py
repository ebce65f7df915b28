"""Coordinate descent over columns: arguments and results of the compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

from .. import _core
from .._base.typing import Array, IntArray
from ..design import Design
from .lines import kernel_for


class DescentProblem(NamedTuple):
    """Σ qᵢtᵢ + ½hᵢtᵢ² + Σ l1ⱼ|wⱼ| + ½ l2ⱼwⱼ² over t = X_c(w − w₀) + b, for the compiled descent."""

    columns: IntArray
    h: Array
    l1: Array
    l2: Array
    centre: bool  # whether b is free
    bounds: tuple[Array, Array] | None = None  # bounds of w, which must start within them


class Descent(NamedTuple):
    """The result of a run of coordinate descent: the intercept's move, sweeps, last decrease."""

    shift: float
    sweeps: int
    decrease: float


def descend(
    design: Design, problem: DescentProblem, q: Array, w: Array, sweeps: int, tol: float
) -> Descent:
    """Coordinate descent over some columns, which changes w and q; see `Weighted`.

    Columns that are not contiguous are copied first, only these.
    """
    lines, places = design.column_lines(problem.columns)
    kernel = kernel_for(lines, _core.cd_columns, _core.cd_columns_dense)
    _, h, l1, l2, centre, bounds = problem
    return Descent(*kernel(lines, places, h, q, w, l1, l2, centre, sweeps, tol, bounds))
