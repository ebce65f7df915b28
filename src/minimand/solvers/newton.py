"""Newton's method for a smooth loss with a quadratic (or no) penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .._typing import Array
from ..certificate import Judgement, judge
from ..linear_system import solver_for
from ..objective import EPS, Objective, Point, dot
from ..penalties import Separable
from .base import Control, Solver, Verdict
from .krylov import conjugate_gradients
from .search import Caution, line_search, recentred

_DENSE_HESSIAN = 1500  # columns up to which the Hessian is formed and factorised
_ITERATIONS = 200
_THINNING = 10
_WORTH_THINNING = 1_000_000  # numbers in X below which a thinned start does not pay


class Newton(Solver):
    """w ← w + t·D with H D = −g, H = Xᵀdiag(h)X + diag(l2): Cholesky, or conjugate gradients.

    The intercept is eliminated from the system, exactly. The step yields a second dual point,
    θ + h∘(X D), whose slope cancels that of the penalty at w + D: its gap is of third order.
    """

    name = "newton"

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses; penalties without an l1 part."""
        form = objective.penalty.separable
        if not objective.loss.smooth:
            return Verdict(False, f"{objective.loss!r} has kinks; Newton needs a smooth loss")
        if form is None or form.l1.any():
            return Verdict(False, "the penalty has kinks; Newton takes L2 or no penalty")
        n, d = objective.design.shape
        if self._factorises(objective, control):
            cost = 8.0 * (
                objective.design.nnz * min(d, objective.design.nnz / max(n, 1)) / 16 + d**3 / 48
            )
            return Verdict(True, "smooth loss and quadratic penalty: Cholesky of the Hessian", cost)
        cost = 8.0 * 20 * 4 * objective.design.nnz
        return Verdict(True, "smooth loss and quadratic penalty: conjugate gradients", cost)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Newton steps with an exact line search on the scores."""
        form = objective.penalty.separable
        assert form is not None
        direction = _cholesky_step if self._factorises(objective, control) else _krylov_step
        judgement = judge(objective, recentred(objective, self._warmed(objective, start, control)))
        yield judgement
        caution = Caution()
        for _ in range(_ITERATIONS):
            point, terms = judgement.point, judgement.terms
            curvature = caution.curvature(objective, point, terms)
            gradient = judgement.slope + form.l2 * point.w
            dw, db = direction(
                objective, form, objective.mass * curvature, gradient, judgement, control
            )
            dz = objective.forward(dw) + db
            t, new = line_search(objective, form, point, dw, dz, db)
            if t == 0.0 and caution.share == 1.0:
                return
            if not caution.learn(t):
                continue
            duals = [terms.gradient + curvature * dz] if t == 1.0 else []
            judgement = judge(objective, recentred(objective, new), duals, known=[judgement.dual])
            yield judgement

    def _warmed(self, objective: Objective, start: Point, control: Control) -> Point:
        """With many rows per column, first solve on every tenth row: that costs a tenth.

        Its solution is off by about d/(n/10) of the scale, which Newton squares in one step.
        """
        n, d = objective.design.shape
        if start is not objective.null or n * d < _WORTH_THINNING or n < 200 * d:
            return start
        thin = objective.thinned(_THINNING)
        for judgement in self.iterate(thin, thin.null, control):
            if judgement.gap <= 1e-4 * thin.scale or control.expired:
                break
        return objective.point(judgement.point.w, judgement.point.b)

    def _factorises(self, objective: Objective, control: Control) -> bool:
        d = objective.n_features
        return d <= _DENSE_HESSIAN and 3 * 8 * d * d <= control.memory


def _cholesky_step(
    objective: Objective,
    form: Separable,
    h: Array,
    gradient: Array,
    judgement: Judgement,
    control: Control,
) -> tuple[Array, float]:
    """Solve with the d×d Hessian, scaled to unit diagonal so that units do not matter."""
    hessian, mean = objective.hessian(h)
    hessian.flat[:: hessian.shape[0] + 1] += form.l2
    dw = -solver_for(hessian)(gradient)
    return dw, -dot(mean, dw)


def _krylov_step(
    objective: Objective,
    form: Separable,
    h: Array,
    gradient: Array,
    judgement: Judgement,
    control: Control,
) -> tuple[Array, float]:
    """Preconditioned conjugate gradients on H, the intercept eliminated through its shift."""
    total = float(h.sum())
    first, second = objective.moments(h)
    centre = first / total if objective.intercept and total > 0 else np.zeros_like(first)
    diagonal = np.maximum(second - centre * first, EPS * second) + form.l2
    diagonal[diagonal <= 0] = 1.0

    def product(v: Array) -> Array:
        image, _ = objective.curvature_product(v, -dot(centre, v), h)
        return image + form.l2 * v

    stop = _good_enough(form, gradient, judgement, control)
    dw = conjugate_gradients(product, -gradient, diagonal, stop)
    return dw, -dot(centre, dw)


def _good_enough(
    form: Separable, gradient: Array, judgement: Judgement, control: Control
) -> Callable[[Array, float, float], bool]:
    """Stop CG when its residual costs less of the gap than the model's own error will.

    A residual r adds Σ rⱼ²/(2 l2ⱼ) to the gap of the Newton dual point.
    """
    curved = form.l2 > 0
    weight = np.where(curved, 0.5 / np.where(curved, form.l2, 1.0), 0.0)
    gap = dot(weight * gradient, gradient)
    goal = max(
        0.1 * control.target, min(0.1, np.sqrt(gap / max(judgement.primal, 1e-300))) * 0.1 * gap
    )
    all_curved = bool(curved.all())

    def stop(residual: Array, energy: float, first: float) -> bool:
        if all_curved:
            return dot(weight * residual, residual) <= goal or control.expired
        return energy <= 1e-4 * first * min(1.0, first) or control.expired

    return stop
