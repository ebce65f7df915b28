"""Losses that are not convex: from a convex fit, by degrees, to a minimum of the loss itself."""

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
from ..succession import points_of
from ..traits import Trait
from .reweighted import stretched

_ROUNDS = 2000  # of the descent to the final minimum
_TRIAL = 3  # tangents that a start gets before it is compared with others
_FINALISTS = 3
_KNOWN = 5  # times fewer restarts where the start is a model: a neighbour's search led there
_INNER = 60  # iterations of a convex solver on one tangent
_IDLE = 4  # of them without progress, after which rounding is taken to be all that is left
_ROUGH = 1e-4  # of the scale: accurate enough for a problem that is only on the way
_SHARE = 0.05  # of the gap at a tangent's start that its minimisation must leave at most
_MILDER = (1e2, 1e4)  # largest weights, in those of the null model, where a tangent is too steep
_DEGREE = 1.4  # factor between one degree of convexity and the next
_MOST_DEGREES = 40
_TANGENTS = 100  # what the whole costs, in convex fits
_MOST_PASSES = 8_000, 16_000  # over the data, for the search and in all: a safeguard, few seconds
_ENOUGH = 20  # rows per column, and
_ENOUGH_ROWS = 4000  # rows in all, that suffice to find out which samples are outliers


