"""How Newton systems of k scores are solved: Cholesky, or conjugate gradients.

The unknowns are W, a row per column of X, and the intercepts. Columns are centred by their means:
z = (X − 1·meanᵀ)W + b, so that the intercepts hardly interact with W. If a shift of all scores of a
row changes nothing (a softmax), the system is singular along shifts that no penalty determines;
the gradient has no part along them, and neither has the step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._base.linear_system import Solve, factorise, solver_for
from ..._base.typing import Array
from ...design import Standardized
from ...losses.curvature import Curvature, Simplex
from ...penalties import Separable
from ...problem.objective import EPS, Objective, dot
from ..base import Control
from ..steps.krylov import conjugate_gradients
from .newton_systems import STALE, Direction, Step

_FORCING = 0.1  # share of the gradient that conjugate gradients may leave; measured on MNIST
_MOST = 500  # products of one step; safeguard
_GRAM_COLUMNS = 2000  # columns, up to which a Gram preconditions; safeguard
_GRAM_ROWS = 6  # rows per column in that Gram; measured on MNIST, where all rows gain 10 % more


class _Centred(Direction):
    """Steps (W, b) as one table of d + 1 rows; without an intercept, of d rows."""

    def __init__(self, objective: Objective, form: Separable, control: Control) -> None:
        super().__init__(objective, form, control)
        self._mean = np.zeros(objective.n_features)
        if objective.intercept:
            self._mean = objective.moments(objective.mass).first
        self._l2 = self._with_intercepts(form.l2, 0.0)

    def _with_intercepts(self, table: Array, last: float) -> Array:
        """The table with a last row for the intercepts, if there are any."""
        if not self._objective.intercept:
            return table
        return np.vstack([table, np.full((1, table.shape[1]), last)])

    def _step(self, table: Array) -> Step:
        objective = self._objective
        dw = np.ascontiguousarray(table[: objective.n_features])
        db = table[-1] - self._mean @ dw if objective.intercept else objective.no_shift
        return Step(dw, db, objective.forward(dw) + db)


class ScoresCholesky(_Centred):
    """Steps by the factorised Hessian, whose side is (d + 1)·k."""

    def __call__(self, curvature: Curvature, gradient: Array) -> Step:
        """Solve with the Hessian itself."""
        right = self._with_intercepts(gradient, 0.0)
        hessian = self._hessian(curvature)
        if _shifts_freely(curvature):
            _fix_shifts(hessian, self._l2)
        hessian.flat[:: len(hessian) + 1] += self._l2.ravel()
        return self._step(-solver_for(hessian)(right.ravel()).reshape(right.shape))

    def _hessian(self, curvature: Curvature) -> Array:
        """Of W, and of the intercepts: [X 1]ᵀH[X 1] for centred X."""
        objective = self._objective
        objective.meter.passes += objective.n_scores**2
        ones = np.ones_like(self._mean)
        centred = Standardized(objective.design, self._mean, ones)
        inner = curvature.gram(centred)
        if not objective.intercept:
            return inner
        k = objective.n_scores
        crossed = np.empty((k, len(inner)))
        for c in range(k):
            nothing, shift = np.zeros(objective.coef_shape), np.eye(k)[c]
            crossed[c] = curvature.image(centred, nothing, shift)[0].ravel()
        return np.block([[inner, crossed.T], [crossed, curvature.over_scores()]])


class ScoresKrylov(_Centred):
    """Steps by preconditioned conjugate gradients.

    One matrix preconditions every score: the Gram of some rows, weighted by the mean curvature of
    their scores, or its diagonal if columns are many.
    """

    exact = False
    products = 0  # products of the last step

    def __call__(self, curvature: Curvature, gradient: Array) -> Step:
        """Solve until the residual is a tenth of the gradient."""
        objective, d = self._objective, self._objective.n_features
        if self.products >= STALE:
            self.near_inverse = None
        precondition = self._preconditioner(curvature)
        self.products = 0

        def product(table: Array) -> tuple[Array, Array]:
            self.products += 1
            v = np.ascontiguousarray(table[:d])
            shift = table[-1] - self._mean @ v if objective.intercept else objective.no_shift
            image, total = objective.scores_product(v, shift, curvature)
            if objective.intercept:
                image = np.vstack([image - np.multiply.outer(self._mean, total), total])
            image += self._l2 * table
            return image, np.zeros(0)

        right = self._with_intercepts(-gradient, 0.0)
        stop = _good_enough(self._form, gradient, self._control)
        return self._step(conjugate_gradients(product, right, precondition, stop, _MOST)[0])

    def _preconditioner(self, curvature: Curvature) -> Solve:
        """Of the mean curvature over the scores, the same for every score."""
        objective, l2 = self._objective, self._l2.mean(axis=1)
        if not objective.design.sparse and objective.n_features <= _GRAM_COLUMNS:
            self.near_inverse = self.near_inverse or self._of_some_rows(curvature, l2)
            if self.near_inverse is not None:
                return self.near_inverse
        total = float(_mean_curvature(curvature).sum())
        diagonal = np.maximum(objective.spread - self._mean**2, EPS * objective.spread) * total
        diagonal = np.append(diagonal, total) if objective.intercept else diagonal
        diagonal += l2
        diagonal[diagonal <= 0] = 1.0
        return lambda residual: residual / diagonal[:, None]

    def _of_some_rows(self, curvature: Curvature, l2: Array) -> Solve | None:
        """The weighted Gram of some rows, centred as the system is."""
        objective = self._objective
        n, d = objective.design.shape
        every = max(n // (_GRAM_ROWS * d), 1)
        objective.meter.passes += 1.0 / every
        h = np.ascontiguousarray(every * _mean_curvature(curvature)[::every])
        some = objective.design.thinned(every)
        found = some.covariance(h) if h.any() else None
        if found is None or not np.isfinite(found.matrix).all():
            return None
        off, total = found.mean - self._mean, float(h.sum())
        matrix = found.matrix + total * np.outer(off, off)
        if objective.intercept:
            matrix = np.block([[matrix, total * off[:, None]], [total * off, total]])
        matrix.flat[:: len(matrix) + 1] += l2
        return factorise(matrix)


def _mean_curvature(curvature: Curvature) -> Array:
    """The mean over scores of the diagonal of H, a number per row."""
    if isinstance(curvature, Simplex):
        spread = (curvature.p * (1.0 - curvature.p)).mean(axis=1)
        return spread if curvature.scale is None else curvature.scale * spread
    return np.asarray(curvature.bound.mean(axis=1))


def _shifts_freely(curvature: Curvature) -> bool:
    """Whether a shift of all scores of a row has no curvature, up to rounding."""
    if not isinstance(curvature, Simplex):
        return False
    return bool((np.abs(curvature.p.sum(axis=1) - 1.0) <= 1e-8).all())  # safeguard


def _fix_shifts(hessian: Array, l2: Array) -> None:
    """Curvature along shifts of all scores, where neither loss nor penalty has any.

    The gradient has no part along them, so the solution does not change.
    """
    d, k = l2.shape
    blocks = hessian.reshape(d, k, d, k)
    for j in np.flatnonzero(~l2.any(axis=1)):
        size = float(np.trace(blocks[j, :, j])) / k
        blocks[j, :, j] += (size or 1.0) / k


def _good_enough(
    form: Separable, gradient: Array, control: Control
) -> Callable[[Array, float, float], bool]:
    """Stop when the residual adds little to the gap that is left, Σ r²/(2·l2) of the gradient r.

    Without a penalty on every column, the energy rᵀM⁻¹r stands for the gap.
    """
    if not (form.l2 > 0).all():

        def small(residual: Array, energy: float, first: float) -> bool:
            # Share of the first energy; safeguard.
            return energy <= 1e-4 * first * min(1.0, first) or control.expired

        return small
    gap = 0.5 * dot(gradient / form.l2, gradient)
    # Share of the target that is left to the residual; safeguard.
    goal = max(0.4 * control.target, _FORCING**2 * gap)

    def stop(residual: Array, energy: float, first: float) -> bool:
        own = residual[: len(gradient)]
        return 0.5 * dot(own / form.l2, own) <= goal or control.expired

    return stop
