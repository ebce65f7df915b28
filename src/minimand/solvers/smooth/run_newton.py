"""Newton's method for smooth losses over runs of rows (queries) with L2, L1 or both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.linear_system import solver_for
from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...losses.curvature import Curvature
from ...penalties import Separable
from ...problem.objective import Objective, Point, dot
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..sparse.run_support import sparse_step
from ..steps.krylov import conjugate_gradients
from ..steps.line_search import line_search
from ..traits import Trait

_DENSE_HESSIAN = 400  # columns, up to which the Hessian is formed; safeguard
_MOST_COPIED = 4e8  # bytes of X as a dense matrix and of H X, beyond which it is not; safeguard
_ITERATIONS = 200  # steps; safeguard
_PRODUCTS = 300  # products of one step; safeguard
_INEXACT = 0.1  # share of the gradient's gap that conjugate gradients may leave; safeguard


class RunNewton(Solver):
    """w ← w + t·D with (Xᵀ H X + diag(l2)) D = −g, H the curvature of the loss over runs.

    H is known by its products. Few columns: the matrix is formed and factorised; many: conjugate
    gradients. With an l1 part, the quadratic model is minimised on the support and the columns
    whose slopes exceed it most. The slope of the loss is a dual point at no further cost; with L2
    alone the gap is ‖g‖²/(2·l2).
    """

    name = "run_newton"
    null_may_do = False
    kind = (Trait.CONVEX_LOSS, Trait.CONVEX_PENALTY, Trait.OVER_RUNS)
    needs = (Trait.SMOOTH, Trait.SUM_OVER_FEATURES, Trait.NO_BOUNDS, Trait.NO_INTERCEPT)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses over runs; a penalty on every coefficient, and no intercept."""
        if objective.has_free_columns:
            return Verdict(False, "some coefficients have no penalty")
        words = "smooth loss over runs and a sum over features: Newton's method"
        return Verdict(True, words, costs.newton_on_runs(objective))

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """Newton steps with a line search on the scores."""
        yield from newton_steps(objective, start, control)


def newton_steps(objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
    """Judged points of Newton's method, until no step lowers the objective."""
    form = objective.penalty.sum_over_features
    assert form is not None
    judgement = judge(objective, start)
    yield judgement
    for _ in range(_ITERATIONS):
        point = judgement.point
        curvature = judgement.terms.curvature.weighted(objective.row_mass)
        if form.makes_zeros:
            new = sparse_step(objective, form, judgement, curvature, control)
        else:
            new = _step(objective, form, point, judgement.slope, curvature, control)
        if new is None:
            return
        judgement = judge(objective, new)
        yield judgement


def _step(
    objective: Objective,
    form: Separable,
    point: Point,
    slope: Array,
    curvature: Curvature,
    control: Control,
) -> Point | None:
    """A Newton step with a line search; None if none lowers the objective."""
    gradient = slope + form.l2 * point.w
    dw = _direction(objective, form, curvature, gradient, control)
    dz, first = objective.forward(dw), dot(gradient, dw)
    t, new = line_search(objective, form, point, dw, dz, 0.0, beyond=True, first=first)
    return new if t > 0.0 else None


def _direction(
    objective: Objective, form: Separable, curvature: Curvature, gradient: Array, control: Control
) -> Array:
    """The Newton step: by a factor of the Hessian, or by conjugate gradients."""
    n, d = objective.design.shape
    if d <= _DENSE_HESSIAN and 16 * n * d <= min(_MOST_COPIED, control.memory):
        objective.meter.passes += 2
        hessian = curvature.gram(objective.design)
        hessian.flat[:: d + 1] += form.l2
        return -solver_for(hessian)(gradient)
    diagonal = objective.spread * float(curvature.bound.sum()) + form.l2
    diagonal[diagonal <= 0] = 1.0
    # A residual r adds Σ rⱼ²/(2 l2ⱼ) to the gap of the next point.
    gap = 0.5 * dot(gradient / form.l2, gradient)
    goal = max(0.2 * control.target, _INEXACT * gap * min(1.0, gap / max(objective.scale, 1e-300)))

    def product(v: Array) -> tuple[Array, Array]:
        scores = objective.forward(v)
        return objective.backward(curvature.times(scores)) + form.l2 * v, scores

    def stop(residual: Array, energy: float, first: float) -> bool:
        return 0.5 * dot(residual / form.l2, residual) <= goal or control.expired

    dw, _ = conjugate_gradients(product, -gradient, lambda r: r / diagonal, stop, _PRODUCTS)
    return np.asarray(dw)
