"""Solvers for kinks that couple k scores: interior points on all coefficients at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...certificate import Judgement, judge
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..traits import Trait

if TYPE_CHECKING:
    from .scores_interior import RowRises, ScoresInterior

_LARGEST = 1500  # unknowns of the system that every iteration factorises; safeguard
_ITERATIONS = 200  # iterations; safeguard
_PATIENCE = 50  # iterations in which the products must halve; safeguard: unscaled data take many
_CENTRED = 0.3  # least share of the products that a step aims at if they do not fall; safeguard
_AGAIN, _WIDER = 2, 30.0  # restarts when stuck, and the factor by which slacks widen; safeguard
_FAR = 1e-4  # share of the scale: products above it are not due to rounding; safeguard
_SHARE = 0.5  # of the target: products below it are judged; safeguard
# Shares of the first disagreement of slopes and slacks that are left: at which a point is judged,
# and at which it is of no account any more; safeguard.
_MET, _SETTLED = 1e-3, 1e-9
_IDLE = 4  # judgements in a row without a better point, then the end; safeguard


class ScoresPath(Solver):
    """Mehrotra's method on the coefficients of all scores; see `scores_interior`.

    It takes about twenty systems of (d + 1)·k unknowns, for any scaling of columns. Steps far from
    the optimum are not judged: callbacks and the history see the last few only.
    """

    null_may_do = False
    shapes = (Trait.COLUMNS,)

    @abstractmethod
    def rises(self, objective: Objective) -> RowRises:
        """The risers of the loss."""

    def nearby(self, objective: Objective, point: Point) -> Point:
        """The model to be judged, for one inside all bounds."""
        return point

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Problems with not too many coefficients."""
        k, n = objective.n_scores, objective.n_samples
        size = k * (objective.n_features + 1)
        # Bytes: three matrices of the system, an edge between any two scores of a row twice, and
        # about twenty numbers for every score of it.
        memory = 8.0 * (3.0 * size * size + n * (2.0 * k * k + 20.0 * k))
        if size > _LARGEST or memory > control.memory:
            return Verdict(
                False, f"a dense system of {size} unknowns in every iteration is too large"
            )
        words = "scores coupled by kinks: an interior-point method on all of them"
        return Verdict(True, words, costs.interior_points_of_scores(objective))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Judged points, once the method's own estimate of the gap is near the target."""
        from .scores_interior import ScoresInterior  # not needed for a verdict

        form = objective.penalty.sum_over_features
        assert form is not None
        best = judge(objective, self.nearby(objective, start))
        yield best
        begin = best.point
        inner = ScoresInterior(objective, form, self.rises(objective), begin, control)
        before, waited, idle, again = float("inf"), 0, 0, _AGAIN
        for taken in range(1, _ITERATIONS + 1):
            length = inner.step(_CENTRED if waited > 3 else 0.0)
            near = inner.products <= _SHARE * control.target and inner.unmet <= _MET
            halved = inner.products < 0.5 * before
            before, waited = (inner.products, 0) if halved else (before, waited + 1)
            stuck = not length > 1e-12 or waited >= _PATIENCE  # rounding allows no more
            if stuck and again and not near and inner.products > _FAR * objective.scale:
                again -= 1
                room = _WIDER ** (_AGAIN - again)
                inner = ScoresInterior(objective, form, self.rises(objective), begin, control, room)
                before, waited = float("inf"), 0
                continue
            last = taken == control.max_iter
            if near or last or stuck or control.expired:
                found = self._judged(objective, inner, best)
                yield found
                # 0.9: factor of the gap that is progress; safeguard.
                slow = inner.unmet <= _SETTLED and not found.gap < 0.9 * best.gap
                idle = idle + 1 if slow else 0
                best = found if found.beats(best) else best
            if last:
                control.ended_by = f"max_iter={control.max_iter}"
            if last or stuck or idle >= _IDLE:
                return

    def _judged(self, objective: Objective, inner: ScoresInterior, before: Judgement) -> Judgement:
        inner.refresh()
        point = self.nearby(objective, objective.point(*inner.model()))
        return judge(objective, point, [inner.theta], known=[before.dual], raw=False)
