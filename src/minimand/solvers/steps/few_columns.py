"""Smooth losses in compiled code, with one judgement: Newton, with an l1 part too, or L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ..._base.linear_system import inverse_of
from ..._base.typing import Array
from ...certificate import Course, Finding, judge
from ...design import DenseDesign, Design, SparseDesign
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import EPS, Objective
from .. import costs
from ..base import Control

_FEW = 40  # columns, below which a Hessian costs no more than a few products; safeguard
_MOST_NUMBERS = 1_000_000  # numbers in X, from which a thinned start pays; safeguard
_STEPS = 50  # Newton steps of a call; safeguard
_NEAR = 0.1  # share of the target that the last step may gain; safeguard: it leaves the square
_NEAR_KINKS = 1e-3  # the same with an l1 part; safeguard: the gap is as large as the gain
_CALLS = 2  # calls, the second one for digits that the first lacked; safeguard
_QUASI_STEPS = 30  # L-BFGS steps of one metric; safeguard
_METRICS = 4  # metrics, each at the point where the steps of the last one ended; safeguard
_MOST_READ = 5_000_000  # numbers in X, likewise for L-BFGS; measured at 100000×50, 60000×120
_MOST_JUMPING = 300  # columns, if few rows of a Hessian change in a step; measured at 10000×300
_MOST_COLUMNS = 1000  # of an explicit inverse; safeguard
_MOST_FORMED = 400  # unknowns of several scores, beyond which LAPACK factorises faster; safeguard
_MOST_PRODUCTS = 100  # of such a step, beyond which a better preconditioner pays; safeguard
_USUAL = 10  # products of such a step; measured on digits and normal columns
_MOST_CLASSES = 64  # scores, beyond which BLAS multiplies by them faster; safeguard
_NEAR_GAP = 0.5  # share of the target that the gradient may leave; safeguard


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
    return objective.loss.plq(objective.y) is None and objective.rowwise is not None


def _takes_newton(objective: Objective, form: Separable) -> bool:
    """Whether a Hessian in every step is cheap: few columns, or few rows whose curvature jumps."""
    n, d = objective.design.shape
    if d < _FEW or form.makes_zeros:
        return d < _FEW and n * d < _MOST_NUMBERS
    jumps = objective.loss.plq(objective.y) is not None and not objective.loss.quadratic
    return jumps and d <= _MOST_JUMPING and n * d <= _MOST_READ


def at_once(objective: Objective, control: Control) -> Iterator[Finding]:
    """The minimiser; none where the loss is unknown to the core, or the columns are collinear.

    If steps end too early, `Newton` begins anew: its line search sees more.
    """
    form, design = objective.penalty.sum_over_features, _as_dense(objective.design)
    if form is None or design is None or objective.units is not None:
        return
    if objective.n_scores > 1:
        yield from _scores(objective, form, design, control)
        return
    few = _takes_newton(objective, form)
    if not few and (form.makes_zeros or not takes_quasi_newton(objective)):
        return
    loss = objective.rowwise
    if loss is None or not _determined(objective, form):
        return
    rows = objective.mass, loss.sign, loss.shift
    posed = _Posed(design.x, loss.psi.parts, rows, form.l2)
    run = _Run(objective, control, _STEPS if few else _QUASI_STEPS)
    l1 = form.l1 if form.makes_zeros else np.empty(0)
    yield from _newton(run, posed, l1, design) if few else _quasi_newton(run, posed)


class _Run:
    """A model that compiled steps change, and the course of what they visited."""

    def __init__(self, objective: Objective, control: Control, most: int) -> None:
        self.objective, self.control = objective, control
        self.most = most if control.max_iter is None else min(most, control.max_iter)
        self.w, self.b = objective.null.w.copy(), objective.null.b
        self.b = float(self.b) if objective.n_scores == 1 else self.b.copy()
        kept, size = self.most + 1 if control.callbacks else 0, self.w.size + objective.n_scores
        self._primal, self._models = np.empty(self.most + 1), np.empty((kept, size))
        self._told = False  # whether the present model was
        self._courses: list[Course] = []

    def steps(
        self, call: Callable[..., tuple[Any, int, bool]], near: float, passes: float
    ) -> tuple[int, bool]:
        """Steps of one call, each of which takes so many passes: how many, and if it is done."""
        if self.control.callbacks:
            self._models[0] = np.append(self.w, self.b)
        self.b, steps, done = call(
            self.w, self.b, near, self.most, self._primal, self._models[1:].ravel()
        )
        meter = self.objective.meter
        taken = [meter.passes + 1.0 + passes * step for step in range(steps + 1)]
        meter.passes = taken[-1]
        new = slice(1 if self._told else 0, steps)
        self._courses.append(
            Course(self._primal[new].tolist(), taken[new], self._models[new].copy())
        )
        self._told = False
        return steps, done

    def finding(self) -> Finding:
        """The judgement of the model, with its course since the last one."""
        point = recentred(self.objective, self.objective.point(self.w.copy(), self.b))
        primal, passes, models = zip(*self._courses)
        course = Course([*chain(*primal)], [*chain(*passes)], np.concatenate(models))
        self._courses, self._told = [], True
        return replace(judge(self.objective, point), fresh=True, course=course)


def _newton(run: _Run, posed: _Posed, l1: Array, design: DenseDesign) -> Iterator[Finding]:
    """Newton's steps, each with a Hessian of all rows."""
    objective = run.objective
    near = (_NEAR_KINKS if l1.size else _NEAR) * run.control.target
    centred = objective.intercept or l1.size > 0  # far from zero, a model with kinks needs it too
    centre = design.centre if centred else np.zeros(design.shape[1])

    def call(*rest: Any) -> tuple[float, int, bool]:
        return _core.smooth_steps(*posed, l1, centre, objective.intercept, *rest)

    for _ in range(_CALLS):
        # A step forms the Hessian, and takes a product for the gradient and one for the scores.
        if not run.steps(call, near, 3.0)[1]:
            return
        yield run.finding()
        near *= 1e-6  # a share at which the square of a step is far below the target; safeguard


