"""Non-convex losses: a convex fit, then losses that approach the true one, then its tangents."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...problem.objective import Objective, Point
from ...problem.tangent import Tangent, composed
from ..base import Control, Solver, Verdict
from ..steps.anderson import Anderson
from ..steps.progress import Progress
from ..succession import points_of
from ..traits import Trait
from .reweighted import stretched

_ROUNDS = 2000  # tangents of the final descent; safeguard
_TRIAL = 3  # tangents that a start gets before it is compared with others; safeguard
_FINALISTS = 3  # starts that are followed further; safeguard
_KNOWN = 5  # factor: fewer restarts if the start is a model, found by an earlier search; safeguard
_INNER = 60  # iterations of a convex solver on one tangent; safeguard
_ROUGH = 1e-4  # share of the scale: gap of the problems of the search; safeguard
_SHARE = 0.05  # share of a tangent's first gap that its minimisation may leave; safeguard
_MILDER = (1e2, 1e4)  # factors of the null model's weights that cap too steep tangents; safeguard
_DEGREE = 1.4  # factor between one milder loss and the next; safeguard
_MOST_DEGREES = 40  # milder losses; safeguard
_TANGENTS = 100  # convex fits, the cost of the whole in the verdict; estimate
_MOST_PASSES = 8_000, 16_000  # passes over the data, of the search and in all; safeguard
_SMALL, _MORE = 10_000, 4  # stored numbers up to which so many times as many passes; safeguard
_ENOUGH = 20  # rows per column in the search, if these are more than the next; safeguard
_ENOUGH_ROWS = 4000  # rows of it at least; safeguard: enough to tell which samples are outliers


class Graduated(Solver):
    """A convex fit; milder losses γφ(s/γ), γ falling to 1; then tangents of the loss itself.

    Every problem on the way is a convex one with sample weights, minimised by the cheapest solver
    that accepts it. Several starts are compared: the convex fit (Huber's loss at the scale of the
    residuals, or the base loss), the point that graduation reaches from it, the given point, and
    fits of random subsets. With many rows they are compared on some of the rows. The best start is
    followed downhill until its own tangent proves it stationary; the model is never worse than the
    convex fit or the given point.

    Parameters
    ----------
    restarts : int, default=10
        Random subsets to start from: halves of the samples, and samples just enough for a fit.
        They come from the estimator's ``random_state``; with None they are always the same.
    """

    name = "graduated"
    kind = Trait.NONCONVEX_LOSS, Trait.MEAN_OVER_SAMPLES

    def __init__(self, restarts: int = 10) -> None:
        self.restarts = restarts

    def check_parameters(self) -> None:
        """``restarts`` must not be negative."""
        number = isinstance(self.restarts, Integral) and not isinstance(self.restarts, bool)
        if not number or self.restarts < 0:
            raise ValueError(
                f"restarts of Graduated must be an integer ≥ 0, not {self.restarts!r}."
            )

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses that are a concave function of a convex one, if a solver accepts that one."""
        if objective.loss.composed is None:
            words = f"{objective.loss!r} is no concave function of a convex loss (RobustLoss)"
            return Verdict(False, words)
        problem = Tangent.first(objective).problem
        try:
            inner = solver_of(problem, control).verdict(problem, control)
        except ValueError:
            words = f"no solver takes its tangents, {problem.loss!r} with this penalty"
            return Verdict(False, words)
        words = "non-convex loss: convex fits whose outliers weigh less and less"
        return Verdict(True, words, _TANGENTS * inner.cost)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """A search for a good start, then the descent from the best one."""
        begun = objective.meter.passes
        most = _MOST_PASSES[1] * (_MORE if objective.design.nnz <= _SMALL else 1)
        point = yield from self._searched(objective, start, control)
        kept: list[Array] = []
        stuck, gap, anderson = False, np.inf, Anderson(objective)
        for _ in range(_ROUNDS):
            # The gradient usually proves the gap; other dual points are tried only if it does not.
            judgement = judge(objective, point, kept if stuck else [])
            yield judgement  # the gap of the point's own tangent, at which a fit may end
            if objective.meter.passes - begun > most:
                control.ended_by = f"its limit of {most:,} passes over the data"
                return
            # 0.2: share of the target; safeguard.
            goal = max(_SHARE * min(judgement.gap, objective.scale), 0.2 * control.target)
            new, duals = minimised(Tangent.at(objective, point), point, goal, control)
            # 1e-13: share of P that counts as rounding; safeguard.
            rise, noise = objective.primal(new) - judgement.primal, 1e-13 * abs(judgement.primal)
            # Where the objective is flat up to rounding, a smaller gap counts as progress.
            if rise < -noise or (rise <= noise and judgement.gap < 0.5 * gap and not stuck):
                point = anderson.ahead(point, new) or stretched(objective, point, new)
                stuck, gap, kept = False, judgement.gap, []
            elif stuck and not judgement.gap < 0.5 * gap:
                return
            else:
                mild = _mild(objective, point, goal, control)
                lowest = min((found.point for found in mild), key=objective.primal, default=point)
                if objective.primal(lowest) < judgement.primal - noise:
                    point, stuck, gap, kept = lowest, False, np.inf, []
                    continue
                # The same point again, judged with the multipliers of its tangent's minimum. These
                # improve, since the gap they leave is the goal of the next minimisation.
                stuck, gap, kept = True, judgement.gap, [*kept, *duals]
                kept += [dual for found in mild for dual in found.duals]

    def _searched(
        self, objective: Objective, start: Point, control: Control
    ) -> Generator[Judgement, None, Point]:
        """The best of several starts; no worse than the convex fit and the given point."""
        found = _Found(objective)
        found.add(start)
        found.add(objective.null)
        convex = _convex_fit(objective, control)
        found.add(convex)
        yield from found.judged(control)
        every = _thinning(objective)
        rows = objective if every == 1 else objective.thinned(every)
        for point in self._contenders(rows, convex, start, control):
            found.add(point if every == 1 else objective.point(point.w, point.b))
        yield from found.judged(control)
        return found.best

    def _contenders(
        self, objective: Objective, convex: Point, start: Point, control: Control
    ) -> list[Point]:
        """The best starts of every kind, each after a few tangents."""
        found = _Found(objective)
        if objective.n_samples < convex.z.size:  # ``objective`` is the thinned problem
            convex, start = (objective.point(p.w, p.b) for p in (convex, start))
        starts = (convex, start, objective.null, *_degrees(objective, convex, control))
        restarts = self.restarts if not start.w.any() else -(-self.restarts // _KNOWN)
        last = objective.meter.passes + _MOST_PASSES[0]
        for point in chain(starts, self._restarts(objective, restarts, control)):
            if control.expired or objective.meter.passes > last:
                break
            found.add(_descended(objective, point, _TRIAL, control))
        # Finalists get ten times as many tangents as a trial; safeguard.
        return [_descended(objective, p, 10 * _TRIAL, control, last) for p in found.finalists()]

    def _restarts(self, objective: Objective, count: int, control: Control) -> Iterator[Point]:
        """Fits of the base loss to random subsets of the samples."""
        first, n = composed(objective).first_weight, objective.n_samples
        rng = check_random_state(0 if control.random_state is None else control.random_state)
        few = objective.n_features + 1 + objective.intercept
        for k in range(count):
            size = few if k % 3 and 2 * few < n else max((n + 1) // 2, 1)
            chosen = rng.choice(n, size=size, replace=False)
            weights = np.zeros(n)
            weights[chosen] = first / objective.mass[chosen].sum()
            tangent = Tangent.with_weights(objective, weights)
            yield minimised(tangent, objective.null, _ROUGH * objective.scale, control).point


class _Found:
    """The starts that were tried, with their objectives."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._tried: list[tuple[float, Point]] = []

    def add(self, point: Point) -> None:
        """Keep a point; of two whose objectives are equal up to rounding the lower one."""
        value = self._objective.primal(point)
        near = 1e-9 * self._objective.scale  # share of the scale: equal starts; safeguard
        if not np.isfinite(value) or any(0 <= value - other <= near for other, _ in self._tried):
            return
        others = [pair for pair in self._tried if not 0 <= pair[0] - value <= near]
        self._tried = sorted([*others, (value, point)], key=lambda pair: pair[0])

    @property
    def best(self) -> Point:
        """The lowest point; the null model if there is none."""
        return self._tried[0][1] if self._tried else self._objective.null

    def finalists(self) -> list[Point]:
        """The lowest few points."""
        return [point for _, point in self._tried[:_FINALISTS]]

    def judged(self, control: Control) -> Iterator[Judgement]:
        """The judgement of the lowest point, unless it would end the fit before the search."""
        judgement = judge(self._objective, self.best)
        if not judgement.reaches(self._objective, control.target):
            yield judgement


def _thinning(objective: Objective) -> int:
    """The k for which every k-th row suffices for the search."""
    enough = max(_ENOUGH_ROWS, _ENOUGH * objective.n_features)
    return max(1, objective.n_samples // enough)


def _convex_fit(objective: Objective, control: Control) -> Point:
    """The certified convex start: the base loss, or Huber's loss at the scale of its residuals."""
    loss = composed(objective)
    tangent = Tangent.first(objective)
    point = minimised(tangent, objective.null, control.target, control).point
    milder = loss.convex_start(point.z, objective.y)
    for _ in range(2):  # the second time at the scale of the better fit
        if milder is loss.base or control.expired:
            break
        tangent = Tangent.with_weights(objective, tangent.weights, loss=milder)
        point = minimised(tangent, point, control.target, control).point
        milder = loss.convex_start(point.z, objective.y)
    return point


def _degrees(objective: Objective, point: Point, control: Control) -> Iterator[Point]:
    """The point that losses with γ falling towards 1 reach from a convex fit."""
    loss, y = composed(objective), objective.y
    gradual = 1.0
    # Half of the largest weight: nearly equal weights; 1e30 ends the search; safeguards.
    while np.ptp(found := loss.weights(point.z, y, gradual)) > 0.5 * found.max() and gradual < 1e30:
        gradual *= 2.0
    factor = max(_DEGREE, gradual ** (1.0 / _MOST_DEGREES))
    solved: Tangent | None = None
    while gradual > 1.0 and not control.expired:
        weights = loss.weights(point.z, y, gradual)
        if not weights.any():
            return
        tangent = Tangent.with_weights(objective, weights, near=_penalised_at(point))
        if solved is None or not tangent.repeats(solved):
            point = minimised(tangent, point, _ROUGH * objective.scale, control).point
        solved, gradual = tangent, gradual / factor
    yield point


def _penalised_at(point: Point) -> Array | None:
    """Where to take the tangent of a penalty: not at w = 0, where some slopes are infinite."""
    return point.w if point.w.any() else None


def _descended(
    objective: Objective, point: Point, tangents: int, control: Control, last: float = np.inf
) -> Point:
    """The point after at most ``tangents`` tangents, or when ``last`` passes have been made."""
    tangent: Tangent | None = None
    for _ in range(tangents):
        if control.expired or objective.meter.passes > last:
            break
        solved, tangent = tangent, Tangent.at(objective, point)
        if solved is not None and tangent.repeats(solved):
            break  # the point minimises it already
        new = minimised(tangent, point, _ROUGH * objective.scale, control).point
        before, after = objective.primal(point), objective.primal(new)
        # Share of the accuracy: least progress; safeguard.
        if not after < before - 1e-3 * _ROUGH * objective.scale:
            return new if after < before else point
        point = stretched(objective, point, new)
    return point


class _Minimised(NamedTuple):
    """The result of a tangent problem, and its dual points, which serve the next one."""

    point: Point
    duals: list[Array]


def minimised(tangent: Tangent, point: Point, goal: float, control: Control) -> _Minimised:
    """The minimiser of a tangent problem, to a gap of ``goal`` in units of the whole problem.

    Its objective is never above that of the start, if the start is feasible.
    """
    problem, inside = tangent.problem, tangent.inside(point)
    inner = replace(control, target=goal / tangent.unit, callbacks=())
    solver = solver_of(problem, inner)
    best: Judgement | None = None
    progress = Progress(inner.target, solver.idle)
    for count, judgement in enumerate(points_of(solver, problem, inside, inner)):
        if best is None or judgement.beats(best):
            best = judgement
        unmoved = judgement.point is problem.null and not solver.null_may_do
        done = judgement.reaches(problem, inner.target) and not (unmoved and judgement.gap > 0)
        if done or progress.ended(judgement) or count >= _INNER or control.expired:
            break
    if best is None:
        return _Minimised(point, [])
    duals = [tangent.dual_outside(best.dual.theta)]
    falls = best.primal <= problem.primal(inside)
    return _Minimised(tangent.outside(best.point) if falls else point, duals)


def _mild(objective: Objective, point: Point, goal: float, control: Control) -> list[_Minimised]:
    """Minimisers and multipliers of a tangent whose weights are too unequal, with capped weights.

    A sample held by a slope of 1e8 is also held by a smaller slope, if that exceeds its multiplier;
    and multipliers within smaller weights are within the true ones.
    """
    loss, y = composed(objective), objective.y
    weights, found = loss.weights(point.z, y), []
    usual = float(np.median(loss.weights(objective.null.z, y)))
    for factor in _MILDER:
        mild = np.minimum(weights, factor * usual)
        if mild.any() and (mild < weights).any():
            tangent = Tangent.with_weights(objective, mild, near=point.w)
            found.append(minimised(tangent, point, goal, control))
    return found


def solver_of(problem: Objective, control: Control) -> Solver:
    """The cheapest solver of a convex problem."""
    from .. import choose_solver

    return choose_solver(problem, control)
