"""Losses with kinks and a penalty on singular values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...certificate import Judgement, judge
from ...losses import Loss
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..traits import Trait
from .low_rank import is_formed

_JUDGED = 20  # rounds per judgement, which costs as much as two of them; safeguard


class Splitting(Solver):
    """Alternating directions for losses with kinks and `TraceNorm`.

    A round is two passes over the data, a linear system in the Gram matrix, whose factor is kept,
    a proximal step of the penalty and one of the loss for every row and score. Some hundred rounds
    reach a relative gap of 1e-6, and some thousand on columns of very different units; a callback
    sees every twentieth, and ``max_iter`` counts those.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.solvers.Splitting().name
    'splitting'
    """

    name = "splitting"
    shapes = (Trait.COLUMNS,)
    kind = (*Solver.kind, Trait.SINGULAR_VALUES)
    needs = (Trait.KINKED,)
    default_max_iter = 5000  # judgements; safeguard
    patience = 500  # judgements without progress; safeguard: rounds may spiral inwards

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses with kinks and a proximal point, and penalties on singular values."""
        if objective.loss.joint and type(objective.loss).prox is Loss.prox:
            return Verdict(False, f"{objective.loss!r} does not define its prox")
        if not is_formed(objective, control):
            return Verdict(False, "the Gram matrix of so many columns is too large")
        words = "a loss with kinks, singular values: alternating directions"
        return Verdict(True, words, costs.proximal_steps(objective, formed=False))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Rounds; every twentieth is judged."""
        from .alternating import Alternating  # not needed for a verdict

        judgement = judge(objective, recentred(objective, start))
        yield judgement
        state = Alternating(objective, judgement)
        while np.isfinite(judgement.primal):
            for _ in range(_JUDGED):
                state.round()
                if control.expired:
                    break
            point = recentred(objective, objective.point(state.w, state.b))
            theta = state.theta
            judgement = judge(objective, point, [theta], [judgement.dual], raw=False)
            yield judgement
            state.balance()
