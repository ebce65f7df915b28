"""Newton steps on the support of a weighted quadratic with an l1 part, without a Gram.

Coordinate descent finds the support quickly and is then slow if columns are correlated. With the
signs held fixed the problem is a linear system, solved by conjugate gradients without a Gram.
`_core.along_support`, the rule of all steps on a support, decides how far the step goes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ... import _core
from ..._base.typing import Array, IntArray
from ...canonical import Weighted, movable
from ...design import Design, Reach, SparseDesign
from ...penalties import Separable
from ...problem.objective import EPS, Objective, dot
from ..steps.krylov import conjugate_gradients

_PRODUCTS = 60  # CG products of a step; safeguard
_MANY = (
    4  # inverse share of a design's numbers, from which the rows of columns are copied; safeguard
)
# The next three on seven dense problems, 200×1500 to 3000×1000, with four losses:
_FEW_COLUMNS = 200  # columns of a dense Gram that is formed at once; measured: 100 to 400 alike
_MOSTLY = 1.5  # columns for one of the support, up to which it is; measured: 1.9 is slower
_NEAR = 0.95  # share of l1 at which a zero may move; measured: 0.8 to 0.97 alike
_FAR = 1e6  # square of a mean over the variance of its column; safeguard
_NOTHING = np.zeros(0)


def polish_on_columns(
    model: Weighted,
    penalty: Separable,
    w: Array,
    spread: Array,
    slope: Array,
    tol: float,
    share: float,
) -> float:
    """One step over the nonzero coefficients; w and the model's q change in place.

    ``spread`` holds the mean square of every column, for the preconditioner, and ``slope`` that of
    the model; the step ends when its energy is below ``share`` of its first, or a tenth of
    ``tol``. Returns the move of the intercept.
    """
    support = np.flatnonzero(movable(penalty, w))
    if not support.size:
        return 0.0
    places, form = model.columns[support], penalty.take(support)
    start, slope = w[support], slope[support]
    full_slope = slope + form.l2 * start + form.l1 * np.sign(start)
    matrix = _Columns.of(model.design, places)
    system = _System.of(model, form, matrix, support, spread[support])
    step = _newton_step(model, form, matrix, system, full_slope, tol, share)
    tried = _Moves(model, matrix)
    target = _core.along_support(start, step, slope, form.l1, form.l2, form.bounds, tried.bend)
    scores, shift = tried.effect(target - start)
    w[support] = target
    model.q[:] += model.h * scores
    return shift


def polish_on_gram(
    model: Weighted, penalty: Separable, w: Array, slope: Array, tol: float
) -> float:
    """The minimum over coefficients that are nonzero or may be soon; w and q change in place.

    A Gram of dense columns costs less than the many products of conjugate gradients with them, if
    it is of these columns alone. ``slope`` is that of the model. Returns the move of the intercept.
    """
    near = movable(penalty, w) | (np.abs(slope) >= _NEAR * penalty.l1)
    chosen = np.flatnonzero(near)
    if not chosen.size:
        return 0.0
    places, start = model.columns[chosen], w[chosen]
    w[chosen], shift = gram_minimiser(
        model, places, slope[chosen], penalty.take(chosen), start, tol
    )
    full = np.zeros(model.design.shape[1])
    full[places] = w[chosen] - start
    scores = model.design.matvec(full)
    scores += shift
    model.q[:] += model.h * scores
    return shift


def sweeps_first(objective: Objective, columns: int, support: int) -> bool:
    """Whether sweeps over dense columns should find those whose Gram is formed.

    The Gram of many columns costs as much as hundreds of sweeps. It is formed at once if most
    columns are in the support; one of more columns than rows is on its way to a smaller one. The
    Gram of a quadratic loss is formed once a round, not once a step.
    """
    mostly = min(_MOSTLY * support, objective.n_samples)
    return not objective.loss.quadratic and columns > max(_FEW_COLUMNS, mostly)


def gram_minimiser(
    model: Weighted, places: IntArray | None, slope: Array, form: Separable, w: Array, tol: float
) -> tuple[Array, float]:
    """The minimiser over columns of the design, or all, on their Gram; the intercept's move.

    Sweeps, Newton steps and an active set on the centred Gram. ``slope`` is that of the model
    along these columns, ``form`` their penalty, ``w`` where they start.
    """
    h, q = model.h, model.q
    total = float(h.sum()) if model.centre else 0.0
    mean, beside = np.zeros_like(w), None
    if total > 0:
        gram, mean = model.design.covariance(h, places)
        slope = slope - mean * float(q.sum())
    else:
        gram, beside = gram_about_zero(model.design, h, places)
    linear = slope - _core.dense_matvec(gram, w)
    if beside is not None:
        linear -= beside[1] * dot(beside[0], w) * beside[0]
    new = w.copy()
    _core.minimise_gram(gram, linear, new, form.l1, form.l2, tol, form.bounds, beside)
    return new, -dot(mean, new - w) - (float(q.sum()) / total if total > 0 else 0.0)


class _Columns(NamedTuple):
    """Some columns of a design; their rows are copied where many products are to be expected."""

    design: Design
    places: IntArray
    by_row: Design | None
    picked: bool  # whether the design is sparse, and products with some columns are cheap

    @classmethod
    def of(cls, design: Design, places: IntArray) -> _Columns:
        """The copy takes a pass over the design, and saves half of each product's time."""
        by_row = None
        if isinstance(design, SparseDesign) and design.access.rows is Reach.CHEAP:
            many = _MANY * int(design.column_sizes[places].sum()) > design.nnz
            by_row = design.columns_by_row(places) if many else None
        picked = design.sparse and design.access.columns is Reach.CHEAP
        return cls(design, places, by_row, picked)

    def scores(self, v: Array) -> Array:
        """X_c v."""
        if self.by_row is not None:
            return self.by_row.matvec(v)
        if isinstance(self.design, SparseDesign):
            return self.design.matvec_on(self.places, v)
        return self.design.matvec(self._full(v))

    def curved(self, v: Array, shift: float, h: Array) -> Array:
        """X_cᵀ(h∘(X_c v + shift))."""
        if self.by_row is not None:
            return self.by_row.curvature_product(v, shift, h)[0]
        if not self.picked:
            return self.design.curvature_product(self._full(v), shift, h)[0][self.places]
        scores = self.scores(v)
        scores += shift
        return self.design.rmatvec_on(self.places, h * scores)

    def _full(self, v: Array) -> Array:
        full = np.zeros(self.design.shape[1])
        full[self.places] = v
        return full


