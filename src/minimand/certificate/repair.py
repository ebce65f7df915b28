"""Moves a dual point onto the constraints of the dual problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._base.linear_system import solver_for
from .._base.typing import Array, BoolArray
from ..losses.curvature import Curvature
from ..problem.basis import Basis
from ..problem.intercept import balance
from ..problem.objective import EPS, Objective, dot
from .repair_scores import Cleared, clear_scores, departed

_ROUNDS = 8  # rounds of projections; safeguard
_NO_BOUND = (
    "no bound: the slope along the unpenalised columns does not vanish; they may separate the "
    "data, so that no minimiser exists"
)
_NOT_NEAR = (
    "no bound: no dual point was found along which the slope of the unpenalised columns vanishes; "
    "the model is not near enough to the optimum"
)
_NO_SIGNS = (
    "no bound: no dual point was found that keeps the signs which unpenalised columns with a "
    "bound on one side ask for; they may separate the data, so that no minimiser exists"
)

Projection = Callable[[Array, Array], Array]


def clear_rays(
    objective: Objective,
    w: Array,
    theta: Array,
    slope: Array,
    curvature: Curvature,
    *,
    faint: bool = False,
) -> Cleared:
    """Make Xᵀ(mass∘θ) vanish on unpenalised columns, or point to their bound if they have one.

    θ moves along h∘(T a + a₀), h the curvature of the loss: samples at the edge of their dual
    domain have little curvature, so they move little and stay inside. At kinks, h is the room that
    multipliers have, or another metric that works. T is a basis of the columns: the free ones and,
    of those with one bound, those away from it in w and those whose slope is wrong; a few rounds
    find them and reduce the slope to rounding. With ``faint``, T also holds the directions in
    which columns differ in their last places only.
    """
    if not objective.single:
        return clear_scores(objective, w, theta, slope, curvature)
    limit = rounding_of_slopes(objective, theta)
    columns = objective.penalty.free | departed(objective, w)
    if not np.isfinite(limit[columns]).all():
        return Cleared(theta, slope, "numbers overflow: rescale the data or the offset")
    h, ones = curvature.bound, np.ones_like(theta)
    if objective.loss.smooth:
        metrics = [h if h.any() else ones]
    else:
        metrics = [_room(objective, theta), h, ones]
    span = _Span.of(objective, columns, faint)
    if span is None or not span.wrong(theta, slope, limit):
        return Cleared(theta, slope, "" if span else _too_many(columns))
    cleared = Cleared(theta, slope, _no_bound(objective))
    for metric in metrics:
        if metric.any() and cleared.reason:
            cleared = _clear(theta, slope, span, metric)
    return cleared


def leftover(objective: Objective, w: Array, theta: Array, slope: Array) -> float:
    """Σ|aⱼ·slopeⱼ| over unpenalised columns: the cost of slopes that should vanish but do not.

    Coefficients of nearly collinear columns are large and cancel; those of their basis are not.
    """
    open_columns = objective.penalty.unscalable(-slope)
    regular = not objective.single or not objective.has_free_columns
    basis = None if regular else objective.free_basis
    if basis is None or basis.regular:
        return float(np.abs(w * slope)[open_columns].sum())
    open_columns[basis.dropped] = False
    a = basis.inside(w)
    basic = basis.residues.T @ (objective.row_mass * theta)
    kept = np.abs(a[: basis.stays.size] * slope[basis.stays])[open_columns[basis.stays]]
    return float(kept.sum() + np.abs(a[basis.stays.size :] * basic).sum())


class _Span(NamedTuple):
    """Columns on which the slope must vanish, by their basis."""

    objective: Objective
    columns: BoolArray
    basis: Basis
    extra: Array  # columns of the basis that are not in the design
    faint: bool

    @classmethod
    def of(cls, objective: Objective, columns: BoolArray, faint: bool) -> _Span | None:
        """None if there are too many columns."""
        if np.array_equal(columns, objective.penalty.free):
            basis = objective.free_basis  # computed once
        else:
            basis = objective.basis_of(np.flatnonzero(columns))
        if basis is None:
            return None
        extra = np.column_stack([basis.residues, basis.faint]) if faint else basis.residues
        return cls(objective, columns, basis, extra, faint)

    def wrong(self, theta: Array, slope: Array, limit: Array) -> bool:
        """Whether the dual is unbounded along some column, by more than rounding."""
        return bool(self.wrong_columns(slope, limit).any() or self._wrong_extra(theta))

    def wrong_columns(self, slope: Array, limit: Array) -> BoolArray:
        """Such columns of the design; those that depend on others of the basis are not checked."""
        wrong = self.objective.penalty.unscalable(-slope) & (np.abs(slope) > limit)
        wrong[self.basis.dropped] = False
        return wrong

    def _wrong_extra(self, theta: Array) -> bool:
        if not self.extra.size:
            return False
        weighted = self.objective.row_mass * theta
        size = np.sqrt(self.objective.row_mass @ (self.extra * self.extra))
        limit = _noise(self.objective) * size * np.sqrt(dot(weighted, theta))
        return bool((np.abs(self.extra.T @ weighted) > limit).any())

    def projection(self, metric: Array) -> Projection:
        """Solves with [T 1]ᵀ diag(mass·metric) [T 1]."""
        objective, kept = self.objective, self.basis.kept
        h = objective.row_mass * metric
        total = float(h.sum())
        every = kept.size == objective.n_features  # then no copy of the columns is needed
        matrix, mean = objective.hessian(h, None if every else kept)
        if self.extra.size:
            middle = h @ self.extra / total if objective.intercept else np.zeros(len(self.extra.T))
            weighted = h[:, None] * (self.extra - middle)
            objective.meter.passes += kept.size / objective.n_features
            cross = objective.design.columns(kept).rmatvec(weighted)
            cross = cross - np.outer(mean, weighted.sum(axis=0))
            matrix = np.block([[matrix, cross], [cross.T, (self.extra - middle).T @ weighted]])
            mean = np.append(mean, middle)
        solve = solver_for(matrix)

        def project(theta: Array, slope: Array) -> Array:
            constant = objective.row_mean(theta) if objective.intercept else 0.0
            basic = np.append(slope[kept], self.extra.T @ (objective.row_mass * theta))
            a = solve(basic - mean * constant)
            w = np.zeros(objective.n_features)
            w[kept] = a[: kept.size]
            shift = constant / total - dot(mean, a) if objective.intercept else 0.0
            moved = objective.forward(w) + self.extra @ a[kept.size :] + shift
            return theta - metric * moved

        return project


def _clear(theta: Array, slope: Array, span: _Span, metric: Array) -> Cleared:
    """Rounds of projections in one metric."""
    objective = span.objective
    limit = rounding_of_slopes(objective, theta)
    wrong = span.wrong_columns(slope, limit)
    project: Projection | None = None
    for _ in range(_ROUNDS):
        if (wrong & ~span.columns).any():
            columns = span.columns | wrong
            grown = _Span.of(objective, columns, span.faint)
            if grown is None:
                return Cleared(theta, slope, _too_many(columns))
            span, project = grown, None
        project = project or span.projection(metric)
        theta = objective.loss.into_domain(project(theta, slope), objective.y)
        if objective.intercept:
            theta = balance(objective, theta)
        slope = objective.backward(objective.row_mass * theta)
        if not span.wrong(theta, slope, limit):
            return Cleared(theta, slope)
        wrong = span.wrong_columns(slope, limit)
    return Cleared(theta, slope, _no_bound(objective))


def _no_bound(objective: Objective) -> str:
    """Why no dual point was found; a loss that attains its minimum cannot be separable."""
    if objective.loss.attained(objective.y):
        return _NOT_NEAR
    return _NO_BOUND if objective.has_free_columns else _NO_SIGNS


def _too_many(columns: BoolArray) -> str:
    """Why these columns cannot be projected off."""
    return f"{int(columns.sum())} unpenalised columns are too many to project off"


def _room(objective: Objective, theta: Array) -> Array:
    """The squared distance, at most 1, that every multiplier may move within its domain.

    This is the metric of affine scaling: a multiplier next to a corner does not move beyond it.
    """
    room = objective.loss.room(theta, objective.y)
    share = room / room.max() if room.any() else room
    return share * share


def _noise(objective: Objective) -> float:
    """The rounding of a sum over samples that should vanish, as a share of its terms."""
    return float(4 * EPS * np.sqrt(objective.n_samples + 16.0))


def rounding_of_slopes(objective: Objective, theta: Array) -> Array:
    """The rounding of Σ mass·θ·x per column, bounded by Cauchy-Schwarz."""
    size = np.sqrt(objective.row_mean(theta * theta))
    return _noise(objective) * objective.design.slope_sizes(objective.root_spread) * size
