"""Coordinate descent over columns: the records that the compiled kernels take and give."""

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
    bounds: tuple[Array, Array] | None = None  # of w, which keeps them if it starts in them


class Descent(NamedTuple):
    """What a run of coordinate descent did: the intercept's move, sweeps, last decrease."""

    shift: float
    sweeps: int
    decrease: float


def descend(
    design: Design, problem: DescentProblem, q: Array, w: Array, sweeps: int, tol: float
) -> Descent:
    """Coordinate descent over some columns, which changes w and q; see `Weighted`.

    Columns that do not lie together are copied first, these and no others.
    """
    lines, places = design.column_lines(problem.columns)
    kernel = kernel_for(lines, _core.cd_columns, _core.cd_columns_dense)
    _, h, l1, l2, centre, bounds = problem
    return Descent(*kernel(lines, places, h, q, w, l1, l2, centre, sweeps, tol, bounds))
