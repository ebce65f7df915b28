"""The dual over known labellings as one quadratic program, where it is small.

min alpha/2·‖w‖² + Σ s_i ξ_i   where   ξ_i ≥ Δ_ic + w·a_ic   for every known labelling c of unit i

The multipliers of its rows are s_i β_ic. Features of very different sizes, or a small alpha, slow
the steps from unit to unit down; this program does not mind them.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .... import _core
from ...._base.threads import one_blas_thread
from ...._base.typing import AnyArray, Array
from ...programs.quadratic_program import RowsWithSlacks, Saddle, minimise_quadratic
from ..graph_problem import GraphProblem

_WORK = 2e8  # planes times squared coordinates; safeguard: a program of so many takes a second
_FEW = 300  # weights, up to which no basis mixes those of different units; safeguard
_NUMBERS = 4_000_000  # in their vectors, 32 MB; safeguard


def solve_small(problem: GraphProblem, ascent: _core.PlaneAscent) -> Array | None:
    """Move the betas to the optimum over known planes, if that is cheap, and D rises by it.

    The weights of the program, None if there was none: w(β) is a sum in which features of large
    units cancel, and has fewer correct digits.
    """
    planes = ascent.planes
    coordinates = min(planes, problem.size)
    cheap = float(planes) * coordinates**2 <= _WORK and planes * problem.size <= _NUMBERS
    if not cheap or not problem.mass.all():
        return None
    rows, costs, betas, numbers = ascent.list(True)
    units = numbers.astype(np.int64)
    before = ascent.refresh()
    with one_blas_thread():  # hundreds of small factors: others would mostly wait
        w, found = _solution(rows, costs, units, problem.mass, problem.l2)
    total = np.bincount(units, found, problem.mass.size)
    if not (np.isfinite(found).all() and np.isfinite(w).all() and (total > 0).all()):
        return None
    ascent.place(found / total[units])
    if not ascent.refresh() >= before:
        ascent.place(betas)
    return w


def _solution(
    rows: Array, costs: Array, units: AnyArray, mass: Array, alpha: float
) -> tuple[Array, Array]:
    """Weights and multipliers of the program; few planes of many weights are written in a basis."""
    span: Array | None = None
    if rows.shape[0] < rows.shape[1] and rows.shape[1] > _FEW:
        span, upper = linalg.qr(rows.T, mode="economic")
        rows = upper.T
    scale = np.sqrt((rows**2).sum(axis=0))  # coordinates in units of their own
    scale[scale == 0] = 1.0
    basis = rows / scale
    weight, count = float(mass.mean()), mass.size
    unit = float(costs.max(initial=0.0)) or 1.0  # of w and ξ: costs are 1 at most then
    curvature = alpha * unit / (scale**2 * weight)
    quadratic = np.concatenate([curvature, np.zeros(count)])
    linear = np.concatenate([np.zeros(basis.shape[1]), mass / weight])
    # w = 0 with slacks above all costs, and multipliers shared evenly by the planes of a unit.
    inside = np.concatenate([np.zeros(basis.shape[1]), np.full(count, 2.0)])
    even = (mass / weight / np.bincount(units, minlength=count))[units]
    program = RowsWithSlacks(basis, units, count)
    start = Saddle(inside, even)
    found = minimise_quadratic(quadratic, linear, program, -costs / unit, start)
    w = unit * found.x[: basis.shape[1]] / scale
    return w if span is None else span @ w, np.maximum(found.multipliers, 0.0)
