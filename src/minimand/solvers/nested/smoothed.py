"""Losses with kinks by smooth problems: the kinks are rounded off, less and less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...losses import Loss
from ...problem.intercept import recentred
from ...problem.objective import Meter, Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..smooth.run_newton import newton_steps
from ..sparse.working_groups import WorkingGroups
from ..succession import points_of
from ..traits import Trait, missing, traits_of
from .norm_level import NormLevel

_WIDTHS = 40  # smoothed problems over runs; safeguard: eight are usual
_HALVINGS = 2  # of the width from one to the next; measured on ten rankings: 4 takes a third more
_THINNING = 8  # factor: runs per run of a thinned problem; safeguard
_MANY_ROWS = 200  # rows per column, from which some of the runs are nearly as good; safeguard
_FEWEST_RUNS = 100  # of which some are taken; safeguard
_ROUGH = 1e-4  # share of the scale: gap of a smoothed problem of some runs; safeguard
_ON_SOME = 8  # halvings on some runs; measured: leaves 1e-6 of the scale, 1e5 items, 1e3 queries
_NARROWEST = 29  # halvings; safeguard: the last width is near rounding
_SHARE = 0.25  # share of the target that the smoothed problem may leave; safeguard
_ROUNDS = 30  # smoothed problems around multipliers; safeguard: five are usual
_NARROWER = 1 / 8  # factor from one width to the next there; safeguard
_WIDER = 4.0  # the same after a problem that was not solved; safeguard
_LOOSE = 0.01  # share of the last gap that a problem may leave; measured: 11×3 to 400×60, k ≤ 4
_FAST = 0.5  # share of the last gap: one below it is progress at the same width; measured there
_ENOUGH = 0.5  # share of the gap that a problem may leave to count as solved; safeguard
_INNER = 60  # iterations of one of them; safeguard: the next one goes on from there
_CALLS = 1e9  # units of `costs` that they take, whatever their size; measured: 0.3 to 1.9 s
_INSIDE = (WorkingGroups(), NormLevel())  # solvers of the smoothed problems
_OF_RUNS = (Trait.SUM_OVER_FEATURES, Trait.NO_BOUNDS, Trait.NO_INTERCEPT)


class Smoothed(Solver):
    """Minimises a smoothed form of the loss, then one of a much smaller width, and so on.

    The slopes of the smoothed loss are multipliers of the loss itself, so every solution has a gap
    in the problem with kinks. Over runs of rows, that gap falls with the square of the width.

    A loss of rows, max over θ of θ·z − ℓ*(θ), is rounded around the multipliers θ₀ of the last
    problem: max of θ·z − ℓ*(θ) − ½·width·‖θ − θ₀‖². This is the envelope of ℓ at z + width·θ₀, up
    to a constant: the offset changes and nothing else. The multipliers settle while the width is
    still moderate (the method of multipliers): it narrows only if they do not.
    """

    name = "smoothed"
    null_may_do = False
    shapes = (Trait.COLUMNS,)
    kind = (Trait.CONVEX_LOSS, Trait.CONVEX_PENALTY)
    needs = (Trait.COUPLED, Trait.SMOOTHABLE)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Over runs a sum over features, no intercept; over rows a sum over groups, or k scores."""
        if objective.loss.pooled:
            lacking = missing(_OF_RUNS, traits_of(objective))
            if lacking:
                return Verdict(False, self.without(lacking[0], objective))
            words = "kinks over runs and a sum over features: smoothed losses of falling width"
            return Verdict(True, words, 5.0 * costs.newton_on_runs(objective))
        smooth = _rounded(objective, 1.0, np.zeros(objective.null.z.shape))
        found = [solver.verdict(smooth, control) for solver in _INSIDE]
        best = min(found, key=lambda verdict: verdict.cost)
        if not best.ok:
            return Verdict(False, f"its smoothed forms are refused: {found[0].reason}")
        words = f"kinks rounded off less and less: {best.reason}"
        return Verdict(True, words, _CALLS + 10.0 * best.cost)  # 10: problems; estimate

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """One judged point for every width."""
        if objective.loss.pooled:
            yield from _over_runs(objective, start, control)
        else:
            yield from _over_rows(objective, start, control)