class _System(NamedTuple):
    """The means of the columns of a Newton step, and the diagonal of its matrix."""

    centre: Array
    diagonal: Array

    @classmethod
    def of(
        cls, model: Weighted, form: Separable, matrix: _Columns, support: IntArray, spread: Array
    ) -> _System:
        """As descent has computed them; where it has not, the diagonal for equal weights."""
        total = float(model.h.sum())
        centred = model.centre and total > 0
        sums, diagonal = model.moments[support].T
        unknown = bool(np.isnan(diagonal).any())
        if centred and unknown:
            sums = model.design.rmatvec(model.h)[matrix.places]
        centre = sums / total if centred else np.zeros(support.size)
        if unknown:
            diagonal = np.maximum(spread - centre**2, EPS * spread) * total
        diagonal = diagonal + form.l2
        diagonal[diagonal <= 0] = 1.0
        return cls(centre, diagonal)


class _Moves:
    """What moves of the support do to the scores, the last one kept."""

    def __init__(self, model: Weighted, matrix: _Columns) -> None:
        self._model, self._matrix = model, matrix
        self._last: tuple[Array, Array, float] | None = None

    def effect(self, move: Array) -> tuple[Array, float]:
        """By how much the scores move, and the intercept, whose best answer is part of it."""
        if self._last is None or not np.array_equal(self._last[0], move):
            scores = self._matrix.scores(move)
            shift = _shift(self._model, scores)
            scores += shift
            self._last = move, scores, shift
        return self._last[1:]

    def bend(self, move: Array) -> float:
        """Twice what Σ qᵢtᵢ + ½ hᵢtᵢ² changes by, beyond its slope along the move."""
        scores, shift = self.effect(move)
        return dot(self._model.h * scores, scores) + 2.0 * shift * float(self._model.q.sum())


def _newton_step(
    model: Weighted,
    form: Separable,
    matrix: _Columns,
    system: _System,
    slope: Array,
    tol: float,
    share: float,
) -> Array:
    """Conjugate gradients on the columns of the support, until a step gains less than tol."""
    centre, diagonal = system

    def product(v: Array) -> tuple[Array, Array]:
        return matrix.curved(v, -dot(centre, v), model.h) + form.l2 * v, _NOTHING

    def stop(residual: Array, energy: float, start: float) -> bool:
        return energy <= max(share * start, 0.1 * tol)  # 0.1: share of tol; safeguard

    return conjugate_gradients(product, -slope, lambda r: r / diagonal, stop, _PRODUCTS)[0]


def _shift(model: Weighted, scores: Array) -> float:
    """The best move of the intercept for a move of the scores."""
    total = float(model.h.sum())
    if not model.centre or total == 0:
        return 0.0
    return -(float(model.q.sum()) + dot(model.h, scores)) / total


def gram_about_zero(
    design: Design, h: Array, places: IntArray | None
) -> tuple[Array, tuple[Array, float] | None]:
    """X_cᵀdiag(h)X_c; of columns far from zero its centred part, and their means and Σh apart.

    Their sum would hide the digits of the first; but a constant column has nothing else.
    """
    total = float(h.sum())
    if design.sparse or not total > 0:
        return design.gram(h, places), None
    gram, mean = design.covariance(h, places)
    own = np.diag(gram)
    if (own > 0).all() and (total * mean * mean > _FAR * own).any():
        return gram, (mean, total)
    return gram + np.outer(total * mean, mean), None
