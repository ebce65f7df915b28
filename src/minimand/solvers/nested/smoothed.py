"""Losses over runs with kinks: Newton's method on smoothed forms of falling width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...certificate import Judgement, judge
from ...problem.objective import Meter, Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..smooth.run_newton import newton_steps
from ..traits import Trait

_WIDTHS = 8  # smoothed problems; safeguard: the last width is near rounding
_FACTOR = 1 / 16  # from one width to the next, a power of ½; measured: 1e5 items in 1e3 queries
_SHARE = 0.25  # share of the target that the smoothed problem may leave; safeguard


class Smoothed(Solver):
    """Minimises a smoothed form of the loss, then one of a much smaller width, and so on.

    The slopes of the smoothed loss are multipliers of the loss itself, so every solution has a gap
    in the problem with kinks; it falls with the square of the width.
    """

    name = "smoothed"
    null_may_do = False
    kind = (Trait.CONVEX_LOSS, Trait.CONVEX_PENALTY, Trait.OVER_RUNS)
    needs = (Trait.SMOOTHABLE, Trait.L2_EVERYWHERE, Trait.NO_INTERCEPT)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses over runs that have a smoothed form; an L2 penalty, and no intercept."""
        words = "kinks over runs and L2: smoothed losses of falling width"
        return Verdict(True, words, 5.0 * costs.newton_on_runs(objective))

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """One judged point for every width."""
        judgement = judge(objective, start)
        yield judgement
        for number in range(_WIDTHS):
            loss = objective.loss.smoothed(_FACTOR**number)
            assert loss is not None
            smooth = replace(objective, loss=loss, meter=Meter())
            point = judgement.point
            for found in newton_steps(smooth, point, control):
                point = found.point
                if found.gap <= _SHARE * control.target or control.expired:
                    break
            # Slopes of a narrow parabola depend on the last digits of the scores, so these are
            # computed from w alone, as everyone who checks the gap will do.
            point = smooth.point(point.w, point.b)
            objective.meter.passes += smooth.meter.passes
            slope = loss.gradient(point.z, objective.y)
            judgement = judge(objective, point, [slope], known=[judgement.dual], raw=False)
            yield judgement
