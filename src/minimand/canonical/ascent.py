"""Dual coordinate ascent over rows: arguments and results of the compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

from .. import _core
from .._base.typing import AnyArray, Array
from ..design import Design
from .lines import kernel_for

AscentClock = tuple[float, float, int, float]
"""The intercept, its step, how many rows are not skipped, and their distance from a knot."""


class AscentProblem(NamedTuple):
    """A loss of single rows with an L2 penalty, as the compiled ascent takes it."""

    psi: tuple[Array, Array, Array, Array, Array] | str  # pieces, or the name of a function
    rows: tuple[Array, Array, Array, Array]  # sign, shift, mass, and `RowDual.squares`
    inverse: Array  # 1/l2; one number if all are equal
    intercept: tuple[bool, float]  # whether it is free, and a typical distance of t from a knot


class AscentState(NamedTuple):
    """What an ascent changes, v and w in place, and the state left by the last run."""

    v: Array
    w: Array
    order: AnyArray
    clock: AscentClock


class Ascent(NamedTuple):
    """The result of a run of dual coordinate ascent, and the state for the next run."""

    clock: AscentClock
    sweeps: float
    gap: float  # an estimate


def ascend(
    design: Design, problem: AscentProblem, state: AscentState, epochs: int, tol: float, seed: int
) -> Ascent:
    """Coordinate ascent over the rows, which changes the state; see `RowDual`."""
    lines = design.row_lines
    kernel = kernel_for(lines, _core.dual_rows, _core.dual_rows_dense)
    return Ascent(*kernel(lines, *problem, *state, epochs, tol, seed))
