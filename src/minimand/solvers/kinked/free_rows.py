"""A Newton step on the rows of a dual whose multipliers are strictly between their ends.

As long as the set of these rows does not change, the dual is a quadratic function of them: t = τ(v)
for every row, a linear system. Coordinate ascent solves it slowly if rows are alike; conjugate
gradients need about the square root of the number of sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.typing import Array, IntArray
from ...canonical import RowDual
from ...design.picked import row_products
from ...losses import Pieces
from ..steps.krylov import conjugate_gradients

_ACCURACY = 0.01  # share of the residual's energy where CG stops; measured at 500×2000, 2000×5000
_VECTORS = 4.0  # vectors as long as w that a product reads or writes; definition
_HALVINGS = 4  # halvings (to a quarter) of a step that does not gain; safeguard


class _Free(NamedTuple):
    """Rows with v strictly between two corners: there t = tau + bend·(v − now)."""

    rows: IntArray
    tau: Array
    bend: Array
    lo: Array
    hi: Array


def free_step(form: RowDual, most: float = np.inf) -> float:
    """Move the free rows to their joint maximum, or part of the way; returns the passes it took.

    Conjugate gradients end after about ``most`` passes, wherever they are then: each of their
    iterates raises the quadratic.
    """
    if form.curved:
        return 0.0  # no row has corners, and the system changes with every step
    assert isinstance(form.loss.psi, Pieces)
    free = _free_rows(form.loss.psi, form.v, form.mass)
    if not free.rows.size:
        return 0.0
    system = _System(form, free)
    dv = system.solve(most)
    v = form.v[free.rows]
    for _ in range(_HALVINGS):
        moved = np.clip(v + dv, free.lo, free.hi) - v
        dw, dtotal = system.image(moved)
        if system.gain(moved, dw, dtotal) > 0:
            form.move(free.rows, moved, dw, dtotal)
            break
        dv = 0.25 * dv
    return system.passes


def _free_rows(pieces: Pieces, v: Array, mass: Array) -> _Free:
    """The rows between corners, with the value and the slope of the inverse of ψ' there."""
    tau, bend = np.zeros_like(v), np.full(v.shape, np.nan)
    lo, hi = np.zeros_like(v), np.zeros_like(v)
    knots, slopes, curvatures, left, _ = pieces.parts
    risers = [(knot, 0.0, a, b) for knot, a, b in zip(knots, left, slopes[1:])]
    for k, curvature in enumerate(curvatures):
        if curvature > 0:
            low = slopes[k] if k > 0 else -np.inf
            high = left[k] if k < knots.size else np.inf
            risers.append((knots[max(k - 1, 0)] - slopes[k] / curvature, 1 / curvature, low, high))
    for start, slope, low, high in risers:
        inside = (v > low) & (v < high)
        tau[inside] = start + slope * v[inside]
        bend[inside], lo[inside], hi[inside] = slope, low, high
    rows = np.flatnonzero(~np.isnan(bend) & (mass > 0))
    return _Free(rows, tau[rows], bend[rows], lo[rows], hi[rows])


class _System:
    """(B Bᵀ + diag(bend))·x = √mass·(t − τ), B = √mass·sign·X/√l2; dv = x/√mass."""

    def __init__(self, form: RowDual, free: _Free) -> None:
        self.form, self.free = form, free
        self.design = row_products(form.design, free.rows)
        self.root = np.sqrt(form.mass[free.rows])
        self.sign = form.loss.sign[free.rows]
        self.residual = self._t() - free.tau
        self.share = free.rows.size / form.v.size
        self.products = 1.0

    @property
    def passes(self) -> float:
        """Passes over all rows; each product reads the free rows twice."""
        return 2.0 * self.share * self.products

    def _t(self) -> Array:
        z = self.design.matvec(self.form.w) + self.form.b
        return self.sign * z - self.form.loss.shift[self.free.rows]

    def _product(self, x: Array) -> tuple[Array, Array]:
        self.products += 1
        u = self.sign * self.root * x
        image = self.design.rmatvec(u) / self.form.l2
        z = self.design.matvec(image) + self.form.step * float(u.sum())
        return self.root * self.sign * z + self.free.bend * x, image

    def solve(self, most: float) -> Array:
        """dv, to a few digits or as good as ``most`` passes can make it."""
        squares = self.form.squares[self.free.rows] + self.form.step
        diagonal = self.root**2 * squares + self.free.bend
        diagonal[diagonal <= 0] = 1.0
        target = self.root * self.residual

        def settled(residual: Array, energy: float, first: float) -> bool:
            return energy <= _ACCURACY * first

        # With more free rows than coefficients the system is singular, and more steps do not help.
        rank = min(self.free.rows.size, self.form.w.size + 1)
        cost = 2.0 * self.share + _VECTORS * self.form.w.size / max(self.form.design.nnz, 1)
        affordable = min(2 * rank + 10, max(most / cost, 1))
        x, _ = conjugate_gradients(
            self._product, target, lambda r: r / diagonal, settled, int(affordable)
        )
        return x / self.root

    def image(self, dv: Array) -> tuple[Array, float]:
        """The change of w and of Σ mass·sign·v due to dv."""
        self.products += 0.5
        u = self.sign * self.root**2 * dv
        return -self.design.rmatvec(u) / self.form.l2, float(u.sum())

    def gain(self, dv: Array, dw: Array, dtotal: float) -> float:
        """The increase of the dual, with the intercept held near its centre."""
        form = self.form
        linear = self.root**2 * dv * (self.residual - 0.5 * self.free.bend * dv)
        return float(linear.sum() - 0.5 * (form.l2 * dw * dw).sum() - 0.5 * form.step * dtotal**2)
