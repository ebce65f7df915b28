"""Moves a dual point of k scores, or of units that are runs of rows, onto its constraints.

Slopes Tᵀ(mass∘θ) must vanish for the unpenalised columns T, among them a column of ones for a free
intercept. θ moves along C T A, C the curvature of the loss, which keeps multipliers at the edge of
their domain there and preserves their sum over classes. If the domain still stops θ, a few rounds
bring it nearer. Multipliers of single rows and scores have shorter ways: see `repair`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from ..losses.curvature import Curvature, Diagonal, Simplex
from ..problem.objective import EPS, Objective

_ROUNDS = 8  # rounds of projections in one metric; safeguard
_LARGEST = 3000  # free columns times scores, the side of a system; safeguard of memory: 70 MB
_RANK = 1e-12  # share of the largest eigenvalue, below which one counts as zero; safeguard


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


def clear_scores(objective: Objective, theta: Array, slope: Array, curvature: Curvature) -> Cleared:
    """Make the slope vanish on columns that are free for all scores."""
    free = objective.penalty.free
    columns = free if free.ndim == 1 else free.all(axis=1)
    open_places = objective.penalty.unscalable(-slope)
    if open_places[~columns].any():
        words = "coefficients that are free for some scores only, or bounded on one side, have no"
        return Cleared(theta, slope, f"no bound: {words} certificate with several scores yet")
    kept = np.flatnonzero(columns)
    size = (kept.size + objective.intercept) * objective.n_scores
    if size > _LARGEST:
        return Cleared(theta, slope, f"{kept.size} unpenalised columns are too many to project off")
    objective.meter.passes += kept.size / objective.n_features
    parts = [objective.design.columns(kept).matvec(np.eye(kept.size))]
    if objective.intercept:
        parts.append(np.ones((objective.n_samples, 1)))
    found = _projected(objective, theta, np.concatenate(parts, axis=1), curvature)
    if found is None:
        words = "the slope along the unpenalised columns does not vanish at any dual point found"
        return Cleared(theta, slope, f"no bound: {words}; the model is not near the optimum")
    return Cleared(found, objective.backward(objective.weigh(found)))


def _projected(
    objective: Objective, theta: Array, columns: Array, curvature: Curvature
) -> Array | None:
    """θ with Tᵀ(mass∘θ) = 0 up to rounding, for a dense T; None if none was found."""
    lengths = np.sqrt(objective.row_mass @ columns**2)
    columns = columns / np.where(lengths > 0, lengths, 1.0)
    noise = 4 * EPS * np.sqrt(objective.n_samples + 16.0)
    if not np.isfinite(theta).all():
        return None
    for metric in _metrics(objective, theta, curvature):
        solve, moved = None, theta
        for _ in range(_ROUNDS):
            slope = columns.T @ objective.weigh(moved)
            limit = noise * np.sqrt(objective.row_mean(moved * moved))
            if (np.abs(slope) <= limit).all():
                return moved
            solve = solve or _Solve(objective, columns, metric)
            if not solve.known:
                break  # its numbers overflow: another metric may do
            step = metric.times(columns @ solve(slope))
            moved = objective.loss.into_domain(moved - step, objective.y)
    return None


def _metrics(objective: Objective, theta: Array, curvature: Curvature) -> Iterator[Curvature]:
    """The curvature if there is any; at kinks, the squared room that multipliers have."""
    if not objective.loss.smooth:
        room = objective.loss.room(theta, objective.y)
        if room.any():
            square = (room / room.max()) ** 2
            yield _over_classes(square) if objective.loss.flows else Diagonal(square)
    if curvature.any:
        yield curvature
    yield Diagonal(np.ones_like(theta))


def _over_classes(square: Array) -> Curvature:
    """diag(s) − ssᵀ/Σs for every row, which keeps the sum of its multipliers."""
    total = square.sum(axis=1)
    return Simplex(square / np.where(total > 0, total, 1.0)[:, None], total)


class _Solve:
    """Solves with TᵀCT; its null space is left out."""

    def __init__(self, objective: Objective, columns: Array, metric: Curvature) -> None:
        from ..design import as_design

        weighted = metric.weighted(objective.row_mass)
        alike = isinstance(weighted, Diagonal) and weighted.h.ndim > 1
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
        values, self._vectors = np.linalg.eigh(gram)
        kept = values > _RANK * max(float(values[-1]), 0.0)
        self._inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)

    def __call__(self, slope: Array) -> Array:
        if self._by_score:
            return np.asarray(self._vectors @ (self._inverse[:, None] * (self._vectors.T @ slope)))
        along = self._vectors.T @ slope.ravel()
        return np.asarray(self._vectors @ (self._inverse * along)).reshape(slope.shape)
