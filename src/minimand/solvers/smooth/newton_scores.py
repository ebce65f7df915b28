"""How Newton systems of k scores are solved: Cholesky, or conjugate gradients.

The unknowns are W, a row per column of X, and the intercepts. Columns are centred by their means:
z = (X − 1·meanᵀ)W + b, so that the intercepts hardly interact with W. If a shift of all
scores of a row changes nothing (a softmax), the system is singular along shifts that no penalty
determines; the gradient has no part along them, and neither has the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas

from ... import _core
from ..._base.linear_system import Solve, factorise, solver_for
from ..._base.threads import one_blas_thread
from ..._base.typing import Array, BoolArray
from ...design import RoughProducts, Standardized
from ...losses.curvature import Curvature, Simplex
from ...penalties import Separable
from ...problem.objective import EPS, Objective, dot
from .. import costs
from ..base import Control
from ..steps.krylov import add, conjugate_gradients
from .newton_systems import Direction, Step

_FORCING = 0.1  # share of the gradient that conjugate gradients may leave; measured on MNIST
_MOST = 500  # products of one step; safeguard
_TOO_MANY = 250  # products of a step, beyond which the next one factorises; safeguard
_SMALL = 1500  # unknowns, up to which it does; safeguard
_GRAM_COLUMNS = 2000  # columns, up to which a Gram preconditions; safeguard
_PRODUCT = 0.3, 0.8  # units of `costs` per number, dense and sparse, and score; measured on MNIST
_CALLS = 2e6  # units that making a Gram takes, whatever its size; measured: about 1 ms
_GAIN, _GAIN_OF_NEW = 0.5, 0.2  # share of products that a Gram saves, or a new one; measured, MNIST
_RANGE = 1e-20, 1e20  # mean squares of columns for single precision; safeguard
_LITTLE, _PATIENCE = 0.5, 2  # so many steps that leave this share of the gap are slow; safeguard
_GRAM_ROWS = 6  # rows per column in that Gram; measured on MNIST, where all rows gain 10 % more


class _Centred(Direction):
    """Steps (W, b) as one table of d + 1 rows, the last of which is zero without an intercept."""

    def __init__(self, objective: Objective, form: Separable, control: Control) -> None:
        super().__init__(objective, form, control)
        self._mean = np.zeros(objective.n_features)
        if objective.intercept:
            self._mean = objective.column_means

    def _table(self, top: Array) -> Array:
        """The table with a last row of zeros, for the intercepts."""
        return np.vstack([top, np.zeros((1, top.shape[1]))])

    def slope_along(self, gradient: Array, dw: Array) -> float:
        """At the best intercept, that of w alone."""
        return dot(gradient, dw)

    def _step(self, table: Array) -> Step:
        objective = self._objective
        dw = np.ascontiguousarray(table[:-1])
        db = table[-1] - self._mean @ dw if objective.intercept else objective.no_shift
        return Step(dw, db, objective.forward(dw) + db)


class ScoresCholesky(_Centred):
    """Steps by the factorised Hessian, whose side is (d + 1)·k."""

    def __call__(self, curvature: Curvature, gradient: Array) -> Step:
        """Solve with the Hessian itself."""
        return self.solver(curvature)(gradient)

    def solver(self, curvature: Curvature, stiff: Array | None = None) -> Callable[..., Step]:
        """The step for a gradient in W and, if it is not 0, one in the intercepts.

        ``stiff`` is curvature of single coefficients, in addition to that of loss and penalty.
        """
        l2 = self._table(self._form.l2 if stiff is None else self._form.l2 + stiff)
        hessian = self._hessian(curvature)
        apart = np.zeros(len(l2), dtype=bool)
        if curvature.shifts_freely:
            apart = np.ptp(l2, axis=1) == 0
            _fix_shifts(hessian, l2, apart)
        held = np.flatnonzero(apart & (l2[:, 0] > 0))
        hessian.flat[:: len(hessian) + 1] += l2.ravel()
        inverse = solver_for(hessian)

        def step(gradient: Array, balance: Array | None = None) -> Step:
            right = self._table(gradient)
            if balance is not None and self._objective.intercept:
                right[:-1] -= np.multiply.outer(self._mean, balance)
                right[-1] = balance
            found = -inverse(right.ravel()).reshape(right.shape)
            shift = -right[held].mean(axis=1) / l2[held, 0] - found[held].mean(axis=1)
            found[held] += shift[:, None]
            return self._step(found)

        return step

    def _hessian(self, curvature: Curvature) -> Array:
        """The Hessian in W and in the intercepts: [X 1]ᵀH[X 1] for centred X."""
        objective, k = self._objective, self._objective.n_scores
        objective.meter.passes += k * k
        centred = Standardized(objective.design, self._mean, np.ones_like(self._mean))
        if objective.intercept:
            return curvature.bordered_gram(centred)
        hessian = np.zeros((k * (objective.n_features + 1),) * 2)
        hessian[:-k, :-k] = curvature.gram(centred)
        return hessian


class ScoresKrylov(_Centred):
    """Steps by preconditioned conjugate gradients.

    One matrix preconditions every score: the Gram of some rows, weighted by the mean curvature of
    their scores, or its diagonal as long as that takes fewer operations.
    """

    exact = False
    products = 0  # products of the last step

    def __init__(self, objective: Objective, form: Separable, control: Control) -> None:
        super().__init__(objective, form, control)
        self._penalty = _Quadratic(form.l2)
        self._rough = self._rough_products()
        self._before, self._slow = np.inf, 0

    def _rough_products(self) -> RoughProducts | None:
        """Products in single precision, where no column leaves its range."""
        objective = self._objective
        sizes = objective.spread[objective.spread > 0]
        low, high = _RANGE
        if not (self._penalty.everywhere and sizes.size):
            return None
        if not low <= float(sizes.min()) <= float(sizes.max()) <= high:
            return None
        return objective.design.rough_products(self._control.memory)

    def __call__(self, curvature: Curvature, gradient: Array) -> Step:
        """Solve until the residual is a tenth of the gradient.

        Products are rough as long as steps lower the gap: single precision may be too little for
        columns that are all but collinear. A step of very many products is the last of its kind
        if the Hessian has few unknowns.
        """
        if self.products >= _TOO_MANY and self._is_small:
            return ScoresCholesky(self._objective, self._form, self._control)(curvature, gradient)
        gap = self._penalty.conjugate(gradient) if self._rough is not None else 0.0
        self._slow = self._slow + 1 if gap > _LITTLE * self._before else 0
        self._before = gap
        if self._slow >= _PATIENCE:
            self._rough = None
        with one_blas_thread():  # else its threads spin between our own products
            table = self._solution(curvature, gradient)
            if self._rough is not None and not dot(table[:-1], gradient) < 0:
                self._rough = None
                table = self._solution(curvature, gradient)
        return self._step(table)

    @property
    def _is_small(self) -> bool:
        """Whether the Hessian can be factorised."""
        size = (self._objective.n_features + 1) * self._objective.n_scores
        return size <= _SMALL and 3 * 8 * size * size <= self._control.memory

    def _solution(self, curvature: Curvature, gradient: Array) -> Array:
        precondition = self._preconditioner(curvature)
        self.products = 0
        penalty, nothing = self._penalty, np.zeros(0)

        def product(table: Array) -> tuple[Array, Array]:
            self.products += 1
            image = self._image(curvature, table)
            penalty.add_slope(image, table)
            return image, nothing

        right = self._table(-gradient)
        stop = self._good_enough(penalty, gradient)
        return conjugate_gradients(product, right, precondition, stop, _MOST)[0]

    def _image(self, curvature: Curvature, table: Array) -> Array:
        """The Hessian of the loss times a step, for centred columns."""
        if not self._objective.intercept:
            image = self._objective.scores_product(table, curvature, self._rough)
            image[-1] = 0.0
            return image
        b = table[-1].copy()
        table[-1] -= self._mean @ table[:-1]  # in place: a copy of a wide table takes as long
        image = self._objective.scores_product(table, curvature, self._rough)
        table[-1] = b
        # image −= mean·totalᵀ, in place: the transpose of a C-ordered table is in BLAS's order.
        blas.dger(-1.0, image[-1], self._mean, a=image[:-1].T, overwrite_a=1)
        return image

    def _good_enough(
        self, penalty: _Quadratic, gradient: Array
    ) -> Callable[[Array, float, float], bool]:
        """Stop when the residual r adds little to the gap that is left, Σ r²/(2·l2).

        Without a penalty on every column, the energy rᵀM⁻¹r stands for the gap.
        """
        control = self._control
        if not penalty.everywhere:

            def small(residual: Array, energy: float, first: float) -> bool:
                # Share of the first energy; safeguard.
                return energy <= 1e-4 * first * min(1.0, first) or control.expired

            return small
        # Share of the target that is left to the residual; safeguard.
        goal = max(0.4 * control.target, _FORCING**2 * penalty.conjugate(gradient))

        def stop(residual: Array, energy: float, first: float) -> bool:
            return penalty.conjugate(residual[:-1]) <= goal or control.expired

        return stop

    def _preconditioner(self, curvature: Curvature) -> Solve:
        """The inverse of the Hessian with the mean curvature of all scores in place of each."""
        objective, l2 = self._objective, np.append(self._form.l2.mean(axis=1), 0.0)
        if self._pays_for_gram:
            self.near_inverse = self._of_some_rows(curvature, l2)
        if self.near_inverse is not None:
            return self.near_inverse
        total = float(_mean_curvature(curvature).sum())
        diagonal = np.maximum(objective.spread - self._mean**2, EPS * objective.spread) * total
        diagonal = np.append(diagonal, total) + l2
        diagonal[diagonal <= 0] = 1.0
        inverse = 1.0 / diagonal
        return lambda residual: _core.scale_rows(residual, inverse)

    @property
    def _pays_for_gram(self) -> bool:
        """Whether a Gram takes less time than the products that it saves in a step."""
        objective, design = self._objective, self._objective.design
        d = objective.n_features
        if d > _GRAM_COLUMNS or 3 * 8 * d * d > self._control.memory:
            return False
        sparse = design.sparse or design.nnz_for_scores < design.nnz
        product = _PRODUCT[sparse] * design.nnz_for_scores * objective.n_scores
        gram = costs.hessian(objective) / self._every + costs.factor(d) + _CALLS
        gain = _GAIN if self.near_inverse is None else _GAIN_OF_NEW
        return gain * self.products * product >= gram

    @property
    def _every(self) -> int:
        """One row in so many is enough for a Gram."""
        n, d = self._objective.design.shape
        return max(n // (_GRAM_ROWS * d), 1)

    def _of_some_rows(self, curvature: Curvature, l2: Array) -> Solve | None:
        """The weighted Gram of some rows, centred as the system is."""
        objective, every = self._objective, self._every
        objective.meter.passes += 1.0 / every
        h = np.ascontiguousarray(every * _mean_curvature(curvature)[::every])
        some = objective.design.thinned(every)
        found = some.covariance(h) if h.any() else None
        if found is None or not np.isfinite(found.matrix).all():
            return None
        off, total = found.mean - self._mean, float(h.sum())
        matrix = found.matrix + total * np.outer(off, off)
        # Without intercepts, whose row of every table is 0, nothing may flow into that row.
        crossed = total * off if objective.intercept else np.zeros_like(off)
        matrix = np.block([[matrix, crossed[:, None]], [crossed, total]])
        matrix.flat[:: len(matrix) + 1] += l2
        return factorise(matrix)


def _mean_curvature(curvature: Curvature) -> Array:
    """The mean over scores of the diagonal of H, a number per row."""
    if isinstance(curvature, Simplex):
        spread = (curvature.p * (1.0 - curvature.p)).mean(axis=1)
        return spread if curvature.scale is None else curvature.scale * spread
    return np.asarray(curvature.bound.mean(axis=1))


def _fix_shifts(hessian: Array, l2: Array, apart: BoolArray) -> None:
    """Curvature along shifts of all scores, where the loss has none and the penalty little.

    ``apart`` are rows of W with the same penalty for all scores. Shifts in them are a problem of
    their own, so that the rest of the solution does not change; but a small penalty alone would
    make the system all but singular.
    """
    d, k = l2.shape
    blocks = hessian.reshape(d, k, d, k)
    for j in np.flatnonzero(apart):
        size = float(np.trace(blocks[j, :, j])) / k
        blocks[j, :, j] += (size or 1.0) / k


class _Quadratic:
    """½Σ l2·W²; one factor for all coefficients takes no table of factors."""

    def __init__(self, l2: Array) -> None:
        self.everywhere = bool((l2 > 0).all())
        self._l2: Any = float(l2.flat[0]) if l2.size and np.ptp(l2) == 0 else l2

    def add_slope(self, to: Array, table: Array) -> None:
        """Add l2·W for tables with a last row for the intercepts."""
        if isinstance(self._l2, float):
            add(to[:-1], self._l2, table[:-1])
        else:
            to[:-1] += self._l2 * table[:-1]

    def conjugate(self, slope: Array) -> float:
        """Σ slope²/(2·l2)."""
        if isinstance(self._l2, float):
            return dot(slope, slope) / (2.0 * self._l2)
        return 0.5 * dot(slope / self._l2, slope)
