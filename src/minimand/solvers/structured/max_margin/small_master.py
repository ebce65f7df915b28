"""The dual over known labellings as one quadratic program, where it is small.

min Ω(w) + ½ρ‖w − c‖² + Σ s_i ξ_i   where   ξ_i ≥ Δ_ic + w·a_ic   for known labellings c of unit i

The multipliers of its rows are s_i β_ic. Features of very different sizes, or a small alpha, slow
the steps from unit to unit down; this program does not mind them.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ...._base.threads import one_blas_thread
from ...._base.typing import AnyArray, Array
from ...programs.quadratic_program import RowsWithSizes, RowsWithSlacks, Saddle, minimise_quadratic
from .master import Master, Sizes

_WORK = 2e8  # planes times squared coordinates; safeguard: a program of so many takes a second
_FEW = 300  # weights, up to which no basis mixes those of different units; safeguard
_NEAR = 0.5  # share of l1 that pulls at a weight of zero to be in the program; safeguard
_NUMBERS = 4_000_000  # in their vectors, 32 MB; safeguard


def solve_small(master: Master) -> list[Array]:
    """Move the betas to the optimum over known planes, if that is cheap, and D rises by it.

    The weights of the program, if there was one: w(β) is a sum in which features of large units
    cancel, and has fewer correct digits. With an l1 part weights that are far from leaving zero are
    left out, and the same weights with the zeros of w(β) follow.
    """
    problem, ascent = master.problem, master.ascent
    planes, chosen = ascent.planes, np.arange(problem.size)
    before, base = ascent.refresh(), master.rho * master.centre
    if problem.l1 and float(planes) * chosen.size**2 > _WORK:
        pull = np.abs(base - ascent.slope())
        chosen = np.flatnonzero((pull > _NEAR * master.penalty.l1) | (master.centre != 0))
    coordinates = chosen.size if problem.l1 else min(planes, chosen.size)
    cheap = float(planes) * coordinates**2 <= _WORK and planes * problem.size <= _NUMBERS
    if not cheap or not problem.mass.all() or not chosen.size:
        return []
    rows, costs, betas, numbers = ascent.list(True)
    units = numbers.astype(np.int64)
    l1 = master.penalty.l1[chosen] if problem.l1 else 0.0
    penalty = Sizes(l1, problem.l2 + master.rho)
    with one_blas_thread():  # hundreds of small factors: others would mostly wait
        found = _solution(rows[:, chosen], costs, units, problem.mass, penalty, base[chosen])
    total = np.bincount(units, found.multipliers, problem.mass.size)
    if not (
        np.isfinite(found.multipliers).all() and np.isfinite(found.x).all() and (total > 0).all()
    ):
        return []
    ascent.place(found.multipliers / total[units])
    if not ascent.refresh() >= before:
        ascent.place(betas)
    w = np.zeros(problem.size)
    w[chosen] = found.x
    # An interior point has small numbers in place of zeros.
    return [w, np.where(ascent.weights() == 0, 0.0, w)] if problem.l1 else [w]


def _solution(
    rows: Array, costs: Array, units: AnyArray, mass: Array, penalty: Sizes, base: Array
) -> Saddle:
    """Weights and multipliers of the program; few planes of many weights are written in a basis."""
    span: Array | None = None
    sized = bool(np.any(penalty.l1))
    if rows.shape[0] < rows.shape[1] and rows.shape[1] > _FEW and not sized:
        span, upper = linalg.qr(rows.T, mode="economic")
        rows, base = upper.T, base @ span
    d, count, weight = rows.shape[1], mass.size, float(mass.mean())
    scale = np.sqrt((rows**2).sum(axis=0))  # coordinates in units of their own
    scale[scale == 0] = 1.0
    basis = rows / scale
    unit = float(costs.max(initial=0.0)) or 1.0  # of w and ξ: costs are 1 at most then
    curvature = penalty.l2 * unit / (scale**2 * weight)
    quadratic = np.concatenate([curvature, np.zeros(count)])
    linear = np.concatenate([-base / (scale * weight), mass / weight])
    # w = 0 with slacks above all costs, and multipliers shared evenly by the planes of a unit.
    inside = np.concatenate([np.zeros(d), np.full(count, 2.0)])
    even = (mass / weight / np.bincount(units, minlength=count))[units]
    limits, program = -costs / unit, RowsWithSlacks(basis, units, count)
    if sized:
        steep, program = penalty.l1 / (scale * weight), RowsWithSizes(basis, units, count)
        quadratic = np.concatenate([quadratic, np.zeros(d)])
        linear, limits = np.concatenate([linear, steep]), np.concatenate([limits, np.zeros(2 * d)])
        inside = np.concatenate([inside, np.full(d, 2.0)])
        even = np.concatenate([even, 0.5 * steep, 0.5 * steep])
    found = minimise_quadratic(quadratic, linear, program, limits, Saddle(inside, even))
    w = unit * found.x[:d] / scale
    multipliers = np.maximum(found.multipliers[: costs.size], 0.0)
    return Saddle(w if span is None else span @ w, multipliers)
