"""Dual coordinate ascent, for piecewise quadratic and logistic losses with a quadratic penalty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..._base.typing import Array
from ...canonical import Ascent, RowDual
from ...certificate import Judgement, judge
from ...losses import Exponentials, Pieces, Rowwise, Softplus
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Start, Verdict
from ..batches import Batches
from ..steps.row_copy import row_copy_counted
from ..traits import Trait
from .free_rows import free_step

if TYPE_CHECKING:
    from .class_batches import Begun

SHARE = 0.8  # share of the target that the estimate of the gap must reach; safeguard
SLOW = 0.1  # share of the gap that a run may leave before another solver takes over; safeguard
_RUNS = 300  # runs of sweeps; safeguard
_FREE_SHARE = 0.5  # passes for steps on the free rows, per pass of the sweeps; safeguard
_BETWEEN = 12  # sweeps between two steps on the free rows; safeguard
_TINY = 1e-300  # stands for a target of 0; safeguard
_WARM = 4.0  # times as fast as from zero is Newton from where sweeps stop; measured, 20000×20000
_WORK = 2e8  # numbers read in one run; safeguard: a run can be stopped within a second
_EPOCHS = 10, 300  # sweeps of one run, least and most; safeguard


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
    least_cost, least_on_smooth = costs.LEAST_ASCENT, costs.LEAST_ASCENT_ON_SMOOTH
    heirs = ("newton", "primal_dual")
    _classes: Batches[Begun] | None = None

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses with pieces, and the logistic one; an L2 penalty on every coefficient."""
        form = objective.penalty.sum_over_features
        assert form is not None
        if objective.loss.plq(objective.y) is None:
            words, shared = "logistic loss", costs.READ_ONCE_LOGISTIC
            cost = costs.ascent_on_logistic(objective, form)
        elif objective.loss.smooth:
            words, shared = "piecewise quadratic loss", costs.READ_ONCE_CURVES
            cost = costs.ascent_on_curves(objective, form)
        else:
            words, shared = "piecewise quadratic loss", costs.READ_ONCE_KINKS
            cost = costs.ascent_on_kinks(objective, form)
        once = shared[objective.design.sparse] * cost
        verdict = Verdict(True, f"{words} and L2: a step per sample", cost, once)
        copies = objective.design.row_copy_bytes
        return row_copy_counted(objective, control, verdict) if copies else verdict

    def shared(self, objectives: Sequence[Objective], starts: Sequence[Start]) -> Dual:
        """Classes in batches: the rows are read once for all classes of a batch."""
        if len(objectives) == 1:
            return self
        from .class_batches import class_batches  # which needs this file

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
        impatient = True
        for run in range(_RUNS):
            before, passes = judgement.gap, objective.meter.passes
            found = _advance(form, objective, control, goal, before, impatient)
            impatient = (
                False  # asked once, a solver that would be slower is no reason to stop early
            )
            work = costs.sweep(objective) * (objective.meter.passes - passes) / 2.0
            point = recentred(objective, objective.point(form.w.copy(), form.b))
            theta = form.loss.sign * form.v
            judgement = judge(objective, point, [theta], known=[judgement.dual], raw=False)
            yield judgement
            if found.gap <= goal:  # the estimate was too optimistic
                goal *= min(0.25, control.target / judgement.gap)
            remaining = (run + 1) * work * _runs_left(before, judgement.gap, control.target)
            if form.curved:
                remaining *= _WARM
            hand_over = HandOver("the gap falls slowly", self.heirs, remaining)
            yield hand_over
            if hand_over.taken:
                return


def _runs_left(before: float, gap: float, target: float) -> float:
    """Runs like the last one, from the gap ``before`` to ``gap``, until the target is reached."""
    if gap <= target:
        return 0.0
    digits = np.log(gap / max(target, _TINY))
    return digits / np.log(before / gap) if gap < before else np.inf


def _first(objective: Objective, start: Point, form: RowDual) -> Judgement:
    """The gap of the start; a rough bound is enough for the null model."""
    if start is objective.null:
        return judge(objective, start, [form.loss.sign * form.v], raw=False)
    return judge(objective, recentred(objective, start))


def _advance(
    form: RowDual,
    objective: Objective,
    control: Control,
    goal: float,
    gap: float,
    impatient: bool,
) -> Ascent:
    """Sweeps, and steps on the free rows between them, until the estimated gap is small enough.

    The steps on the free rows get half as many passes as the sweeps took: which of the two is
    faster is not known before, and so a third of the work may be in vain, but no more. They are
    left out if sweeps that lower the ``gap`` as fast as before need fewer passes. Where such
    steps are not possible, the run of an ``impatient`` caller ends early if sweeps are slow.
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
            return found
        left = found.sweeps * _runs_left(min(before, gap), found.gap, goal)
        before = found.gap
        if 2.0 * left <= budget:
            continue
        spent = free_step(form, budget)
        objective.meter.passes += spent
        budget -= spent


def epochs_of(numbers: float) -> int:
    """The sweeps of one run over so many numbers."""
    return int(np.clip(_WORK / max(numbers, 1), *_EPOCHS))


def dual_of(objective: Objective, start: Point) -> RowDual:
    """The dual at the slopes of the loss at the start; at zero for the null model."""
    loss, form = objective.rowwise, objective.penalty.sum_over_features
    assert loss is not None
    assert form is not None
    psi = loss.psi
    assert not isinstance(psi, Exponentials)
    v = _slopes(objective, start, loss, psi)
    w = -objective.backward(objective.mass * loss.sign * v) / form.l2
    if start is not objective.null and _is_worse_than_zero(objective, loss.sign * v, w):
        return dual_of(objective, objective.null)
    reach = objective.mean(np.abs(loss.at(np.asarray(objective.null.b)) - psi.middle))
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


def _slopes(objective: Objective, start: Point, loss: Rowwise, psi: Pieces | Softplus) -> Array:
    if start is objective.null:
        return psi.clip(np.zeros(objective.n_samples))
    z = start.z if objective.offset is None else start.z - objective.offset
    return psi.slope(loss.at(z))
