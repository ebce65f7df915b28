"""The referee: a bound on the distance of a point from the optimum.

For dual multipliers θ (with uᵢ = massᵢ·θᵢ) that satisfy the constraints of the dual problem,

    P(w, b) − P* ≤ Σ massᵢ·[ℓ(zᵢ) + ℓ*(θᵢ) − θᵢzᵢ] + [Ω(w) + Ω*(−Xᵀu) + w·Xᵀu] + b·Σu.

Every bracket is a Fenchel-Young term ≥ 0, by sample and by feature; Σu = 0 when the intercept is
free, (Xᵀu)ⱼ = 0 for a free column, ≥ 0 for one that may only grow. The gap is that sum and never
P − D, which would lose all digits. A solver never certifies itself: it calls `judge`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._base.typing import Array
from ..losses import Terms
from ..problem.column_units import ColumnUnits
from ..problem.intercept import balance, balanced_gradient, best_shift
from ..problem.objective import Objective, Point
from .finding import Dual, Judgement, is_balanced, slack
from .in_units import outside
from .measure import (
    Measured,
    measure,
    measure_zero,
    tightest,
    with_rays,
    without_constraints,
)
from .repair_scores import balance_scores

if TYPE_CHECKING:
    from ..problem.tangent import Tangent


_OF_TANGENT = "in the convex problem that is tangent to the objective at the model, "


def judge(
    objective: Objective,
    point: Point,
    duals: Iterable[Array] = (),
    known: Iterable[Dual] = (),
    *,
    raw: bool = True,
    thorough: bool = False,
) -> Judgement:
    """The smallest gap at ``point`` over several dual points.

    If the problem is not convex, the gap is that of its convex tangent at the point.

    Parameters
    ----------
    duals : multipliers θ proposed by a solver; they are moved into the dual's domain first.
    known : dual points that were judged before, whose slope needs no pass over the data.
    raw : whether the gradient of the loss at the point is a candidate too; it is the first
        column of the pass, and a solver needs its slope to go on. Without ``raw`` and ``duals``
        there is no pass at all.
    thorough : repair dual points for unpenalised columns even if the gap is large, and try
        leaving out constraints that are inactive at the point and penalties that are negligible.
    """
    if not objective.convex:
        from ..problem.tangent import Tangent

        tangent = Tangent.at(objective, point)
        duals = [tangent.dual_inside(dual) for dual in (*duals, *(dual.theta for dual in known))]
        inside = tangent.inside(point)
        return lifted(judge(tangent.problem, inside, duals, raw=raw, thorough=thorough), tangent)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _judge(objective, point, duals, [*known], raw, thorough)


def lifted(judgement: Judgement, tangent: Tangent) -> Judgement:
    """A judgement of a tangent problem as one of the problem below it."""
    point = tangent.outside(judgement.point)
    whole, unit = tangent.whole, tangent.unit
    primal, gap = whole.primal(point), unit * judgement.gap
    dual = judgement.dual
    theta, slope = tangent.dual_outside(dual.theta), unit * dual.slope
    image = None if dual.image is None else unit * dual.image
    return replace(
        judgement,
        point=point,
        primal=primal,
        gap=gap,
        dual=Dual(theta, tangent.widened(slope), primal - gap, image=image),
        terms=judgement.terms if whole.loss.convex else whole.terms(point.z),
        slope=tangent.widened(unit * judgement.slope),
        samples=lambda: unit * judgement.by_sample,
        by_feature=tangent.widened(unit * judgement.by_feature),
        promise=unit * judgement.promise,
        infeasibility=judgement.infeasibility and _OF_TANGENT + judgement.infeasibility,
        kind="stationary",
    )


def _judge(
    objective: Objective,
    point: Point,
    duals: Iterable[Array],
    known: list[Dual],
    raw: bool,
    thorough: bool,
) -> Judgement:
    terms = objective.terms(point.z)
    proposed = [*_admissible(objective, duals, terms)] if duals else []
    if known:  # `serves` takes time only where slopes of a path are not exact
        known = [old for old in known if old.exact is None or old.serves(point.w)]
    thetas, stationary = proposed, False
    if raw or not (proposed or known):
        gradient = _centred_gradient(objective, point, terms)
        thetas, stationary = [gradient, *proposed], gradient is terms.gradient
    slopes = objective.slopes(point.w, thetas) if thetas else []
    primal = objective.mean(terms.value) + objective.price(point)
    fresh: list[Dual] = []
    found: list[Measured] = []
    images = [None] * len(slopes) if objective.has_columns else objective.images(slopes)
    for theta, (slope, exact), image in zip(thetas, slopes, images):
        fresh.append(Dual(theta, slope, exact=exact, image=image))
        found.append(measure(objective, point, fresh[-1], raw=stationary and not found))
    if known:
        found += _still_promising(objective, point, primal, known, found)
    best = tightest(found)
    # θ = 0 is always feasible: the gap is at most P − mean infimum.
    if not best.gap <= objective.scale:
        found.append(measure_zero(objective, point, terms))
        best = tightest(found)
    finite = math.isfinite(primal)
    if objective.has_rays and finite:
        best = with_rays(objective, point, terms, found, thorough)
    if thorough and finite:
        best = tightest([best, *without_constraints(objective, point, terms, found)])
        proposed = [*thetas, *(old.theta for old in known)]
        best = tightest([best, *_in_units(objective, point, proposed)])
    gap = best.gap if finite else np.inf
    return Judgement(
        point=point,
        primal=primal,
        gap=gap,
        dual=best.dual._replace(value=primal - gap + slack(primal)),
        terms=terms,
        slope=(fresh or known)[0].slope,
        samples=best.samples,
        by_feature=best.by_feature,
        promise=min(gap, best.promise),
        infeasibility=""
        if math.isfinite(gap)
        else best.infeasibility or "the objective is infinite",
    )


def _in_units(objective: Objective, point: Point, thetas: list[Array]) -> list[Measured]:
    """The gap of the problem in units of its columns, if their sizes or penalties are extreme."""
    columns = ColumnUnits.of(objective)
    if columns is None:
        return []
    inner = judge(columns.problem, columns.inside(point), thetas, raw=False, thorough=True)
    found = outside(columns, inner)
    return [Measured(found.gap, found.samples, found.by_feature, found.dual, found.infeasibility)]


def _still_promising(
    objective: Objective, point: Point, primal: float, known: list[Dual], found: list[Measured]
) -> list[Measured]:
    """Measure older dual points, if the bounds they proved could still be the best."""
    least = tightest(found).gap if found else np.inf
    if objective.has_rays and not objective.loss.smooth:
        least = np.inf  # before its repair, the gap of a gradient at kinks says nothing
    again: list[Measured] = []
    for old in known:
        if not (found and primal - old.value >= least):
            again.append(measure(objective, point, old))
    return again


def _centred_gradient(objective: Objective, point: Point, terms: Terms) -> Array:
    """The gradient of the loss at the best intercept for these scores."""
    if not objective.intercept:
        return terms.gradient
    mean, size = objective.row_mean(terms.gradient), objective.row_mean_of(np.abs, terms.gradient)
    if is_balanced(mean, size):
        return terms.gradient  # the intercept is the best one already
    # The null model has the best intercept already, exactly so for losses with kinks.
    centred = point is objective.null and objective.kinks is not None
    shift = 0.0 if centred else best_shift(objective, point.z)
    moves = bool(shift) if objective.n_scores == 1 else bool(np.any(shift))
    z = point.z + shift if moves else point.z
    balanced = balanced_gradient(objective, z)
    if balanced is not None:
        return balanced
    moved = objective.loss.gradient(z, objective.y) if moves else terms.gradient
    if objective.single:
        return balance(objective, moved)
    found = balance_scores(objective, moved, objective.terms(z).curvature)
    return np.zeros_like(moved) if found is None else found


def _admissible(objective: Objective, duals: Iterable[Array], terms: Terms) -> Iterator[Array]:
    """Each θ moved into the domain of ℓ*, with Σ mass·θ = 0 if the intercept is free.

    A θ for which no such point is found is left out.
    """
    for theta in duals:
        if objective.single or not objective.intercept:
            yield admissible(objective, theta)
            continue
        inside = objective.loss.into_domain(theta, objective.y)
        found = balance_scores(objective, inside, terms.curvature)
        if found is not None:
            yield found


def admissible(objective: Objective, theta: Array) -> Array:
    """θ moved into the domain of ℓ* and balanced, where every multiplier may shrink by itself."""
    inside = objective.loss.into_domain(theta, objective.y)
    return balance(objective, inside) if objective.intercept else inside
