"""The dual over known labellings as one quadratic program, where there are few of them.

min alpha/2·‖w‖² + Σ s_i ξ_i   where   ξ_i ≥ Δ_ic + w·a_ic   for every known labelling c of unit i

The multipliers of its rows are s_i β_ic. Features of very different sizes, or a small alpha, slow
the steps from unit to unit down; this program does not mind them.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ... import _core
from ..._base.typing import AnyArray, Array
from ..programs.quadratic_program import minimise_quadratic
from .graph_problem import GraphProblem

_MOST = 600  # planes and units; safeguard: a program of so many takes about a second
_NUMBERS = 4_000_000  # in their vectors, 32 MB; safeguard


def solve_small(problem: GraphProblem, ascent: _core.PlaneAscent) -> None:
    """Move the betas to the optimum over known planes, if these are few, and D rises by it."""
    planes = ascent.planes
    if planes > _MOST or planes * problem.size > _NUMBERS or not problem.mass.all():
        return
    rows, costs, betas, numbers = ascent.list(True)
    units = numbers.astype(np.int64)
    before = ascent.refresh()
    found = _multipliers(rows, costs, units, problem.mass, problem.l2)
    total = np.bincount(units, found, problem.mass.size)
    if not (np.isfinite(found).all() and (total > 0).all()):
        return
    ascent.place(found / total[units])
    if not ascent.refresh() >= before:
        ascent.place(betas)


def _multipliers(rows: Array, costs: Array, units: AnyArray, mass: Array, alpha: float) -> Array:
    """Those of the program, in the coordinates of an orthonormal basis of the planes."""
    scale = float(np.sqrt((rows**2).sum(axis=1).max())) or 1.0
    _, upper = linalg.qr(rows.T / scale, mode="economic")
    basis = upper.T  # the rows in fewer coordinates
    weight, count = float(mass.mean()), mass.size
    curvature = np.full(basis.shape[1], alpha / (scale**2 * weight))
    quadratic = np.concatenate([curvature, np.zeros(count)])
    linear = np.concatenate([np.zeros(basis.shape[1]), mass / weight])
    slacks = np.zeros((rows.shape[0], count))
    slacks[np.arange(rows.shape[0]), units] = -1.0
    found = minimise_quadratic(quadratic, linear, np.hstack([basis, slacks]), -costs)
    return np.maximum(found.multipliers, 0.0)
