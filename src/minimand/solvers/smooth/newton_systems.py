"""How Newton systems of one score are solved: Cholesky, or conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._base.linear_system import Solve, factorise, solver_for
from ..._base.typing import Array
from ...losses.curvature import Curvature
from ...penalties import Separable
from ...problem.objective import EPS, Objective, dot
from ..base import Control
from ..steps.krylov import conjugate_gradients
from ..steps.line_search import Caution

_SAMPLED_ROWS = 60, 15  # rows per column in the Hessian of a preconditioner, and least; safeguard
_MOST_SAMPLED = 60_000  # rows in all, unless these are fewer per column; safeguard
_MOST_PRODUCTS = 30  # CG products, beyond which the preconditioner is abandoned; safeguard
_STALE = 10  # CG products of a step, from which the next step makes a new Hessian; safeguard


class Step(NamedTuple):
    """A step of the coefficients, of the intercept and of the scores."""

    dw: Array
    db: Any  # a float, or a number for each of k scores
    dz: Array


class Direction:
    """A way to solve the Newton system."""

    near_inverse: Solve | None = None
    """Solves the system of some rows, or of an earlier step."""
    exact = True
    """Whether a step is so good that θ + H dz is worth a pass, as a dual point."""

    def __init__(self, objective: Objective, form: Separable, control: Control) -> None:
        self._objective, self._form, self._control = objective, form, control

    def __call__(self, curvature: Curvature, gradient: Array) -> Step:
        """The step for the second derivative of the weighted loss and a gradient in w."""
        raise NotImplementedError

    def slope_along(self, gradient: Array, dw: Array) -> float | None:
        """The slope of the objective along the step, if it need not be found from the scores."""
        return None


class Cholesky(Direction):
    """Steps by the factorised d×d Hessian."""

    def __call__(self, curvature: Curvature, gradient: Array) -> Step:
        """Solve with the Hessian itself."""
        objective = self._objective
        hessian, mean = objective.hessian(curvature.bound)
        hessian.flat[:: hessian.shape[0] + 1] += self._form.l2
        self.near_inverse = solver_for(hessian)
        dw = -self.near_inverse(gradient)
        db = -dot(mean, dw)
        return Step(dw, db, objective.forward(dw) + db)


class Krylov(Direction):
    """Steps by preconditioned conjugate gradients; the intercept is eliminated by centring."""

    most = 500  # products of one step; safeguard
    sharp = False  # whether rᵀM⁻¹r is about twice what a step gains
    products = 0  # products of the last step

    def __call__(self, curvature: Curvature, gradient: Array) -> Step:
        """Solve until the residual adds little to the gap."""
        objective, form, h = self._objective, self._form, curvature.bound
        total = float(h.sum())
        centre = np.zeros_like(gradient)
        if objective.intercept and total > 0:
            centre = objective.mean_row(h)
        # The diagonal of the Hessian, as if all samples had the same curvature.
        diagonal = np.maximum(objective.spread - centre**2, EPS * objective.spread) * total
        diagonal += form.l2
        diagonal[diagonal <= 0] = 1.0
        self.products = 0

        def product(v: Array) -> tuple[Array, Array]:
            self.products += 1
            image, scores = objective.curvature_product(v, -dot(centre, v), h)
            image += form.l2 * v
            return image, scores

        stop = good_enough(objective, form, gradient, self._control, self.sharp)
        precondition = self._preconditioner(h, diagonal)
        dw, dz = conjugate_gradients(product, -gradient, precondition, stop, self.most)
        return Step(dw, -dot(centre, dw), dz)

    def _preconditioner(self, h: Array, diagonal: Array) -> Solve:
        return lambda residual: residual / diagonal


class Reused(Krylov):
    """The same with the Hessian of some rows, or of an earlier step, as preconditioner.

    A step then takes a few products, where forming a Hessian costs d of them. The preconditioned
    eigenvalues are within about 1 ± √(d/rows). If a step takes many products, they are not, and the
    Hessian of all rows is used from then on.
    """

    most = _MOST_PRODUCTS
    sharp = True

    def __call__(self, curvature: Curvature, gradient: Array) -> Step:
        """The step by conjugate gradients, or by Cholesky once the preconditioner has failed."""
        if self.products >= self.most:
            return Cholesky(self._objective, self._form, self._control)(curvature, gradient)
        if self.products >= _STALE:
            self.near_inverse = None
        return super().__call__(curvature, gradient)

    def _preconditioner(self, h: Array, diagonal: Array) -> Solve:
        if self.near_inverse is None:
            self.near_inverse = self._of_some_rows(h, diagonal)
        return self.near_inverse or super()._preconditioner(h, diagonal)

    def _of_some_rows(self, h: Array, diagonal: Array) -> Solve | None:
        d = self._objective.n_features
        every = _step_between_rows(self._objective)
        self._objective.meter.passes += 1.0 / every
        matrix = self._objective.thinned(every).hessian(every * h[::every]).matrix
        # A rare column may be absent from these rows; a tenth of its diagonal is kept (safeguard).
        places = np.arange(d)
        matrix[places, places] = np.maximum(matrix[places, places] + self._form.l2, 0.1 * diagonal)
        return factorise(matrix)


def _step_between_rows(objective: Objective) -> int:
    n, d = objective.design.shape
    usual, least = _SAMPLED_ROWS
    rows = min(usual * d, max(_MOST_SAMPLED, least * d))
    return max(n // max(rows, 1), 1)


def share_of_rows(objective: Objective) -> float:
    """The share of the rows whose Hessian is the first preconditioner."""
    return 1.0 / _step_between_rows(objective)


def good_enough(
    objective: Objective, form: Separable, gradient: Array, control: Control, sharp: bool
) -> Callable[[Array, float, float], bool]:
    """Stop CG when its residual adds less to the gap than the quadratic model's error will.

    A residual r adds Σ rⱼ²/(2 l2ⱼ) to the gap of the Newton dual point. The model of a quadratic
    loss has no error.
    """
    scale, exact = objective.scale, objective.loss.quadratic
    curved = form.l2 > 0
    weight = np.where(curved, 0.5 / np.where(curved, form.l2, 1.0), 0.0)
    gap = dot(weight * gradient, gradient)
    share = min(0.1, gap / max(scale, 1e-300))  # at most 0.1; safeguard
    # Shares of the target and the gap left to the residual; safeguard.
    goal = 0.9 * control.target if exact else max(0.4 * control.target, 0.1 * share * gap)
    all_curved = bool(curved.all())

    def stop(residual: Array, energy: float, first: float) -> bool:
        if all_curved:
            enough = goal
            if sharp and not exact:  # the same shares as in ``goal``
                enough = max(0.4 * control.target, 0.1 * Caution().wrong(0.5 * first, scale))
            return dot(weight * residual, residual) <= enough or control.expired
        # Share of the first energy; safeguard.
        return energy <= 1e-4 * first * min(1.0, first) or control.expired

    return stop
