"""What algorithms cost before they have run, in one unit: about a nanosecond of one core.

A stored number that is read and multiplied costs one unit in a dense matrix. Measured, with one
thread, on random, correlated and badly scaled dense matrices and on texts, n and d from 100 to
20,000 and alpha from 1e-6 to 1: the cheaper estimate named a solver within twice the time of the
best one in nineteen cases of twenty.
"""

from __future__ import annotations

import numpy as np

from .._base.threads import one_blas_thread
from .._base.typing import Array
from ..penalties import Separable
from ..problem.objective import Objective

_SAMPLE = 1000  # rows that are enough for a rough mean square of every column
_SAMPLED = 32  # rows that tell how alike rows are
_STEPS = 2.0, 6.0  # of Newton on a loss of pieces: at least, and how many more where rows abound
_CROWDED = 1.5, 190.0  # more of them per √weight where columns abound, and at most
_PRODUCTS = 2.0, 6.0, 14.0  # of a step by conjugate gradients: least, most, more where crowded
_SWEEPS = 8.0  # of dual ascent on a loss whose slope is continuous, where rows are orthogonal
_KINKED_SWEEPS = 20.0  # the same with kinks
_POWER = 0.65  # of unequal curvatures, by which sweeps grow
_ROW = 30.0  # the visit of a row, beside the numbers in it
_READ = 2.0, 4.0  # a stored number in a sweep of dual ascent: dense, and sparse
_KINKED_READ = 5.0, 16.0  # the same with kinks, with what settles the corners between sweeps
_IMAGE = 1.0, 3.0  # a stored number in a product Xᵀdiag(h)Xv: dense, and sparse
_LOOK = 4e5  # what it takes to look at some rows; measured
_HESSIANS = 2.0  # that steps take at most where those between reuse an earlier one


def hessian(objective: Objective) -> float:
    """Xᵀdiag(h)X: a matrix product, or the squares of the lengths of sparse rows."""
    (n, d), nnz = objective.design.shape, objective.design.nnz
    if objective.design.sparse:
        return nnz * min(d, nnz / max(n, 1)) / 16
    return nnz * d / 48


def row_gram(objective: Objective) -> float:
    """X diag(h)Xᵀ."""
    return objective.design.nnz * objective.n_samples / (16 if objective.design.sparse else 48)


def factor(size: int) -> float:
    """The Cholesky factor of a matrix."""
    return size**3 / 48


def rough_spread(objective: Objective) -> Array:
    """Σ mass·x² of every column; of the squared loss, which others solve faster, from some rows."""
    every = objective.n_samples // _SAMPLE
    exact = not objective.loss.quadratic or objective.design.sparse or every <= 1
    if exact or objective.facts.spread is not None:
        return objective.spread
    return objective.thinned(every).spread


class Shape:
    """How rows and columns weigh against the penalty."""

    def __init__(self, objective: Objective, form: Separable) -> None:
        n, spread = max(objective.n_samples, 1), rough_spread(objective)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.nan_to_num(spread / form.l2, nan=0.0, posinf=1e300)
        self._objective = objective
        self.n, self.sparse, self.nnz = n, objective.design.sparse, objective.design.nnz
        self.weight = float(ratio.sum()) / n
        """‖x‖²/(n·l2) of a mean row: what it adds to the curvature of its own dual variable."""
        self.columns = float((ratio / (1.0 + ratio)).sum())
        """Columns whose data outweigh their penalty, one with as much of both for a half."""
        self.steep = float(ratio.mean()) if ratio.size else 0.0

    @property
    def dependent(self) -> float:
        """The share of the rows that the columns cannot keep apart.

        Along n − d directions of the dual nothing but the loss itself holds the multipliers: there
        sweeps are slow if rows weigh much. Rows that are no more than the columns are all but
        orthogonal, and what they weigh does not matter.
        """
        return max(0.0, 1.0 - self.columns / self.n)

    @property
    def uneven(self) -> float:
        """How unequal the curvatures of the dual are, by which sweeps grow."""
        if self.dependent >= 1.0 or self.weight <= 1.0:
            return 1.0 + self.weight * self.dependent
        if _SWEEPS * _READ[self.sparse] * self.nnz < _LOOK:
            return 1.0 + self.weight  # as if rows were alike: to know better would take longer
        held = (1.0 + self.weight) / (1.0 + self.weight * self._apart())
        return max(held, 1.0 + self.weight * self.dependent)

    def _apart(self) -> float:
        """The share of a row that is its own: about 1 of random ones, little if factors rule them.

        The median eigenvalue of the Gram matrix of some rows of length 1.
        """
        rows = self._objective.design.rows(np.arange(0, self.n, -(-self.n // _SAMPLED)))
        gram = rows.row_gram(np.ones(rows.shape[1]))
        size = np.sqrt(np.diag(gram))
        size[size == 0] = 1.0
        with one_blas_thread():
            found = np.linalg.eigvalsh(gram / size / size[:, None])
        return float(np.clip(np.median(found), 1e-12, 1.0))

    @property
    def crowded(self) -> float:
        """1 where rows are at most twice as many as columns, 0 from four times on.

        So few rows can be separated, or interpolated: the model that a Newton step believes in
        loses and gains rows with every step, a few at a time.
        """
        return float(np.clip(2.0 - 0.5 * self.n / max(self.columns, 1e-300), 0.0, 1.0))


def newton_on_pieces(objective: Objective, form: Separable, *, formed: bool, reused: bool) -> float:
    """Newton's method where the curvature of the loss comes and goes, by Cholesky or by CG."""
    shape, d = Shape(objective, form), objective.n_features
    root = float(np.sqrt(shape.weight))
    steps = _STEPS[0] + min(_STEPS[1], root) + shape.crowded * min(_CROWDED[0] * root, _CROWDED[1])
    if formed:
        factors = min(steps, _HESSIANS) if reused else steps
        passes = steps * (2.0 * _IMAGE[shape.sparse] * shape.nnz + 20.0 * shape.n)
        return factors * (hessian(objective) + factor(d)) + passes
    least, most, more = _PRODUCTS
    products = least + min(float(np.sqrt(shape.steep)), most + more * shape.crowded)
    return steps * (_IMAGE[shape.sparse] * products + 3.0) * shape.nnz


def ascent_on_curves(objective: Objective, form: Separable) -> float:
    """Dual coordinate ascent for a loss of pieces whose slope is continuous."""
    shape = Shape(objective, form)
    sweeps = _SWEEPS * shape.uneven**_POWER
    return sweeps * (_READ[shape.sparse] * shape.nnz + _ROW * shape.n)


def ascent_on_kinks(objective: Objective, form: Separable) -> float:
    """The same for a loss with kinks: more sweeps, as rows go to their corners one by one."""
    shape = Shape(objective, form)
    return _KINKED_SWEEPS * shape.uneven**_POWER * _KINKED_READ[shape.sparse] * shape.nnz
