"""Problems in a ball, solved as penalised problems with the right multiplier λ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import optimize

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...penalties import Ball
from ...penalties.ball import square
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..steps.progress import Progress
from ..traits import Trait
from .penalised import cheapest, solved
from .smoothed import Smoothed

_ROUNDS = 200  # multipliers that are tried; safeguard
_PATIENCE = 30  # multipliers without progress, after which only rounding is left; safeguard
_NARROW = 1e-13  # share of λ: width of a bracket that holds no new multiplier; safeguard
_FAR_OUT = 4.0  # radii, beyond which an unfinished solution counts as outside; safeguard
_ON_SPHERE = 0.9  # share of the radius, from which a start is taken to lie on the sphere; safeguard
_REACH = 1e-4, 0.5  # least and largest step from a guess, as shares of it; safeguard
_GROWTH = 8.0  # factor of that step from try to try; safeguard


class Multiplier(Solver):
    """‖w‖ ≤ r: find λ ≥ 0 such that the solution with penalty λ·‖w‖₁ (λ·½‖w‖²) has norm r.

    The norm falls as λ grows. A bracket of λ is narrowed by the secant rule; every λ costs one
    penalised problem, started from the last solution. Between the solutions at the two ends lies a
    point of norm r, which is judged for the constrained problem with the dual points of both ends.
    If the norm stays below r, λ = 0 is tried, or ever smaller λ if no solver takes 0 or proves a
    bound there: a solution inside the ball has the gap λ·‖w‖(r − ‖w‖). A start on the sphere, such
    as the solution of a similar problem, gives an estimate of λ, and the bracket then begins around
    it.
    """

    name = "multiplier"
    shapes = (Trait.COLUMNS,)
    kind = (Trait.CONVEX_LOSS, Trait.CONVEX_PENALTY, Trait.BALL)
    idle = 8  # its gap falls only when λ is between two others

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Balls, for every loss that a solver of the penalised problem accepts."""
        ball = objective.penalty
        assert isinstance(ball, Ball)
        solver, verdict = cheapest(objective.with_penalty(ball.with_multiplier(1.0)), control)
        if solver is None:
            return Verdict(False, f"no solver takes the penalised problem: {verdict.reason}")
        words = f"the multiplier of the ball, over problems solved by {solver.name!r}"
        return Verdict(True, words, 10 * verdict.cost)  # 10: penalised problems; estimate

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Judged points of the constrained problem, one per multiplier."""
        ball = objective.penalty
        assert isinstance(ball, Ball)
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        most = _largest_multiplier(ball, judge(objective, objective.null).slope)
        if not most > 0:
            return
        free = cheapest(objective.with_penalty(ball.with_multiplier(0.0)), control)[0]
        guess = _guess(ball, judgement, most)
        null = _Side(most, objective.null.w, None)
        # Kinks of a problem without any penalty are rounded off more slowly than λ falls; measured.
        to_zero = free is not None and free.name != Smoothed.name
        bracket = _Bracket(ball, null, guess if guess or to_zero else None, to_zero)
        point, accuracy = judgement.point, 0.1  # 0.1: share of the target; safeguard
        progress = Progress(control.target, _PATIENCE)
        held = null  # the last solution with λ > 0 inside the ball
        for _ in range(_ROUNDS):
            if bracket.exhausted:
                # The two solutions were not accurate enough to determine the multiplier.
                bracket, accuracy = bracket.reopened(), 0.01 * accuracy
            multiplier = bracket.next()
            found = self._penalised(objective, ball, multiplier, point, accuracy, control)
            bracket.add(_Side(multiplier, found.point.w, found.dual.theta))
            w, duals = bracket.candidate()
            point = recentred(objective, objective.point(w, found.point.b))
            judgement = judge(
                objective, point, duals, known=[judgement.dual], thorough=multiplier == 0
            )
            yield judgement
            if progress.ended(judgement):
                return
            if multiplier == 0 and bracket.outside is None:
                least = 0.5 * control.target / max(_slack(ball, found.point.w), 1e-300)
                bracket = bracket.without_zero(held, least)  # 0.5: share of the gap; safeguard
            elif bracket.outside is None:
                held = bracket.inside

    def _penalised(
        self,
        objective: Objective,
        ball: Ball,
        multiplier: float,
        start: Point,
        accuracy: float,
        control: Control,
    ) -> Judgement:
        """The solution for one multiplier; a rough one if it lies far outside the ball."""
        problem = objective.with_penalty(ball.with_multiplier(multiplier))

        def rough(judgement: Judgement) -> bool:
            far = ball.size.radius(judgement.point.w) > _FAR_OUT * ball.radius
            # Share of the scale: a rough gap; safeguard.
            return far and judgement.promise <= 1e-3 * objective.scale

        return solved(problem, start, control, accuracy * control.target, rough)


def _largest_multiplier(ball: Ball, slope: Array) -> float:
    """A multiplier whose solution lies inside: w = 0 for the 1-norm, a short w for the 2-norm."""
    excess = ball.size.per_unit(np.maximum(np.abs(slope) - ball.rest.l1, 0.0))
    if ball.radius == 0:
        return 0.0
    if ball.size.norm == "l1":
        return float(excess.max(initial=0.0))
    return square.radius(excess) / ball.radius


def _slack(ball: Ball, w: Array) -> float:
    """The gap of a solution inside the ball, in units of its multiplier."""
    radius = ball.size.radius(w)
    return (ball.radius - radius) * (1.0 if ball.size.norm == "l1" else radius)


def _guess(ball: Ball, judgement: Judgement, most: float) -> float | None:
    """The multiplier at which a point on the sphere would be optimal; 0 for a model inside.

    At the optimum −slope = λ·∂size(w), so λ = −w·slope/(w·∂size(w)), up to the square of the error.
    """
    w = judgement.point.w
    radius = ball.size.radius(w)
    if radius < _ON_SPHERE * ball.radius:
        return 0.0 if w.any() else None
    slope = judgement.slope + ball.rest.l1 * np.sign(w) + ball.rest.l2 * w
    pull = -float(np.vdot(w, slope)) / (radius if ball.size.norm == "l1" else radius**2)
    return pull if 0 < pull < most else None


class _Side(NamedTuple):
    """A multiplier, the solution of its penalised problem, and the dual point of the solution."""

    multiplier: float
    w: Array
    theta: Array | None


@dataclass
class _Bracket:
    """The smallest multiplier known to lead inside, and the largest known to lead outside.

    The bracket is narrowed by the secant rule with Illinois' correction: the value at an end that
    stays is halved. Around a guess, the missing end is searched for in growing steps.
    """

    ball: Ball
    inside: _Side
    guess: float | None = None
    to_zero: bool = True  # whether there is a solver for λ = 0
    outside: _Side | None = None
    reach: float = 0.0  # share of the guess: the next step from it
    tries: int = 0
    above: float = 0.0  # how far the outer solution's `_height` is above that of the radius
    below: float = 0.0  # how far the inner solution's is below
    last_was_inside: bool | None = None
    _miss: float = 0.0  # distance of the last norm from the radius, as a share of it

    @property
    def exhausted(self) -> bool:
        """Whether no multiplier is left between the ends, up to rounding."""
        if self.outside is None:
            return False
        width = self.inside.multiplier - self.outside.multiplier
        return width <= _NARROW * self.inside.multiplier

    def reopened(self) -> _Bracket:
        """A bracket wider by 1 % at both ends (a safeguard)."""
        assert self.outside is not None
        wide = self.inside._replace(multiplier=1.01 * self.inside.multiplier)
        slack = self.outside._replace(multiplier=0.99 * self.outside.multiplier)
        return replace(self, inside=wide, outside=slack, last_was_inside=None)

    def without_zero(self, held: _Side, least: float) -> _Bracket:
        """A bracket that goes on with that multiplier, or a smaller one than that of ``held``."""
        above = min(10.0 * least, held.multiplier)  # `next` takes a tenth
        inside = held._replace(multiplier=above)
        return replace(self, inside=inside, guess=None, to_zero=False, tries=max(self.tries, 1))

    def next(self) -> float:
        """The secant's multiplier; while none leads outside, smaller ones and at last 0."""
        if self.guess is not None and self.reach <= _REACH[1]:
            return self._about_guess(self.guess)
        self.tries += 1
        if self.outside is None:
            share = 1.0 if self.tries == 1 else 0.1  # factor between tries; safeguard
            # 5: tries before λ = 0; safeguard.
            last = self.tries >= 5 and self.to_zero
            return 0.0 if last else self.inside.multiplier * share
        low, high = self.outside.multiplier, self.inside.multiplier
        share = self.above / (self.above + self.below) if self.above < np.inf else 0.5
        # Shares of the bracket: stays inside; safeguard.
        return low + (high - low) * min(max(share, 1e-12), 1 - 1e-12)

    def _about_guess(self, guess: float) -> float:
        """The guess, then smaller or larger multipliers until the solution lies between two."""
        if self.last_was_inside is None:
            return guess
        if guess == 0:  # λ = 0 led outside, so the guess says nothing
            self.guess = None
            return self.next()
        reach = self.reach or float(np.clip(2.0 * self._miss, *_REACH))
        self.reach = _GROWTH * reach
        return guess * (1.0 - reach if self.last_was_inside else 1.0 + reach)

    def _height(self, radius: float) -> float:
        """A function of the norm that is nearly linear in λ: ‖w‖₁ itself, and −1/‖w‖₂."""
        ratio = radius / self.ball.radius
        if self.ball.size.norm == "l1":
            return ratio
        return -1.0 / max(ratio, 1e-300)  # safeguard against division by zero

    def add(self, side: _Side) -> None:
        """Replace the end on whose side the new solution lies."""
        height = self._height(self.ball.size.radius(side.w)) - self._height(self.ball.radius)
        is_inside = height <= 0
        if is_inside:
            self.inside, self.below = side, -height
            self.above *= 0.5 if self.last_was_inside is True else 1.0
        else:
            if side.multiplier >= self.inside.multiplier:  # features outside the ball have moved
                self.inside = self.inside._replace(multiplier=_GROWTH * side.multiplier)
            self.outside, self.above = side, height
            self.below *= 0.5 if self.last_was_inside is False else 1.0
        if self.last_was_inside not in (None, is_inside):
            self.guess = None  # the bracket has both ends now
        self.last_was_inside = is_inside
        self._miss = abs(self.ball.size.radius(side.w) / self.ball.radius - 1.0)

    def candidate(self) -> tuple[Array, list[Array]]:
        """A feasible point between the two solutions, and the dual points of both."""
        ball, inside, outside = self.ball, self.inside, self.outside
        if outside is None:
            return ball.project(inside.w), [] if inside.theta is None else [inside.theta]
        step = outside.w - inside.w

        def beyond(share: float) -> float:
            return ball.size.radius(inside.w + share * step) / ball.radius - 1.0

        # ``xtol`` is a share of the step; safeguard.
        share = float(optimize.brentq(beyond, 0.0, 1.0, xtol=1e-16)) if beyond(0.0) < 0 else 0.0
        w = ball.rest.project(inside.w + share * step)
        duals = [side.theta for side in (inside, outside) if side.theta is not None]
        if len(duals) == 2:
            duals.insert(0, duals[0] + share * (duals[1] - duals[0]))
        return ball.inside(w), duals
