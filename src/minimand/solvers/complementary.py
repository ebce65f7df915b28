"""Dual points that say plainly which samples are at a kink of the loss and which are not.

At an optimum a sample that is off every kink has the slope of its piece as its multiplier: a
margin beyond 1 gives the hinge the multiplier 0, one below 1 gives 1. Interior methods come near
such slopes and never reach them, so that every sample would count as a support vector.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Array, BoolArray
from ..certificate import judge
from ..objective import EPS, Objective
from .base import Solution


def sharpened(objective: Objective, solution: Solution, tol: float) -> Solution:
    """The solution with multipliers at the slopes of their pieces, if the gap allows it.

    The referee decides: what is returned meets tol, or has a gap that is not larger than before.
    """
    old = solution.certificate
    if objective.kinks is None or old.dual_point is None or not 0 < old.gap < np.inf:
        return solution
    theta = complementary(objective, solution.point.z, old.dual_point)
    if theta is None or np.array_equal(theta, old.dual_point):
        return solution
    found = judge(objective, solution.point, [theta], raw=False)
    if not found.gap <= max(tol * objective.scale, old.gap):
        return solution
    certificate = replace(
        found.certificate(objective), iterations=old.iterations, seconds=old.seconds
    )
    return replace(solution, certificate=certificate)


def kink_unit(objective: Objective) -> float:
    """How far from a kink is far: what the null model loses per unit of the largest jump."""
    plq = objective.kinks
    return np.inf if plq is None else objective.scale / float(plq.pieces.jumps.max())


def complementary(objective: Objective, z: Array, theta: Array) -> Array | None:
    """θ with every multiplier moved to the slope at z, unless a kink is nearer than the slope.

    A product of two distances, one to the kink and one to the slope, vanishes at the optimum: the
    smaller of the two is the one that does, each measured in its own unit. What the intercept's
    constraint Σ mass·θ = 0 then lacks, the samples at kinks supply; None if they cannot.
    """
    plq = objective.kinks
    assert plq is not None
    t, v = plq.at(z), plq.sign * theta
    jump = float(plq.pieces.jumps.max())
    reach = kink_unit(objective) * np.abs(v - plq.pieces.slope(t)) / jump
    least, greatest = plq.pieces.subgradients(t, reach)
    v = np.clip(v, least, greatest)
    if objective.intercept:
        signed = plq.sign > 0
        # In terms of θ, where the sign is negative, the least slope is the greatest.
        low, high = np.where(signed, least, -greatest), np.where(signed, greatest, -least)
        return _balanced(objective, plq.sign * v, low, high)
    return plq.sign * v


def _balanced(objective: Objective, theta: Array, low: Array, high: Array) -> Array | None:
    """θ within [low, high] with Σ mass·θ = 0; those strictly inside move first."""
    total = objective.mean(theta)
    if abs(total) <= 16 * EPS * objective.mean(np.abs(theta)):
        return theta
    room = low - theta if total > 0 else high - theta
    inside: BoolArray = (theta > low) & (theta < high)
    for movable in (np.where(inside, room, 0.0), room):
        most = objective.mean(movable)
        if abs(most) >= abs(total):
            return theta - (total / most) * movable
    return None
