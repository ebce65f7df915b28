"""Smooth losses with an l2 penalty in compiled code, with one judgement: Newton, or L-BFGS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.linear_system import inverse_of
from ..._base.typing import Array
from ...certificate import Finding, judge
from ...design import DenseDesign, Design, SparseDesign
from ...problem.intercept import recentred
from ...problem.objective import EPS, Objective, Point
from .. import costs
from ..base import Control

_FEW = 40  # columns, below which a Hessian costs no more than a few products; safeguard
_MOST_NUMBERS = 1_000_000  # numbers in X, from which a thinned start pays; safeguard
_STEPS = 50  # Newton steps of a call; safeguard
_NEAR = 0.1  # share of the target that the last step may gain; safeguard: it leaves the square
_CALLS = 2  # calls, the second one for the digits that the certificate of the first lacked
_QUASI_STEPS = 30  # L-BFGS steps of one metric; safeguard
_METRICS = 4  # metrics, each at the point where the steps of the last one ended; safeguard
_MOST_READ = 5_000_000  # numbers in X, likewise for L-BFGS; measured at 100000×50, 60000×120
_MOST_COLUMNS = 1000  # of an explicit inverse; safeguard


class _Posed(NamedTuple):
    """A problem as compiled kernels take it."""

    x: np.ndarray
    psi: Any
    rows: tuple[Array, Array, Array]  # mass, sign, shift
    l2: Array


def takes_quasi_newton(objective: Objective) -> bool:
    """Whether L-BFGS could run: a loss that the core knows, and whose curvature does not jump."""
    dense = isinstance(objective.design, DenseDesign) and objective.n_scores == 1
    few = objective.design.nnz <= _MOST_READ and _FEW <= objective.n_features <= _MOST_COLUMNS
    if not (dense and few):
        return False
    y = objective.y
    return objective.loss.plq(y) is None and objective.loss.rowwise(y) is not None


def at_once(objective: Objective, control: Control) -> Iterator[Finding]:
    """The minimiser; none where the loss is unknown to the core, or a column is not penalised.

    If steps end too early, `Newton` begins anew: its line search sees more.
    """
    design = _as_dense(objective.design)
    posed = None if design is None else _posed(objective, design)
    if design is None or posed is None:
        return
    if design.shape[1] < _FEW and objective.design.nnz < _MOST_NUMBERS:
        yield from _newton(objective, control, posed, design)
    elif takes_quasi_newton(objective):
        yield from _quasi_newton(objective, control, posed)


def _newton(
    objective: Objective, control: Control, posed: _Posed, design: DenseDesign
) -> Iterator[Finding]:
    """Newton's steps, each with a Hessian of all rows."""
    centre = design.centre if objective.intercept else np.zeros(design.shape[1])
    most = _STEPS if control.max_iter is None else min(_STEPS, control.max_iter)
    w, b, near = objective.null.w.copy(), float(objective.null.b), _NEAR * control.target
    for _ in range(_CALLS):
        b, steps, done = _core.smooth_steps(*posed, centre, objective.intercept, w, b, near, most)
        # A step forms the Hessian, and takes a product for the gradient and one for the scores.
        objective.meter.passes += 1.0 + 3.0 * steps
        if not done:
            return
        yield _judged(objective, w, b)
        near *= 1e-6  # a share at which the square of a step is far below the target; safeguard


def _quasi_newton(objective: Objective, control: Control, posed: _Posed) -> Iterator[Finding]:
    """L-BFGS steps, the first metric being the Hessian of some rows."""
    most = _QUASI_STEPS if control.max_iter is None else min(_QUASI_STEPS, control.max_iter)
    w, b, near = objective.null.w.copy(), float(objective.null.b), 0.5 * control.target
    z = objective.null.z
    for _ in range(_METRICS):
        metric = _metric(objective, posed.l2, z)
        if metric is None or control.expired:
            return
        b, steps, done = _core.quasi_newton(*posed, *metric, w, b, near, most)
        objective.meter.passes += 2.0 + 2.0 * steps
        if done:
            found = _judged(objective, w, b)
            yield found
            near, z = 0.1 * near, found.point.z  # a share, in case a certificate lacked digits
        elif steps < most:  # no step lowers the objective
            return
        else:
            z = objective.point(w, b).z


class _Metric(NamedTuple):
    mean: Array
    intercept: bool
    inverse: Array
    total: float


def _metric(objective: Objective, l2: Array, z: Array) -> _Metric | None:
    """The inverse of the Hessian at some scores, from every so many rows."""
    every = costs.rows_between(objective)
    h = objective.mass * objective.loss.slopes(z, objective.y)[1]
    total = float(h.sum())
    if not total > 0:
        return None
    objective.meter.passes += 1.0 / every
    matrix, mean = objective.thinned(every).hessian(every * h[::every])
    diagonal = np.diag(matrix) + l2
    if every > 1:  # a rare column may be absent from these rows
        spread = objective.spread
        whole = np.maximum(spread - mean**2, EPS * spread) * total + l2
        diagonal = np.maximum(diagonal, 0.1 * whole)  # a tenth of it is kept; safeguard
    matrix.flat[:: l2.size + 1] = diagonal
    inverse = inverse_of(matrix)
    return None if inverse is None else _Metric(mean, objective.intercept, inverse, total)


def _judged(objective: Objective, w: Array, b: float) -> Finding:
    point: Point = recentred(objective, objective.point(w.copy(), b))
    return replace(judge(objective, point), fresh=True)


def _posed(objective: Objective, design: DenseDesign) -> _Posed | None:
    form = objective.penalty.sum_over_features
    if form is None or objective.units is not None or objective.n_scores > 1:
        return None
    loss = objective.loss.rowwise(objective.y)
    if loss is None or not bool((form.l2 > 0).all()):
        return None
    shift = loss.shift
    if objective.offset is not None:
        shift = shift - loss.sign * objective.offset
    return _Posed(design.x, loss.psi.parts, (objective.mass, loss.sign, shift), form.l2)


def _as_dense(design: Design) -> DenseDesign | None:
    """The columns as they are, or with the zeros of sparse ones, if there are few numbers."""
    n, d = design.shape
    if not d:
        return None
    if isinstance(design, SparseDesign):
        few = d < _FEW and n * d < _MOST_NUMBERS
        return DenseDesign(design.x.toarray()) if few else None
    return design if isinstance(design, DenseDesign) else None
