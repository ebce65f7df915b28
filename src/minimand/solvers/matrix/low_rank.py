"""Smooth losses with a penalty on singular values."""

from __future__ import annotations

from collections.abc import Iterator

from ...certificate import Judgement, judge
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..traits import Trait

_LARGEST = 2000  # columns, up to which G is formed; safeguard of memory: 32 MB


class LowRank(Solver):
    r"""Quadratic models of a smooth loss in the metric of the data, for `TraceNorm`.

    .. math:: W_{t+1} = \arg\min_W \langle \nabla f(\Theta_t), W\rangle
              + \tfrac{m}{2}\|X(W - \Theta_t)\|_H^2 + \alpha\Omega(W)

    f is the mean loss with the best intercepts. For the squared loss the first model has the
    solution. Otherwise H is the curvature of the loss (Newton's method) as long as a Gram matrix
    for every score is small, beyond that 1 with a Θ extrapolated by momentum, and m is doubled
    until the step is good. A model is solved on Gram matrices, without the data, by accelerated
    proximal steps, and where columns of very different units slow them, along a central path (up
    to 600 coefficients) or by alternating directions; with more than 2000 columns the metric is
    a multiple of the identity, and a model is one proximal step.

    The dual point is the gradient, corrected so that its slope is the subgradient of the penalty
    nearest to it, which makes the gap a square of the error.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.solvers.LowRank().name
    'low_rank'
    """

    name = "low_rank"
    shapes = (Trait.COLUMNS,)
    kind = (*Solver.kind, Trait.SINGULAR_VALUES)
    needs = (Trait.SMOOTH,)
    patience = 200  # judgements without progress; safeguard

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses, and penalties on singular values."""
        formed = is_formed(objective, control)
        how = "on the Gram matrix" if formed else "on the data"
        words = f"smooth loss, singular values: accelerated proximal steps {how}"
        return Verdict(True, words, costs.proximal_steps(objective, formed=formed))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Quadratic models at extrapolated points; each is solved, then judged."""
        from .quadratic_models import several_models, the_model  # not needed for a verdict

        judgement = judge(objective, recentred(objective, start))
        yield judgement
        if objective.loss.quadratic and is_formed(objective, control):
            yield from the_model(objective, control, judgement)
        else:
            yield from several_models(objective, control, judgement, is_formed(objective, control))


def is_formed(objective: Objective, control: Control) -> bool:
    """Whether G is formed: it, its factor and a few matrices like W fit into memory."""
    d = objective.n_features
    return d <= _LARGEST and 8.0 * d * (2 * d + 12 * objective.n_scores) <= control.memory
