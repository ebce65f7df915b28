"""Dual ascent over rows for losses of class margins (Crammer-Singer, rankings) with L2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array
from ...canonical import ClassDual as Form
from ...certificate import Dual, Judgement, judge
from ...losses.joint.class_margins import ClassMargins
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..steps.row_copy import row_copy_counted
from ..traits import Trait
from .class_primal_dual import ClassPrimalDual

_RUNS = 300  # runs of sweeps; safeguard
_WORK = 2e9  # numbers of W read in one run; safeguard: some seconds
_EPOCHS = 10, 20_000  # sweeps of one run, least and most; safeguard
_PATIENCE = 2.0  # costs of an heir that are spent before it continues; safeguard
_SHARE = 1.4  # share of the target that the estimate of the gap, which is that of the latest
# multipliers, must reach; that of their mean is about 0.6 of it; measured: 20newsgroups


class ClassDual(Solver):
    """Maximises the dual exactly in the k multipliers of one sample after the other.

    max over u of −Σ massᵢℓ*(uᵢ) − ½ Σ ‖(XᵀU)ⱼ‖²/l2ⱼ, Uᵢ = massᵢuᵢ: each step is a projection onto
    the multipliers of a row, for Crammer and Singer's loss a simplex. Samples whose multipliers
    cannot change are skipped. The intercepts are free: the method of multipliers makes Σ U
    vanish.
    """

    name = "class_dual"
    null_may_do = False
    shapes = (Trait.COLUMNS,)
    needs = Trait.CLASS_MARGINS, Trait.L2_EVERYWHERE
    least_cost = costs.LEAST_ASCENT
    heirs = ("class_primal_dual",)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses of class margins; an L2 penalty on every coefficient, the same for all classes."""
        form = objective.penalty.sum_over_features
        assert form is not None
        if (form.l2 != form.l2[:, :1]).any():
            return Verdict(False, "the penalty differs from class to class")
        if objective.y.ndim > 1:
            return Verdict(False, "the loss is a tangent of one that is not convex")
        words = "class margins and L2: a projection per sample"
        verdict = Verdict(True, words, costs.ascent_on_classes(objective, form))
        return row_copy_counted(objective, control, verdict)

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """Runs of ascent, each ended by its own estimate of the gap."""
        form = _dual_of(objective, start)
        judgement = judge(objective, start, [form.u], raw=False)
        yield judgement
        work = objective.design.nnz * objective.n_scores
        epochs = int(np.clip(_WORK / max(work, 1), *_EPOCHS))
        left = self._sweeps_before_heir(objective, control)
        goal = _SHARE * control.target
        for _ in range(_RUNS):
            found = form.ascend(int(np.clip(left, 1, epochs)), goal)
            left -= found.sweeps
            objective.meter.passes += 2.0 * found.sweeps
            judgement = _judged(objective, form, judgement)
            yield judgement
            if found.gap <= goal:  # the estimate was too optimistic
                goal *= min(0.5, control.target / judgement.gap)
            if left <= 0:
                yield HandOver("sweeps take longer than interior points would", self.heirs)
                left = np.inf

    def _sweeps_before_heir(self, objective: Objective, control: Control) -> float:
        """Sweeps that cost as much as interior points; without limit if these are refused."""
        heir = ClassPrimalDual().verdict(objective, control)
        return max(_PATIENCE * heir.cost / costs.sweep_over_classes(objective), _EPOCHS[0])


def _judged(objective: Objective, form: Form, before: Judgement) -> Judgement:
    """The judgement of the mean multipliers and of their W, which share a pass over the data."""
    theta = objective.loss.into_domain(form.mean, objective.y)
    dual = Dual(theta, objective.backward(objective.weigh(theta)))
    point = objective.point(-dual.slope / form.l2[:, None], form.b - form.b.mean())
    if objective.intercept:  # the multipliers must be balanced first
        return judge(objective, point, [theta], known=[before.dual], raw=False)
    return judge(objective, point, known=[dual, before.dual], raw=False)


def _dual_of(objective: Objective, start: Point) -> Form:
    """The dual at the slopes of the loss at the start; at zero for the null model."""
    form = objective.penalty.sum_over_features
    assert form is not None
    assert isinstance(objective.loss, ClassMargins)
    l2 = np.ascontiguousarray(form.l2[:, 0])
    u = np.zeros(objective.null.z.shape)
    if start is not objective.null:
        u = objective.loss.gradient(start.z, objective.y)
    w = -objective.backward(objective.weigh(u)) / l2[:, None]
    if start is not objective.null and _is_worse_than_zero(objective, u, w):
        return _dual_of(objective, objective.null)
    return Form(
        objective.design, objective.loss, objective.y, objective.mass, l2, objective.offset,
        objective.intercept, u, np.ascontiguousarray(w), np.array(start.b, dtype=float),
        objective.null_loss,
    )  # fmt: skip


def _is_worse_than_zero(objective: Objective, theta: Array, w: Array) -> bool:
    """Whether D(θ) = −mean(ℓ*(θ) − θ·offset) − ½Σ l2·w² is negative, and so less than D(0).

    The slopes at a model far from the optimum give a W that is even farther from it.
    """
    paid = objective.loss.conjugate(theta, objective.y)
    if objective.offset is not None:
        paid = paid - np.sum(theta * objective.offset, axis=1)
    return not -objective.mean(paid) - objective.penalty.value(w) >= 0.0
