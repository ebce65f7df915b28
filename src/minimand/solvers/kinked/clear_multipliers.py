"""Dual points that show which samples are at a kink of the loss and which are not.

At an optimum, a sample off every kink has the slope of its piece as its multiplier: for the hinge,
a margin above 1 gives 0 and one below 1 gives 1. Interior methods approach such slopes but never
reach them, so that every sample would count as a support vector.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..._base.typing import Array
from ..._base.watch import INTERRUPT, interrupt
from ...certificate import judge
from ...problem.objective import EPS, Objective, Point
from ..base import Solution

_MOST_FREE = 500  # samples at kinks whose multipliers are computed together; safeguard
_LARGEST_SYSTEM = 2_000_000  # numbers in their rows; safeguard of memory


def settled(objective: Objective, solution: Solution, tol: float) -> Solution:
    """The solution of a loss with kinks, `sharpened` unless Ctrl-C or the time limit came."""
    if solution.stopped_by == INTERRUPT or solution.stopped_by.startswith("max_seconds"):
        return solution
    try:
        return sharpened(objective, solution, tol)
    except KeyboardInterrupt:
        interrupt()
        return replace(solution, stopped_by=INTERRUPT)


def sharpened(objective: Objective, solution: Solution, tol: float) -> Solution:
    """The solution, of a loss with kinks, with multipliers at the slopes of their pieces.

    The referee decides: the result meets tol, or has a gap no larger than before, or the solution
    stays as it is. Samples that cannot be decided keep their multipliers. A model without columns
    is made of its multipliers, which steps of pairs have put at the ends of their ranges.
    """
    old = solution.certificate
    if not objective.has_columns:
        return solution
    if not objective.convex or old.dual_point is None or not 0 < old.gap < np.inf:
        return solution
    allowed = max(tol * objective.scale, old.gap)
    for caution in (1.0, 30.0, 1000.0):  # factors of the distance to a kink; safeguard
        plain = _plain(objective, solution.point, old.dual_point, caution)
        if np.array_equal(plain.theta, old.dual_point):
            break
        choices = [_balanced(objective, choice) for choice in (plain, _matched(objective, plain))]
        duals = [theta for theta in choices if theta is not None]
        found = judge(objective, solution.point, duals, raw=not duals)
        if duals and found.gap <= allowed:
            certificate = found.certificate(objective, old.iterations, old.seconds)
            return solution.certified(certificate)
    return solution


class _Plain(NamedTuple):
    """Multipliers, the range of each, and the model they belong to."""

    theta: Array
    low: Array
    high: Array
    w: Array


def _plain(objective: Objective, point: Point, theta: Array, caution: float) -> _Plain:
    """θ with every multiplier moved to the slope at z, unless a kink is nearer than the slope.

    At the optimum the product of two distances is zero, that of t to the kink and that of θ to the
    slope. The smaller one is taken to be zero, each measured in its own unit; the unit of scores is
    the loss of the null model per unit of the largest jump. With more ``caution``, samples a little
    further from a kink keep their multipliers too.
    """
    plq = objective.kinks
    assert plq is not None
    t, v = plq.at(point.z), plq.sign * theta
    jump = float(plq.pieces.jumps.max())
    reach = caution * objective.scale / jump * np.abs(v - plq.pieces.slope(t)) / jump
    least, greatest = plq.pieces.subgradients(t, reach)
    signed = plq.sign > 0
    # In terms of θ, with a negative sign, the least slope is the greatest.
    low, high = np.where(signed, least, -greatest), np.where(signed, greatest, -least)
    return _Plain(np.clip(theta, low, high), low, high, point.w)


def _matched(objective: Objective, plain: _Plain) -> _Plain:
    """The same, with samples at kinks making up for what the others have moved.

    Under a quadratic penalty Xᵀ(mass∘θ) = −l2∘w: a least-squares problem in a few multipliers.
    """
    theta, low, high, w = plain
    l2 = objective.penalty.ridge
    free = np.flatnonzero((theta > low) & (theta < high))
    small = 0 < free.size <= min(_MOST_FREE, _LARGEST_SYSTEM // w.size)
    if l2 is None or not l2.all() or not small:
        return plain
    unit = np.sqrt(l2)
    missing = (objective.backward(objective.mass * theta) + l2 * w) / unit
    mass = objective.mass[free]
    system = objective.design.rows(free).rmatvec(np.diag(mass)) / unit[:, None]
    if objective.intercept:  # Σ mass·θ = 0, with a weight of 1e3 rows (safeguard)
        weight = 1e3 * float(np.linalg.norm(system)) / float(np.linalg.norm(mass))
        system = np.vstack([system, weight * mass])
        missing = np.append(missing, weight * objective.mean(theta))
    theta = theta.copy()
    theta[free] -= linalg.lstsq(system, missing, check_finite=False)[0]
    return plain._replace(theta=np.clip(theta, low, high))


def _balanced(objective: Objective, plain: _Plain) -> Array | None:
    """θ with Σ mass·θ = 0 if there is an intercept; None if the ranges leave no room for that.

    Multipliers strictly inside their range move first.
    """
    theta, low, high, _ = plain
    total = objective.mean(theta)
    # 16 ulp: rounding; safeguard.
    if not objective.intercept or abs(total) <= 16 * EPS * objective.mean(np.abs(theta)):
        return theta
    room = low - theta if total > 0 else high - theta
    inside = (theta > low) & (theta < high)
    for movable in (np.where(inside, room, 0.0), room):
        most = objective.mean(movable)
        if abs(most) >= abs(total):
            return theta - (total / most) * movable
    return None