class Graduated(Solver):
    """A convex fit; milder losses γφ(s/γ), γ falling to 1; then tangents of the loss itself.

    Every problem on the way is a convex one with sample weights, minimised by the solver that
    suits it. Several starts compete: the convex fit (Huber's loss at the scale of the residuals,
    or the base loss), where graduation leads from it, the point that was given, and fits of
    random subsets. With many rows they compete on some of them. The best is followed downhill until
    its own tangent proves it stationary; the model is never worse than the convex fit nor than
    the given point.

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
        """restarts must not be negative."""
        number = isinstance(self.restarts, Integral) and not isinstance(self.restarts, bool)
        if not number or self.restarts < 0:
            raise ValueError(
                f"restarts of Graduated must be an integer ≥ 0, not {self.restarts!r}."
            )

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses that are a concave function of a convex one, if a solver takes that one."""
        if objective.loss.composed is None:
            words = f"{objective.loss!r} is no concave function of a convex loss (RobustLoss)"
            return Verdict(False, words)
        problem = Tangent.first(objective).problem
        try:
            inner = _solver_of(problem, control).verdict(problem, control)
        except ValueError:
            words = f"no solver takes its tangents, {problem.loss!r} with this penalty"
            return Verdict(False, words)
        words = "non-convex loss: convex fits whose outliers weigh less and less"
        return Verdict(True, words, _TANGENTS * inner.cost)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """A search for a good start, then the descent from the best of them."""
        begun = objective.meter.passes
        point = yield from self._searched(objective, start, control)
        kept: list[Array] = []
        stuck, gap, anderson = False, np.inf, Anderson(objective)
        for _ in range(_ROUNDS):
            # The gradient proves a gap to anybody; other dual points only where it cannot.
            judgement = judge(objective, point, kept if stuck else [])
            yield judgement  # its own tangent's gap: this is where a fit may end
            if objective.meter.passes - begun > _MOST_PASSES[1]:
                control.ended_by = f"its limit of {_MOST_PASSES[1]:,} passes over the data"
                return
            goal = max(_SHARE * min(judgement.gap, objective.scale), 0.2 * control.target)
            new, duals = _minimised(Tangent.at(objective, point), point, goal, control)
            rise, noise = objective.primal(new) - judgement.primal, 1e-13 * abs(judgement.primal)
            # Where the objective is flat up to rounding, the gap tells whether there is progress.
            if rise < -noise or (rise <= noise and judgement.gap < 0.5 * gap and not stuck):
                point = anderson.ahead(point, new) or stretched(objective, point, new)
                stuck, gap, kept = False, judgement.gap, []
            elif stuck and not judgement.gap < 0.5 * gap:
                return
            else:
                # The same point again, with the multipliers of its tangent's minimum: better ones
                # each time, as what they leave of the gap is the goal of the next minimisation.
                stuck, gap, kept = True, judgement.gap, [*kept, *duals]
                kept += _mild_duals(objective, point, goal, control)

    def _searched(
        self, objective: Objective, start: Point, control: Control
    ) -> Generator[Judgement, None, Point]:
        """The best of several starts: of the convex fit at least, and of the given point."""
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
        """The best starts of all kinds, each after some descent."""
        found = _Found(objective)
        if objective.n_samples < convex.z.size:  # of thinned data
            convex, start = (objective.point(p.w, p.b) for p in (convex, start))
        starts = (convex, start, objective.null, *_degrees(objective, convex, control))
        restarts = self.restarts if not start.w.any() else -(-self.restarts // _KNOWN)
        last = objective.meter.passes + _MOST_PASSES[0]
        for point in chain(starts, self._restarts(objective, restarts, control)):
            if control.expired or objective.meter.passes > last:
                break
            found.add(_descended(objective, point, _TRIAL, control))
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
            yield _minimised(tangent, objective.null, _ROUGH * objective.scale, control).point


class _Found:
    """Starts that were tried, by what they cost."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._tried: list[tuple[float, Point]] = []

    def add(self, point: Point) -> None:
        """Remember a point, unless one that is known is as good; of two the lower one stays."""
        value = self._objective.primal(point)
        near = 1e-9 * self._objective.scale
        if not np.isfinite(value) or any(0 <= value - other <= near for other, _ in self._tried):
            return
        others = [pair for pair in self._tried if not 0 <= pair[0] - value <= near]
        self._tried = sorted([*others, (value, point)], key=lambda pair: pair[0])

    @property
    def best(self) -> Point:
        """The lowest; the null model where there is none."""
        return self._tried[0][1] if self._tried else self._objective.null

    def finalists(self) -> list[Point]:
        """The lowest few, to be followed further."""
        return [point for _, point in self._tried[:_FINALISTS]]

    def judged(self, control: Control) -> Iterator[Judgement]:
        """The lowest, judged; not if it could pass for the end of a search that goes on."""
        judgement = judge(self._objective, self.best)
        if not judgement.reaches(self._objective, control.target):
            yield judgement


def _thinning(objective: Objective) -> int:
    """Every how many rows suffice for the search."""
    enough = max(_ENOUGH_ROWS, _ENOUGH * objective.n_features)
    return max(1, objective.n_samples // enough)


def _convex_fit(objective: Objective, control: Control) -> Point:
    """The certified convex start: the base loss, or Huber's at the scale of its residuals."""
    loss = composed(objective)
    tangent = Tangent.first(objective)
    point = _minimised(tangent, objective.null, control.target, control).point
    milder = loss.convex_start(point.z, objective.y)
    for _ in range(2):  # again at the scale of the better fit
        if milder is loss.base or control.expired:
            break
        tangent = Tangent.with_weights(objective, tangent.weights, loss=milder)
        point = _minimised(tangent, point, control.target, control).point
        milder = loss.convex_start(point.z, objective.y)
    return point


def _degrees(objective: Objective, point: Point, control: Control) -> Iterator[Point]:
    """Where milder losses lead, step by step, from a convex fit to the loss itself."""
    loss, y = composed(objective), objective.y
    gradual = 1.0
    while np.ptp(found := loss.weights(point.z, y, gradual)) > 0.5 * found.max() and gradual < 1e30:
        gradual *= 2.0
    factor = max(_DEGREE, gradual ** (1.0 / _MOST_DEGREES))
    while gradual > 1.0 and not control.expired:
        weights = loss.weights(point.z, y, gradual)
        if not weights.any():
            return
        tangent = Tangent.with_weights(objective, weights, near=_penalised_at(point))
        point = _minimised(tangent, point, _ROUGH * objective.scale, control).point
        gradual /= factor
    yield point


def _penalised_at(point: Point) -> Array | None:
    """Where to take the tangent of a penalty: not at zero, which some never leave."""
    return point.w if point.w.any() else None


def _descended(
    objective: Objective, point: Point, tangents: int, control: Control, last: float = np.inf
) -> Point:
    """A few tangents further down, as long as fewer than so many passes have been made."""
    for _ in range(tangents):
        if control.expired or objective.meter.passes > last:
            break
        tangent = Tangent.at(objective, point)
        new = _minimised(tangent, point, _ROUGH * objective.scale, control).point
        before, after = objective.primal(point), objective.primal(new)
        if not after < before - 1e-3 * _ROUGH * objective.scale:
            return new if after < before else point
        point = stretched(objective, point, new)
    return point


class _Minimised(NamedTuple):
    """Where a tangent problem led, and the dual points of the way: good ones for the next."""

    point: Point
    duals: list[Array]


def _minimised(tangent: Tangent, point: Point, goal: float, control: Control) -> _Minimised:
    """The minimiser of a tangent problem, up to a goal for its gap in units of the whole.

    Never above the point it starts from, where that is feasible.
    """
    problem, inside = tangent.problem, tangent.inside(point)
    inner = replace(control, target=goal / tangent.unit, callbacks=())
    solver = _solver_of(problem, inner)
    best: Judgement | None = None
    progress = _Progress(inner.target)
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


def _mild_duals(objective: Objective, point: Point, goal: float, control: Control) -> list[Array]:
    """Multipliers of a point whose tangent has weights too different for accurate solutions.

    A sample that a slope of 1e8 holds is held by a smaller one as well, if that exceeds its
    multiplier; and multipliers within smaller weights are within the true ones.
    """
    loss, y = composed(objective), objective.y
    weights, duals = loss.weights(point.z, y), []
    usual = float(np.median(loss.weights(objective.null.z, y)))
    for factor in _MILDER:
        mild = np.minimum(weights, factor * usual)
        if mild.any() and (mild < weights).any():
            tangent = Tangent.with_weights(objective, mild, near=point.w)
            duals += _minimised(tangent, point, goal, control).duals
    return duals


class _Progress:
    """Whether a convex solver still gets anywhere: a goal may lie below the rounding of a problem.

    A residual of 1 matters to a robust loss, however large the y are that its tangents must fit.
    """

    def __init__(self, target: float) -> None:
        self._target, self._gap, self._primal, self._idle = target, np.inf, np.inf, 0

    def ended(self, judgement: Judgement) -> bool:
        """Whether several iterations have lowered neither the gap nor the objective."""
        noise = max(0.01 * self._target, 1e-13 * abs(judgement.primal))
        moved = judgement.gap < 0.9 * self._gap or judgement.primal < self._primal - noise
        self._idle = 0 if moved else self._idle + 1
        self._gap = min(self._gap, judgement.gap)
        self._primal = min(self._primal, judgement.primal)
        return self._idle >= _IDLE


def _solver_of(problem: Objective, control: Control) -> Solver:
    """The cheapest solver of a convex problem."""
    from .. import choose_solver

    return choose_solver(problem, control)
