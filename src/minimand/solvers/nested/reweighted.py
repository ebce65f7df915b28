"""Non-convex penalties: minimise a convex tangent problem, take the tangent there, repeat."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import ClassVar

import numpy as np

from ...certificate import Judgement, lifted
from ...problem.objective import Objective, Point
from ...problem.tangent import Tangent
from ..base import Control, Solver, Verdict
from ..sparse.working_set import WorkingSet
from ..succession import points_of
from ..traits import Trait

_ROUNDS = 1000
_SHARE = 0.1  # of the gap at a tangent's start that its minimisation must leave at most
_FARTHEST = 1e4  # steps are stretched at most this far
_TANGENTS = 10  # what the whole costs, in lassos


class Reweighted(Solver):
    """A lasso, then weighted lassos whose weights p'(|wⱼ|) are those of the last one's solution.

    Each problem bounds the objective from above and touches it where the last one ended, so the
    objective never rises: the model is never worse than the lasso it started from, nor than a
    point it was given. Every first judgement of a round is the gap of the tangent at the current
    point, which is the certificate; later ones are those of the round's own problem.
    """

    name = "reweighted"
    kind = Trait.CONVEX_LOSS, Trait.NONCONVEX_PENALTY, Trait.MEAN_OVER_SAMPLES
    _inner: ClassVar[Solver] = WorkingSet()

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Penalties that are concave in |w|, and losses that the lasso's solver takes."""
        inner = self._inner.verdict(Tangent.first(objective).problem, control)
        if not inner.ok:
            return Verdict(False, f"its tangent problems are refused: {inner.reason}")
        words = "non-convex penalty: its convex tangents one after the other, from the lasso"
        return Verdict(True, words, _TANGENTS * inner.cost)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """The best of the lasso, of another first guess and of the given point; then tangents."""
        point = start
        for first in _beginnings(objective):
            found = yield from self._lower(first, start, control, 0.0, touching=False)
            # Zero is no place to start from: a steep enough penalty never leaves it.
            if not point.w.any() or objective.primal(found) < objective.primal(point):
                point = found
        for _ in range(_ROUNDS):
            before = objective.primal(point)
            tangent = Tangent.at(objective, point)
            new = yield from self._lower(tangent, point, control, _SHARE)
            # The tangent has fallen, and so has the objective, but for rounding.
            if objective.primal(new) > before + 1e-13 * abs(before):
                return
            point = stretched(objective, point, new)

    def _lower(
        self,
        tangent: Tangent,
        point: Point,
        control: Control,
        share: float,
        *,
        touching: bool = True,
    ) -> Generator[Judgement, None, Point]:
        """Lower the gap of a tangent problem to a share of what it was, or well below the target.

        Where the tangent touches the objective at the first point, that point's gap may end the
        fit; the gaps of later points say nothing about their own tangents and must not.
        """
        goal = 0.5 * control.target
        inside = tangent.inside(point)
        points = points_of(self._inner, tangent.problem, inside, control)
        for step, judgement in enumerate(points):
            point = tangent.outside(judgement.point)
            if step == 0:
                goal = max(goal, share * min(judgement.gap, tangent.whole.scale))
            may_end = touching and step == 0
            done = judgement.reaches(tangent.problem, goal)
            if may_end or not (done or judgement.reaches(tangent.problem, control.target)):
                yield lifted(judgement, tangent)
            if (done and not may_end) or control.expired:
                break
        return point


def _beginnings(objective: Objective) -> Iterator[Tangent]:
    """The lasso; where zero has no tangent, also the tangent at what each column says by itself.

    A lasso with the λ of |w|^q knows nothing of the units of w, and may drop every column where
    coefficients are large. The tangent at the coefficients of one-column fits knows them.
    """
    yield Tangent.first(objective)
    if Tangent.at(objective, objective.null).columns is None:
        return
    _, gradient, curvature = objective.loss.terms(objective.null.z, objective.y)
    first, second = objective.moments(objective.mass)
    spread = second - first**2 * objective.intercept
    bend = np.where(spread > 1e-10 * second, spread, np.inf) * (objective.mean(curvature) or 1.0)
    w = -objective.backward(objective.mass * gradient) / bend
    yield Tangent.at(objective, objective.null._replace(w=w))


def stretched(objective: Objective, old: Point, new: Point) -> Point:
    """The step from old to new, doubled for as long as the objective falls.

    A tangent lies above the objective, so its minimiser stops short of where the objective
    leads; how far, no bound tells. Coefficients that came to zero, or left it, stay as they are.
    """
    moving = old.w * new.w > 0
    dw, db = np.where(moving, new.w - old.w, 0.0), new.b - old.b
    if not dw.any() and not db:
        return new
    dz = objective.forward(dw) + db
    ahead = dw * new.w < 0
    room = float(np.min(-new.w[ahead] / dw[ahead], initial=np.inf))
    best, value, t = new, objective.primal(new), 1.0
    while t < min(room, _FARTHEST):
        tried = Point(new.w + t * dw, new.b + t * db, new.z + t * dz)
        tried_value = objective.primal(tried)
        if not tried_value < value:
            break
        best, value, t = tried, tried_value, 2 * t
    return best
