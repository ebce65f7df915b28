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

_ROUNDS = 1000  # tangents; safeguard
_SHARE = 0.1  # share of a tangent's first gap that its minimisation may leave; safeguard
_FARTHEST = 1e4  # factor by which a step is stretched at most; safeguard
_TANGENTS = 10  # lassos, the cost of the whole in the verdict; estimate


class Reweighted(Solver):
    """A lasso, then weighted lassos with the weights p'(|wⱼ|) at the solution of the last one.

    Each problem bounds the objective from above and touches it where the last one ended, so the
    objective never rises: the model is never worse than the lasso it started from, nor than the
    given point. The first judgement of every round is the gap of the tangent at the current point,
    which is the certificate; the later ones belong to the round's own problem.
    """

    name = "reweighted"
    kind = Trait.CONVEX_LOSS, Trait.NONCONVEX_PENALTY, Trait.MEAN_OVER_SAMPLES
    _inner: ClassVar[Solver] = WorkingSet()

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Penalties that are concave in |w|, with losses that a solver of the lasso accepts."""
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
            # A search must not start at zero, which a steep enough penalty never leaves.
            if not point.w.any() or objective.primal(found) < objective.primal(point):
                point = found
        for _ in range(_ROUNDS):
            before = objective.primal(point)
            tangent = Tangent.at(objective, point)
            new = yield from self._lower(tangent, point, control, _SHARE)
            # The tangent has fallen, and therefore the objective too, up to rounding.
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
        """Lower the gap of a tangent problem to a share of its first, or well below the target.

        If the tangent touches the objective at the first point, the gap of that point may end the
        fit. The gaps of later points do not belong to their own tangents and must not end it.
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
    """The lasso; if zero has no tangent, also the tangent at the coefficients of one-column fits.

    A lasso with the λ of |w|^q takes no account of the units of w, and may drop all columns where
    coefficients are large. Coefficients of one-column fits have the right units.
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

    A tangent lies above the objective, so its minimiser stops short of the objective's own;
    no bound says by how much. Coefficients that have become zero, or left it, are not changed.
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
