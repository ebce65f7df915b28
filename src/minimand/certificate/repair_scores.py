"""Moves a dual point of k scores, or of units that are runs of rows, onto its constraints.

Slopes Tᵀ(mass∘θ) must vanish for the unpenalised columns T, among them a column of ones for a free
intercept. θ moves along C T A, C the curvature of the loss, which keeps multipliers at the edge of
their domain there and preserves their sum over classes. If the domain still stops θ, a few rounds
bring it nearer. Multipliers of single rows and scores have shorter ways: see `repair`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from .._base.linear_system import pseudo_inverse
from .._base.typing import Array, BoolArray
from .._base.watch import look
from ..losses.curvature import Curvature, Diagonal, Simplex
from ..problem.objective import EPS, Objective

_ROUNDS = 30  # rounds of projections in one metric; safeguard
_IDLE = 4  # rounds in which the slope must halve; safeguard
_LARGEST = 3000  # free columns times scores, the side of a system; safeguard of memory: 70 MB
_RANK = 1e-12  # share of the largest eigenvalue, in scaled units, that counts as zero; safeguard


class Cleared(NamedTuple):
    """A dual point whose slope vanishes, up to rounding, on free columns, and has the right sign on
    columns that are bounded on one side.

    ``reason`` says in words why there is no such point, if there is none.
    """

    theta: Array
    slope: Array
    reason: str = ""


def balance_scores(objective: Objective, theta: Array, curvature: Curvature) -> Array | None:
    """Make Σ mass·θ = 0 for every score; None if no such point was found."""
    ones = np.ones((objective.n_samples, 1))
    found = _projected(objective, theta, ones, curvature)
    if found is None and objective.loss.flows:
        from .class_flows import balance_flows

        return balance_flows(objective, theta)
    return found


def clear_scores(
    objective: Objective, w: Array, theta: Array, slope: Array, curvature: Curvature
) -> Cleared:
    """Make slopes vanish where w is free, or point to the bound where it has one."""
    penalty = objective.penalty
    whole = np.zeros(slope.shape, dtype=bool)
    free = whole | (penalty.free if penalty.free.ndim > 1 else penalty.free[:, None])
    away = departed(objective, w)
    ones = np.ones_like(slope)
    kept = np.flatnonzero((free | penalty.unscalable(ones) | penalty.unscalable(-ones)).any(axis=1))
    size = (kept.size + objective.intercept) * objective.n_scores
    if size > _LARGEST:
        return Cleared(theta, slope, f"{kept.size} unpenalised columns are too many to project off")
    objective.meter.passes += kept.size / objective.n_features
    parts = [objective.design.columns(kept).matvec(np.eye(kept.size))]
    if objective.intercept:
        parts.append(np.ones((objective.n_samples, 1)))
    columns = np.concatenate(parts, axis=1)
    held = np.ones((columns.shape[1], objective.n_scores), dtype=bool)
    held[: kept.size] = (free | away)[kept]

    def wrong(slope: Array) -> BoolArray:
        """Where the dual is unbounded along a coefficient, or along an intercept."""
        full, found = np.zeros(whole.shape), np.ones(slope.shape, dtype=bool)
        full[kept] = slope[: kept.size]
        found[: kept.size] = penalty.unscalable(-full)[kept]
        return found

    found = _projected(objective, theta, columns, curvature, held, wrong)
    if found is None:
        words = "the slope along the unpenalised columns does not vanish at any dual point found"
        return Cleared(theta, slope, f"no bound: {words}; the model is not near the optimum")
    return Cleared(found, objective.backward(objective.weigh(found)))


def departed(objective: Objective, w: Array) -> BoolArray:
    """Columns with one bound whose coefficient is not at it: their optimal slope is zero."""
    form = objective.penalty.sum_over_features
    if form is None or form.bounds is None:
        return np.zeros(w.shape, dtype=bool)
    ones = np.ones_like(w)
    return (form.unscalable(ones) | form.unscalable(-ones)) & ~form.at_bound(w)


def _everywhere(slope: Array) -> BoolArray:
    """All slopes are wrong that do not vanish."""
    return np.ones(slope.shape, dtype=bool)


def _projected(
    objective: Objective,
    theta: Array,
    columns: Array,
    curvature: Curvature,
    held: BoolArray | None = None,
    wrong: Callable[[Array], BoolArray] = _everywhere,
) -> Array | None:
    """θ with Tᵀ(mass∘θ) = 0 up to rounding where that is wrong, for a dense T; None: none found.

    Slopes are moved to zero where ``held``, at first, and wherever they were wrong in some round.
    """
    lengths = np.sqrt(objective.row_mass @ columns**2)
    columns = columns / np.where(lengths > 0, lengths, 1.0)
    if not np.isfinite(theta).all():
        return None
    for metric_at in _metrics(objective, curvature):
        metric: Curvature | None = None
        solve: _Solve | None = None
        moved, least, waited, zero = theta, np.inf, 0, held
        for _ in range(_ROUNDS):
            look()  # a round takes as long as a factorisation
            slope = columns.T @ objective.weigh(moved)
            off = wrong(slope) & (np.abs(slope) > _rounding(objective, moved))
            if not off.any():
                return moved
            most = float(np.abs(slope[off]).max())
            least, waited = (most, 0) if most < 0.5 * least else (least, waited + 1)
            before, metric = metric, metric_at(moved)
            if metric is None or not metric.any or waited >= _IDLE:
                break
            grown = zero is not None and bool((off & ~zero).any())
            zero = off | zero if zero is not None and grown else zero
            if solve is None or grown or metric is not before:
                solve = _Solve(objective, columns, metric, zero)
            if not solve.known:
                break  # its numbers overflow: another metric may do
            step = metric.times(columns @ solve(slope))
            moved = objective.loss.into_domain(moved - step, objective.y)
    return None


def _rounding(objective: Objective, theta: Array) -> Array:
    """The rounding of the slopes of columns of unit length, for every score.

    Multipliers that are flows round as the largest of their row does.
    """
    size = np.abs(theta)
    if objective.loss.flows:
        size = np.where(size > 0, size.max(axis=1, keepdims=True), 0.0)
    noise = 4 * EPS * np.sqrt(objective.n_samples + 16.0)
    return np.asarray(noise * np.sqrt(objective.row_mean(size * size)))


def _metrics(
    objective: Objective, curvature: Curvature
) -> Iterator[Callable[[Array], Curvature | None]]:
    """The metric at a dual point: the curvature if there is any; at kinks, first the squared room.

    The room is that of the latest multipliers: those that a round has moved to the edge of their
    domain would be stopped there again in the next.
    """
    if not objective.loss.smooth:
        yield partial(_squared_room, objective)
    if curvature.any:
        yield lambda theta: curvature
    even = Diagonal(np.ones(objective.null.z.shape))
    yield lambda theta: even


def _squared_room(objective: Objective, theta: Array) -> Curvature | None:
    """The squared room that multipliers have; None if they have none."""
    room = objective.loss.room(theta, objective.y)
    if not room.any():
        return None
    square = (room / room.max()) ** 2
    return _over_classes(square) if objective.loss.flows else Diagonal(square)


def _over_classes(square: Array) -> Curvature:
    """diag(s) − ssᵀ/Σs for every row, which keeps the sum of its multipliers."""
    total = square.sum(axis=1)
    return _Balanced(square / np.where(total > 0, total, 1.0)[:, None], total)


class _Balanced(Simplex):
    """A simplex whose products add up to zero in every row, exactly.

    Where one class has nearly all the room of a row, its own product p·(t − p·t) cancels, and what
    rounding leaves of it may be larger than all the others: they determine it.
    """

    def times(self, t: Array) -> Array:
        """The products of all classes but the one with most room, and minus their sum."""
        product, rows = super().times(t), np.arange(len(t))
        most = self.p.argmax(axis=1)
        product[rows, most] = 0.0
        product[rows, most] = -product.sum(axis=1)
        return product


class _Solve:
    """Solves with TᵀCT; its null space is left out, and so are coefficients that are not held."""

    def __init__(
        self, objective: Objective, columns: Array, metric: Curvature, held: BoolArray | None
    ) -> None:
        from ..design import as_design

        weighted = metric.weighted(objective.row_mass)
        self._held = None if held is None or held.all() else held
        alike = isinstance(weighted, Diagonal) and weighted.h.ndim > 1 and self._held is None
        alike = alike and not np.ptp(weighted.bound, axis=1).any()
        if alike:  # every score has the same system
            gram = columns.T @ (weighted.bound[:, :1] * columns)
        elif columns.shape[1] == 1 and not np.ptp(columns):  # the intercepts alone: one product
            gram = float(columns[0, 0]) ** 2 * weighted.over_scores()
        else:
            gram = weighted.gram(as_design(columns))
        self.known = bool(np.isfinite(gram).all())
        if not self.known:
            return
        self._by_score = alike
        if self._held is not None:
            gram = gram[np.ix_(self._held.ravel(), self._held.ravel())]
        # Scaled to a unit diagonal: a class whose multipliers are all small has little room, yet
        # only these can balance it.
        self._inverse = pseudo_inverse(gram, _RANK)

    def __call__(self, slope: Array) -> Array:
        if self._by_score:
            return self._inverse(slope)
        if self._held is None:
            return self._inverse(slope.ravel()).reshape(slope.shape)
        found = np.zeros_like(slope)
        found[self._held] = self._inverse(slope[self._held])
        return found
