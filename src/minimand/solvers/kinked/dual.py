"""Dual coordinate ascent, for piecewise quadratic and logistic losses with a quadratic penalty."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array
from ...canonical import Ascent, RowDual
from ...certificate import Judgement, judge
from ...losses import Rowwise
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..steps.row_copy import row_copy_counted
from ..traits import Trait
from .free_rows import free_step

_RUNS = 300  # runs of sweeps; safeguard
_WORK = 2e8  # numbers read in one run; safeguard: a run can be stopped within a second
_EPOCHS = 10, 300  # sweeps of one run, least and most; safeguard
_BETWEEN = 12  # sweeps between two steps on the free rows; safeguard
_SLOW = 0.1  # share of the gap that a run may leave before another solver takes over; safeguard
_SLOW_AT_GOAL = 0.5  # the same for a run that has reached its own goal; safeguard
_SHARE = 0.8  # share of the target that the estimate of the gap must reach; safeguard


class Dual(Solver):
    """Maximises the dual exactly in one sample's slope vᵢ after the other.

    max over v of −Σ massᵢψ*(vᵢ) − ½ Σ (Xᵀu)ⱼ²/l2ⱼ, u = mass·sign·v: each step is the proximal point
    of ψ, which `pieces` give for every such loss. Samples whose slope cannot change are skipped.
    The logistic loss takes the proximal point of log(1 + e^−t), by Halley's method. The
    intercept is free: the method of multipliers makes Σu vanish. Where the gap falls slowly (weak
    penalties, columns that are not scaled), `newton` or `primal_dual` takes over if it can.
    """

    name = "dual"
    null_may_do = False
    parallel = True
    needs = Trait.ROWS_SOLVED_EXACTLY, Trait.L2_EVERYWHERE
    least_cost = costs.LEAST_ASCENT
    heirs = ("newton", "primal_dual")

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

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """Runs of coordinate ascent, each ended by its own estimate of the gap."""
        form = _dual_of(objective, start)
        judgement = _first(objective, start, form)
        yield judgement
        goal = _SHARE * control.target
        before, impatient = np.inf, True
        for _ in range(_RUNS):
            found, slow = _advance(form, objective, control, goal, impatient)
            point = recentred(objective, objective.point(form.w.copy(), form.b))
            theta = form.loss.sign * form.v
            judgement = judge(objective, point, [theta], known=[judgement.dual], raw=False)
            yield judgement
            most = _SLOW
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

    Where such steps are not possible, the pace of the sweeps is checked: True if it is too slow for
    an ``impatient`` caller.
    """
    epochs = int(np.clip(_WORK / max(objective.design.nnz, 1), *_EPOCHS))
    before = np.inf
    while True:
        found = form.ascend(min(epochs, _BETWEEN), goal)
        objective.meter.passes += 2.0 * found.sweeps
        epochs -= _BETWEEN
        slow = impatient and form.curved and found.gap > _SLOW * before
        if found.gap <= goal or epochs <= 0 or control.expired or slow:
            return found, slow
        before = found.gap
        objective.meter.passes += free_step(form)


def _dual_of(objective: Objective, start: Point) -> RowDual:
    """The dual at the slopes of the loss at the start; at zero for the null model."""
    loss, form = objective.loss.rowwise(objective.y), objective.penalty.sum_over_features
    assert loss is not None
    assert form is not None
    if objective.offset is not None:
        loss = loss._replace(shift=loss.shift - loss.sign * objective.offset)
    v = _slopes(objective, start, loss)
    w = -objective.backward(objective.mass * loss.sign * v) / form.l2
    if start is not objective.null and _is_worse_than_zero(objective, loss.sign * v, w):
        return _dual_of(objective, objective.null)
    reach = objective.mean(np.abs(loss.at(np.asarray(objective.null.b)) - loss.psi.middle))
    return RowDual(
        objective.design, loss, objective.mass, form.l2, objective.intercept, v, w, start.b, reach
    )


def _is_worse_than_zero(objective: Objective, theta: Array, w: Array) -> bool:
    """Whether D(θ) = −mean(ℓ*(θ) − θ·offset) − ½Σ l2·w² is less than D(0), the mean infimum.

    The slopes at a model far from the optimum give a w that is even farther from it.
    """
    form = objective.penalty.sum_over_features
    assert form is not None
    paid = objective.loss.conjugate(theta, objective.y)
    if objective.offset is not None:
        paid = paid - theta * objective.offset
    return not -objective.mean(paid) - form.value(w) >= objective.infimum


def _slopes(objective: Objective, start: Point, loss: Rowwise) -> Array:
    if start is objective.null:
        return loss.psi.clip(np.zeros(objective.n_samples))
    z = start.z if objective.offset is None else start.z - objective.offset
    return loss.psi.slope(loss.at(z))
