"""Dual coordinate ascent over rows: the records that the compiled kernels take and give."""

from __future__ import annotations

from typing import NamedTuple

from .. import _core
from .._base.typing import AnyArray, Array
from ..design import Design
from .lines import kernel_for

AscentClock = tuple[float, float, int, float]
"""The intercept, its step, how many rows are not skipped, and how far from a knot they are."""


class AscentProblem(NamedTuple):
    """A loss of single rows with an L2 penalty, as the compiled ascent sees it."""

    psi: tuple[Array, Array, Array, Array, Array] | str  # pieces, or the name of another function
    rows: tuple[Array, Array, Array, Array]  # sign, shift, mass, and squares
    inverse: Array  # 1/l2; one number where all are equal
    intercept: tuple[bool, float]  # whether it is free, and about how far a t is from a knot


class AscentState(NamedTuple):
    """What an ascent moves, v and w in place, and what the run before has left."""

    v: Array
    w: Array
    order: AnyArray
    clock: AscentClock


class Ascent(NamedTuple):
    """What a run of dual coordinate ascent did, and what it wants to be told the next time."""

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
