"""Dual coordinate ascent, for piecewise quadratic and logistic losses with a quadratic penalty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...canonical import Ascent, RowDual
from ...certificate import Judgement, judge
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Start, Verdict
from ..batches import Batches
from ..steps.row_copy import row_copy_counted
from ..traits import Trait
from .class_batches import Begun, class_batches
from .free_rows import free_step
from .row_dual import SHARE, SLOW, dual_of, epochs_of

_RUNS = 300  # runs of sweeps; safeguard
_FREE_SHARE = 0.5  # passes for steps on the free rows, per pass of the sweeps; safeguard
_BETWEEN = 12  # sweeps between two steps on the free rows; safeguard
_SLOW_AT_GOAL = 0.5  # share that a run may leave if it has reached its own goal; safeguard


class Dual(Solver):
    """Maximises the dual exactly in one sample's slope vᵢ after the other.

    max over v of −Σ massᵢψ*(vᵢ) − ½ Σ (Xᵀu)ⱼ²/l2ⱼ, u = mass·sign·v: each step is the proximal point
    of ψ, which `pieces` give for every such loss. Samples whose slope cannot change are skipped.
    The logistic loss takes the proximal point of log(1 + e^−t), by Halley's method. The
    intercept is free: the method of multipliers makes Σu vanish. Where the gap falls slowly (weak
    penalties, columns that are not scaled), `newton` or `primal_dual` takes over if it can.

    The classes of one-versus-rest begin together, in batches that read every row once for all of
    their classes; each goes on by itself where that is better.
    """

    name = "dual"
    null_may_do = False
    parallel = True
    needs = Trait.ROWS_SOLVED_EXACTLY, Trait.L2_EVERYWHERE
    least_cost = costs.LEAST_ASCENT
    heirs = ("newton", "primal_dual")
    _classes: Batches[Begun] | None = None

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses with pieces, and the logistic one; an L2 penalty on every coefficient."""
        form = objective.penalty.sum_over_features
        assert form is not None
        if objective.loss.plq(objective.y) is None:
            words, cost = "logistic loss", costs.ascent_on_logistic(objective, form)
        elif objective.loss.smooth:
            words, cost = "piecewise quadratic loss", costs.ascent_on_curves(objective, form)
        else:
            words, cost = "piecewise quadratic loss", costs.ascent_on_kinks(objective, form)
        verdict = Verdict(True, f"{words} and L2: a step per sample", cost)
        copies = objective.design.row_copy_bytes
        return row_copy_counted(objective, control, verdict) if copies else verdict

    def shared(self, objectives: Sequence[Objective], starts: Sequence[Start]) -> Dual:
        """Classes in batches: the rows are read once for all classes of a batch."""
        if len(objectives) == 1:
            return self
        solver = Dual()
        solver._classes = class_batches(objectives, starts)
        return solver

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """Runs of coordinate ascent, each ended by its own estimate of the gap."""
        form = dual_of(objective, start)
        judgement = _first(objective, start, form)
        yield judgement
        begun = None if self._classes is None else self._classes.take(objective, control)
        if begun is not None:
            form, judgement = begun
            yield judgement
        goal = SHARE * control.target
        before, impatient = np.inf, True
        for _ in range(_RUNS):
            found, slow = _advance(form, objective, control, goal, impatient)
            point = recentred(objective, objective.point(form.w.copy(), form.b))
            theta = form.loss.sign * form.v
            judgement = judge(objective, point, [theta], known=[judgement.dual], raw=False)
            yield judgement
            most = SLOW
            if found.gap <= goal:  # the estimate was too optimistic
                goal *= min(0.25, control.target / judgement.gap)
                most = _SLOW_AT_GOAL
            if impatient and (slow or judgement.gap > most * before):
                hand_over = HandOver("the gap falls slowly", self.heirs)
                yield hand_over
                if hand_over.taken:
                    return
                impatient = False  # no other solver accepts the problem, so this one goes on
            before = judgement.gap


def _first(objective: Objective, start: Point, form: RowDual) -> Judgement:
    """The gap of the start; a rough bound is enough for the null model."""
    if start is objective.null:
        return judge(objective, start, [form.loss.sign * form.v], raw=False)
    return judge(objective, recentred(objective, start))


def _advance(
    form: RowDual, objective: Objective, control: Control, goal: float, impatient: bool
) -> tuple[Ascent, bool]:
    """Sweeps, and steps on the free rows between them, until the estimated gap is small enough.

    The steps on the free rows get half as many passes as the sweeps took: which of the two is
    faster is not known before, and so a third of the work may be in vain, but no more. Where such
    steps are not possible, the pace of the sweeps is checked: True if it is too slow for an
    ``impatient`` caller.
    """
    epochs = epochs_of(objective.design.nnz)
    before, budget = np.inf, 0.0
    while True:
        found = form.ascend(min(epochs, _BETWEEN), goal)
        objective.meter.passes += 2.0 * found.sweeps
        budget += _FREE_SHARE * 2.0 * found.sweeps
        epochs -= _BETWEEN
        slow = impatient and form.curved and found.gap > SLOW * before
        if found.gap <= goal or epochs <= 0 or control.expired or slow:
            return found, slow
        before = found.gap
        spent = free_step(form, budget)
        objective.meter.passes += spent
        budget -= spent
