"""Losses that are a difference of two convex ones: minimise a convex tangent, take the next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...certificate import Judgement, judge
from ...problem.objective import Objective, Point
from ...problem.tangent import Tangent
from ..base import Control, Solver, Verdict
from ..traits import Trait
from .graduated import minimised, solver_of

_ROUNDS = 200  # tangents; safeguard
_TANGENTS = 10  # convex fits, the cost of the whole in the verdict; estimate
_SHARE = 0.2  # share of the target that the minimiser of a tangent may leave; safeguard


class ConvexConcave(Solver):
    """The subtracted loss is replaced by its tangent; the convex problem is solved; and so on.

    The first problem leaves the subtracted loss out. Every tangent lies above the objective and
    touches it where the last problem ended, so that the objective never rises. A point whose own
    tangent it minimises is stationary, which is the certificate.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> second = mm.WeightedRanking([0.0, 1.0])        # forgives the worst of the other classes
    >>> model = mm.Classifier(second, alpha=0.1).fit(X, y)
    >>> model.solver_, model.certificate_.kind, model.certificate_.relative <= 1e-6
    ('convex_concave', 'stationary', True)
    """

    name = "convex_concave"
    shapes = (Trait.COLUMNS,)
    kind = Trait.NONCONVEX_LOSS, Trait.CONVEX_PENALTY, Trait.MEAN_OVER_SAMPLES

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Differences of convex losses, if a solver accepts their tangents."""
        loss = objective.loss
        if loss.tangent(objective.null.z, objective.y) is None:
            return Verdict(False, f"{loss!r} is not a difference of convex losses")
        problem = Tangent.at(objective, objective.null).problem
        try:
            inner = solver_of(problem, control).verdict(problem, control)
        except ValueError:
            return Verdict(False, "no solver takes its tangents with this penalty and this size")
        words = "a difference of convex losses: its convex tangents one after the other"
        return Verdict(True, words, _TANGENTS * inner.cost)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """The convex part alone, then tangents; or tangents from a given model."""
        fresh = start is objective.null
        point, before = start, np.inf if fresh else objective.primal(start)
        tangent = Tangent.first(objective) if fresh else Tangent.at(objective, start)
        for _ in range(_ROUNDS):
            found = minimised(tangent, point, _SHARE * control.target, control)
            judgement = judge(objective, found.point, found.duals)
            yield judgement
            # 1e-13: share of P that counts as rounding; safeguard.
            rise = judgement.primal * (1.0 + 1e-13) - before
            if not rise < 0 or control.expired:
                return
            point, before = found.point, judgement.primal
            tangent = Tangent.at(objective, point)