def _scores(
    objective: Objective, form: Separable, design: DenseDesign, control: Control
) -> Iterator[Finding]:
    """Newton's steps of several scores that a softmax couples."""
    (n, d), k, null = design.shape, objective.n_scores, objective.null
    classes = objective.loss.softmax_classes(objective.y)
    if classes is None or k > _MOST_CLASSES or n * max(d, k) >= _MOST_NUMBERS:
        return
    everywhere, formed = form.l2_everywhere, d * k <= _MOST_FORMED
    lacking = not np.bincount(classes, weights=objective.mass, minlength=k).all()
    if lacking or not (everywhere or (formed and _determined(objective, form))):
        return
    mean, size = np.zeros(d), objective.spread
    if objective.intercept:
        mean = objective.column_means
        size = np.maximum(size - mean**2, EPS * size)
    products = _products(n, d, k, formed) if everywhere else 0
    x = np.ascontiguousarray(design.x) if products else design.x
    how = objective.intercept, everywhere, formed, products
    posed = x, classes, objective.mass, np.ascontiguousarray(form.l2), mean, size, how
    run, z = _Run(objective, control, _STEPS), null.z.copy()

    def call(w: Array, b: Array, *rest: Any) -> tuple[Array, int, bool]:
        return b, *_core.score_steps(*posed, w, b, z, *rest)

    near = (_NEAR_GAP if everywhere else _NEAR) * control.target
    for _ in range(_CALLS):
        # A step takes two products, and a Hessian for all pairs of scores or products for it.
        if not run.steps(call, near, 2.0 + (_USUAL if products else 0.5 * k * (k - 1)))[1]:
            return
        yield run.finding()
        near *= 1e-2 if everywhere else 1e-6  # shares: gaps, and gains of steps; safeguard


def _products(n: int, d: int, k: int, formed: bool) -> int:
    """Products of a step that take as long as a Hessian of k scores; 0 if these are few."""
    if not formed:
        return _MOST_PRODUCTS
    hessian = 0.25 * n * d * d * k * (k - 1) + 0.5 * (d * k) ** 3
    products = int(hessian / (2.0 * n * d * k))
    return min(products, _MOST_PRODUCTS) if products > _USUAL else 0


def _quasi_newton(run: _Run, posed: _Posed) -> Iterator[Finding]:
    """L-BFGS steps, the first metric being the Hessian of some rows."""
    objective, near, z = run.objective, 0.5 * run.control.target, run.objective.null.z
    for _ in range(_METRICS):
        metric = _metric(objective, posed.l2, z)
        if metric is None or run.control.expired:
            return

        def call(*rest: Any, metric: _Metric = metric) -> tuple[float, int, bool]:
            return _core.quasi_newton(*posed, *metric, *rest)

        steps, done = run.steps(call, near, 2.0)
        if done:
            found = run.finding()
            yield found
            near, z = 0.1 * near, found.point.z  # a share, in case a certificate lacked digits
        elif steps < run.most:  # no step lowers the objective
            return
        else:
            z = objective.point(run.w, run.b).z


class _Metric(NamedTuple):
    mean: Array
    intercept: bool
    inverse: Array
    total: float


def _metric(objective: Objective, l2: Array, z: Array) -> _Metric | None:
    """The inverse of the Hessian at some scores, from every so many rows.

    At the null model, whose curvature varies little from row to row, that of the squared loss does
    as well, if it is known.
    """
    h = objective.mass * objective.loss.slopes(z, objective.y)[1]
    total = float(h.sum())
    if not 0 < total < np.inf:
        return None
    every, own = costs.rows_between(objective), objective.facts.hessian
    if own is not None and z is objective.null.z:
        every, matrix, mean = 1, total * own.matrix, own.mean
    else:
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


def _determined(objective: Objective, form: Separable) -> bool:
    """Whether every column is penalised, or those that are not are far from collinear."""
    if form.l2_everywhere or (form.makes_zeros and not objective.has_free_columns):
        return True
    basis = objective.free_basis
    return basis is not None and basis.regular


def _as_dense(design: Design) -> DenseDesign | None:
    """The columns as they are, or with the zeros of sparse ones, if there are few numbers."""
    n, d = design.shape
    if not d:
        return None
    if isinstance(design, SparseDesign):
        few = d < _FEW and n * d < _MOST_NUMBERS
        return DenseDesign(design.x.toarray()) if few else None
    return design if isinstance(design, DenseDesign) else None
