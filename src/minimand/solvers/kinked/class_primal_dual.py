"""A primal-dual interior-point method for Crammer and Singer's loss with L2."""

from __future__ import annotations

from collections.abc import Iterator

from ...certificate import Judgement, judge
from ...losses.joint.class_margins import ClassMargins
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..traits import Trait

_LARGEST = 1500  # unknowns of the system that every iteration factorises; safeguard
_ITERATIONS = 100  # iterations; safeguard
_SHORTEST = 1e-12  # length of a step that is not worth taking; safeguard: rounding
_IDLE = 4  # judgements in a row without a better point, then the end; safeguard


class ClassPrimalDual(Solver):
    """Mehrotra's predictor-corrector method on the k multipliers of every row.

    See `class_interior`. It takes about twenty systems of d·k unknowns, for any scaling of columns
    and any alpha. Steps far from the optimum are not judged: callbacks and the history see the last
    few only. ``max_iter`` counts all steps.
    """

    name = "class_primal_dual"
    null_may_do = False
    shapes = (Trait.COLUMNS,)
    needs = Trait.CLASS_MARGINS, Trait.L2_EVERYWHERE
    least_cost = costs.LEAST_INTERIOR_POINTS

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """The loss of the largest margin; an L2 penalty on every coefficient; few coefficients."""
        n, k = objective.n_samples, objective.n_scores
        assert isinstance(objective.loss, ClassMargins)
        if objective.loss.order_weights(k)[1:].any():
            return Verdict(False, f"{objective.loss!r} counts other margins than the largest")
        size = (objective.n_features + 1) * k
        # Bytes: three matrices, and 12 numbers per row and score.
        if size > _LARGEST or 8.0 * (3 * size * size + 12 * n * k) > control.memory:
            return Verdict(
                False, f"a dense system of {size} unknowns in every iteration is too large"
            )
        words = "the largest class margin: an interior-point method"
        return Verdict(True, words, costs.interior_points_of_classes(objective))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Judged points, once the method's own estimate of the gap is near the target.

        A start near the boundary may leave no room for steps: then the null model is another one.
        """
        from .class_interior import ClassInteriorPoint  # not needed for a verdict

        form = objective.penalty.sum_over_features
        assert form is not None
        judgement = judge(objective, start)
        yield judgement
        inner = ClassInteriorPoint(objective, form, start, control)
        idle, again = 0, start is not objective.null
        for taken in range(1, _ITERATIONS + 1):
            length = inner.step()
            stuck = not length > _SHORTEST
            last = taken == control.max_iter
            if last or stuck or inner.products <= control.target or control.expired:
                known = [judgement.dual]
                found = judge(objective, inner.point, [inner.theta], known, raw=False)
                yield found
                # 0.9: factor of the gap that is progress; safeguard.
                idle = idle + 1 if not found.gap < 0.9 * judgement.gap else 0
                judgement = found if found.beats(judgement) else judgement
            if last:
                control.ended_by = f"max_iter={control.max_iter}"
            if last or ((stuck or idle >= _IDLE) and not again):
                return
            if stuck or idle >= _IDLE:
                inner = ClassInteriorPoint(objective, form, objective.null, control)
                idle, again = 0, False
