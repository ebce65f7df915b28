"""The gap of a dual point: scaled into the domain, repaired, or of a relaxed problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from ..losses import Terms
from ..losses.curvature import beside
from ..penalties import Young
from ..problem.objective import EPS, Objective, Point
from .finding import Dual
from .repair import Cleared, clear_rays, leftover

UNATTAINED = (
    "the unpenalised columns fit the data perfectly (separable classes), so the loss falls for "
    "ever as the coefficients grow and no minimiser exists"
)
_SHRINKING = (1.0, 0.99, 0.9, 0.7)  # factors of θ that make room for a repair; safeguard
_MOST_FAINT = 100  # directions that are cleared, as more may explain everything; safeguard


class Measured(NamedTuple):
    """The gap for one dual point, with its terms."""

    gap: float
    samples: Callable[[], Array]  # computes the terms of the units, rarely needed
    by_feature: Array | None
    dual: Dual
    infeasibility: str
    promise: float = np.inf  # an estimate of the gap after a repair, if the gap is infinite


def tightest(found: Iterable[Measured]) -> Measured:
    """The smallest gap, which is the best bound."""
    return min(found, key=attrgetter("gap"))


def measure(objective: Objective, point: Point, dual: Dual, *, raw: bool = False) -> Measured:
    """Scale the dual point into the domain of Ω* and add up the Fenchel-Young terms.

    With ``raw``, θ is the gradient of the loss at z. If the penalty has a small quadratic part, Ω*
    is finite but huge outside the l1 box; there the same point scaled into the box can be much
    better, so both are measured.
    """
    best: Measured | None = None
    if dual.image is None:
        shares = objective.penalty.shares(-dual.slope)
    else:
        shares = objective.shares(dual.slope, dual.image)
    for s in shares:
        scaled = dual if s == 1.0 else dual.scaled(s)
        gap, by_feature = _charged(objective, point, scaled)
        samples: Callable[[], Array]
        if raw and s == 1.0:  # the Fenchel-Young terms of the gradient itself vanish
            samples = partial(np.zeros, objective.mass.shape)
        else:
            samples = partial(objective.young, point.z, scaled.theta)
            gap += objective.mean_young(point.z, scaled.theta)
        if math.isnan(gap):
            gap = np.inf  # inf − inf in a term that overflows proves nothing
        if best is None or gap < best.gap:
            best = Measured(gap, samples, by_feature, scaled, "")
    assert best is not None
    return best


def measure_zero(objective: Objective, point: Point, terms: Terms) -> Measured:
    """The gap of θ = 0."""
    samples = partial(objective.above_infimum, terms.value)
    image = None if objective.has_columns else np.zeros(point.z.shape)
    nothing = Dual(np.zeros(point.z.shape), np.zeros_like(point.w), image=image)
    charge = _charged(objective, point, nothing)
    gap = objective.mean_above_infimum(terms.value) + charge.total
    return Measured(gap, samples, charge.parts, nothing, "")


def _charged(objective: Objective, point: Point, dual: Dual) -> Young:
    """The Fenchel-Young term of the penalty, without slopes that a repair accounts for."""
    if dual.image is not None:
        dual = dual._replace(plane=objective.plane(point, dual.slope, dual.image))
    elif objective.has_rays:
        slope = np.where(objective.penalty.unscalable(-dual.slope), 0.0, dual.slope)
        dual = dual._replace(slope=slope)
    return objective.penalty.fenchel_young(point.w, dual)


def without_constraints(
    objective: Objective, point: Point, terms: Terms, found: list[Measured]
) -> list[Measured]:
    """The gaps of the problem without the constraints that are inactive at the point.

    It has the same primal value and a lower optimum, so its bound holds here as well. Distant
    bounds and large balls would multiply the rounding of the slope by their size.
    """
    relaxed = objective.penalty.relaxed(point.w)
    if relaxed is None:
        return []
    other = objective.with_penalty(relaxed)
    again = [measure(other, point, candidate.dual) for candidate in found]
    return [with_rays(other, point, terms, again, True)] if other.has_rays else again


def _pull(objective: Objective, terms: Terms, slope: Array) -> float:
    """About what one step along the worst column with a wrong sign would gain: slope²/2h.

    At w = 0 the other terms of the gap of a cone vanish however far the optimum is. For a loss
    without curvature the gain is proportional to the slope.
    """
    penalty = objective.penalty
    wrong = penalty.unscalable(-slope)
    if not objective.loss.smooth:
        wrong &= ~penalty.free  # the slope of a subgradient says nothing of them
    if not wrong.any():
        return 0.0
    spread = np.broadcast_to(beside(objective.spread, wrong), wrong.shape)[wrong]
    bend = spread * terms.curvature.max
    if not objective.loss.smooth and not bend.any():
        steep = np.sqrt(spread) * float(np.sum(objective.row_mean(np.abs(terms.gradient))))
        share = np.abs(slope[wrong]) / np.maximum(steep, 1e-300)
        return float(np.max(np.minimum(share, 1.0))) * objective.scale
    return float(np.max(0.5 * slope[wrong] ** 2 / np.maximum(bend, 1e-300)))


def with_rays(
    objective: Objective, point: Point, terms: Terms, found: list[Measured], thorough: bool
) -> Measured:
    """Repair Xᵀu on unpenalised columns, for the dual point with the smallest promised gap.

    A repair costs passes, so unless ``thorough`` it waits until the rest of the gap is so small
    that the repair matters.
    """
    if objective.loss.smooth or not objective.penalty.free.all():
        found = [f._replace(gap=f.gap + _pull(objective, terms, f.dual.slope)) for f in found]
    order = sorted(found, key=attrgetter("gap"))
    above = objective.mean_above_infimum(terms.value)
    near = 1e-3 if thorough else 1e-5  # share of the scale: loss near its infimum; safeguard
    if not objective.loss.attained(objective.y) and above <= near * objective.scale:
        return order[0]._replace(gap=np.inf, infeasibility=UNATTAINED)
    # As many columns as rows can usually fit them all; then θ = 0, which needs no repair, is best.
    wide = objective.n_features >= objective.n_samples
    enough = near if wide and not thorough else EPS
    if above <= enough * objective.scale:
        perfect = measure_zero(objective, point, terms)
        if perfect.gap <= enough * objective.scale:
            return perfect
    promising = thorough or order[0].gap <= 1e-3 * objective.scale  # share of the scale; safeguard
    if not promising:
        words = "not near a stationary point yet"
        return order[0]._replace(gap=np.inf, infeasibility=words, promise=order[0].gap)
    reason = ""
    repaired: list[Measured] = []
    if not objective.loss.smooth or above <= near * objective.scale:
        repaired.append(measure_zero(objective, point, terms))
    for candidate in order:
        cleared = clear_rays(
            objective, point.w, candidate.dual.theta, candidate.dual.slope, terms.curvature
        )
        reason = cleared.reason
        if reason:
            continue
        fixed = _measured(objective, point, cleared)
        if np.isfinite(fixed.gap):
            if objective.loss.smooth:
                return tightest([fixed, *repaired])
            repaired.append(fixed)  # at a kink the gradient is as good a start as others
        reason = "no dual point satisfies the constraint of the unpenalised columns"
    if repaired:
        return tightest(repaired)
    return order[0]._replace(gap=np.inf, infeasibility=reason, promise=order[0].gap)


def _measured(objective: Objective, point: Point, cleared: Cleared) -> Measured:
    """The gap of a repaired dual point, plus what is left of slopes that should vanish."""
    fixed = measure(objective, point, Dual(cleared.theta, cleared.slope))
    left = leftover(objective, point.w, fixed.dual.theta, fixed.dual.slope)
    return fixed._replace(gap=fixed.gap + left)


def hidden_gain(objective: Objective, point: Point, terms: Terms, dual: Dual, gap: float) -> float:
    """The increase of the gap if columns that differ in their last places only may be used.

    No model in working precision can use that difference, but the exact optimum may.
    """
    searched = objective.single and objective.has_free_columns
    basis = objective.free_basis if searched else None
    if basis is None or not basis.faint.size:
        return 0.0
    least = objective.mean(terms.value) - objective.infimum
    count = basis.faint.shape[1]
    if count <= _MOST_FAINT and basis.rank + count < objective.n_samples:
        for share in _SHRINKING:
            theta, slope = share * dual.theta, share * dual.slope
            cleared = clear_rays(objective, point.w, theta, slope, terms.curvature, faint=True)
            if not cleared.reason:
                least = min(least, _measured(objective, point, cleared).gap)
    return max(least - gap, 0.0)