def _over_runs(objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
    """Newton's method for every width; after one that it does not solve, a wider one."""
    start, halved = _on_some_runs(objective, start, control)
    judgement = judge(objective, start)
    yield judgement
    jump, solved, goal = _HALVINGS, judgement.point, _SHARE * control.target
    for _ in range(_WIDTHS):
        smooth, point, left = _newton(objective, solved, halved, control)
        judged = _judged(objective, smooth, point, judgement)
        yield judged
        judgement = judged if judged.beats(judgement) else judgement
        if left <= goal:
            solved = point
        elif jump > 1:
            halved, jump = halved - jump, jump // 2
        if halved + jump > _NARROWEST or control.expired:
            return
        halved += jump


def _newton(
    objective: Objective, point: Point, halved: int, control: Control
) -> tuple[Objective, Point, float]:
    """The problem smoothed over 2^(−halved), its solution from a point, and what that leaves."""
    smooth = replace(objective, loss=_smooth(objective, 0.5**halved), meter=Meter())
    for found in newton_steps(smooth, point, control):
        if found.gap <= _SHARE * control.target or control.expired:
            break
    return smooth, found.point, found.gap


def _on_some_runs(objective: Objective, start: Point, control: Control) -> tuple[Point, int]:
    """A start from some of the runs, and how often they have halved the width.

    Their solution is off by about d/rows of the scale, which no parabola over all runs improves
    unless it is narrow.
    """
    (n, d), units = objective.design.shape, objective.units
    assert units is not None
    if start is not objective.null or n < _MANY_ROWS * d or units.size <= _FEWEST_RUNS:
        return start, 0
    thin = objective.thinned(_THINNING)
    rough = replace(control, target=_ROUGH * thin.scale, callbacks=())
    point, first = _on_some_runs(thin, thin.null, control)
    for halved in range(first, _ON_SOME + 1, _HALVINGS):
        _, point, _ = _newton(thin, point, halved, rough)
        if control.expired:
            break
    return objective.point(point.w, point.b), halved


def _over_rows(objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
    """A problem around the multipliers of the one before, for every width."""
    judgement = judge(objective, recentred(objective, start))
    yield judgement
    theta = np.zeros(objective.null.z.shape)
    steep = objective.loss.gradient(objective.null.z, objective.y)
    width = objective.scale / max(float(np.mean(steep**2)), 1e-300)
    point = judgement.point
    for _ in range(_ROUNDS):
        smooth = _rounded(objective, width, theta)
        solver = min(_INSIDE, key=lambda one: one.verdict(smooth, control).cost)
        before = min(judgement.gap, objective.scale)  # the gap is infinite until a bound is known
        goal = max(_SHARE * control.target, _LOOSE * before)
        inner = replace(control, target=goal, callbacks=())
        begin = smooth.point(point.w, point.b)
        for count, found in enumerate(points_of(solver, smooth, begin, inner)):
            point = found.point
            if found.gap <= inner.target or control.expired or count >= _INNER:
                break
        judged = _judged(objective, smooth, point, judgement)
        yield judged
        judgement = judged if judged.beats(judgement) else judgement
        if control.expired:
            return
        theta = smooth.loss.gradient(smooth.scores(point.w, point.b), objective.y)
        # Multipliers also settle at a wider parabola, where a problem is easier.
        gap = min(judged.gap, objective.scale)
        solved = found.gap <= max(inner.target, _ENOUGH * gap)
        if not solved:
            width *= _WIDER
        elif gap > _FAST * before:
            width *= _NARROWER


def _judged(objective: Objective, smooth: Objective, point: Point, before: Judgement) -> Judgement:
    """The solution of a smoothed problem, with its slopes as multipliers.

    Slopes of a narrow parabola depend on the last digits of the scores, so these are computed from
    w alone, as everyone who checks the gap will do.
    """
    objective.meter.passes += smooth.meter.passes
    slope = smooth.loss.gradient(smooth.scores(point.w, point.b), objective.y)
    same = objective.point(point.w, point.b)
    return judge(objective, same, [slope], known=[before.dual], raw=False)


def _smooth(objective: Objective, width: float) -> Loss:
    loss = objective.loss.smoothed(width)
    assert loss is not None
    return loss


def _rounded(objective: Objective, width: float, theta: Array) -> Objective:
    """The problem with kinks rounded off around the multipliers θ."""
    offset = width * theta
    weights = objective.loss.score_weights(objective.n_scores)
    if weights is not None:
        offset = offset / weights
    if objective.offset is not None:
        offset = offset + objective.offset
    return replace(
        objective,
        loss=_smooth(objective, width),
        offset=offset,
        meter=Meter(),
        path_facts=None,
        known=None,
    )
