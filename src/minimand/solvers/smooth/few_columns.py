"""Newton's method on few columns in one compiled call, and one judgement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ... import _core
from ...certificate import Course, Finding, judge
from ...design import DenseDesign, Design, SparseDesign
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective
from ..base import Control

_FEW = 40  # columns, below which a Hessian costs no more than a few products; safeguard
_MOST_NUMBERS = 1_000_000  # numbers in X, from which a thinned start pays; safeguard
_STEPS = 50  # Newton steps of a call; safeguard
_NEAR = 0.1  # share of the target that the last step may gain; safeguard: it leaves the square
_CALLS = 2  # calls, the second one for digits that the first lacked; safeguard


def newton_on_few_columns(objective: Objective, control: Control) -> Iterator[Finding]:
    """The minimiser; none where the loss is unknown to the core, or the columns are collinear.

    If steps end too early, `Newton` begins anew: its line search sees more.
    """
    form, design = objective.penalty.sum_over_features, _few_columns(objective.design)
    if form is None or design is None or objective.units is not None:
        return
    loss = objective.loss.rowwise(objective.y) if objective.n_scores == 1 else None
    if loss is None or not _determined(objective, form):
        return
    d = design.shape[1]
    shift = loss.shift
    if objective.offset is not None:
        shift = shift - loss.sign * objective.offset
    centre = design.centre if objective.intercept else np.zeros(d)
    most = _STEPS if control.max_iter is None else min(_STEPS, control.max_iter)
    w, b, near = objective.null.w.copy(), float(objective.null.b), _NEAR * control.target
    rows = (objective.mass, loss.sign, shift)
    primal, models = np.empty(most + 1), np.empty((most + 1 if control.callbacks else 0, d + 1))
    for call in range(_CALLS):
        if control.callbacks:
            models[0] = [*w, b]
        b, steps, done = _core.smooth_steps(
            *(design.x, loss.psi.parts, rows, form.l2, centre, objective.intercept),
            *(w, b, near, most, primal, models[1:].ravel()),
        )
        # A step forms the Hessian, and takes a product for the gradient and one for the scores.
        passes = [objective.meter.passes + 1.0 + 3.0 * step for step in range(steps + 1)]
        objective.meter.passes = passes[-1]
        if not done:
            return
        point = recentred(objective, objective.point(w.copy(), b))
        told = slice(1 if call else 0, steps)  # a later call begins at a point that was told
        course = Course(primal[told].tolist(), passes[told], models[told])
        yield replace(judge(objective, point), fresh=True, course=course)
        near *= 1e-6  # a share at which the square of a step is far below the target; safeguard


def _determined(objective: Objective, form: Separable) -> bool:
    """Whether every column is penalised, or those that are not are far from collinear."""
    if (form.l2 > 0).all():
        return True
    basis = objective.free_basis
    return basis is not None and basis.regular


def _few_columns(design: Design) -> DenseDesign | None:
    """The columns as they are, or with the zeros of sparse ones, if there are few numbers."""
    n, d = design.shape
    if not 0 < d < _FEW or n * d >= _MOST_NUMBERS:
        return None
    if isinstance(design, SparseDesign):
        return DenseDesign(design.x.toarray())
    return design if isinstance(design, DenseDesign) else None
