"""Quadratic models of a Newton step on groups: on one Gram, on that of all scores, on columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.typing import Array
from ...canonical import Runs, ScoreModel, minimise_groups, minimise_groups_on_lines
from ...design import Design
from ...losses.curvature import Curvature, Simplex
from ...problem.objective import Objective
from ...problem.path_gram import lines_of
from ..base import Control

_GRAM_COLUMNS = 4000  # columns of a Gram; safeguard of memory: 130 MB
_FLAT = 2500  # coefficients of all scores on one Gram of dense columns; safeguard: 50 MB
_FLAT_SPARSE = 600  # the same of sparse columns; measured: on text, more take twice as long
SHARE = 0.3  # share of the goal that the minimiser of a model may leave; safeguard
_SWEEPS = 8  # sweeps between two looks at the slopes; safeguard
_LOOKS = 100  # looks; safeguard
_LEFT = 1e-8  # share of the goal: decrease of a sweep at which descent ends; safeguard: a small
# decrease may leave slopes that cost far more of the gap, which `price` tells


@dataclass(frozen=True, eq=False)
class Step:
    """Σ qᵢ·tᵢ + ½ tᵢᵀHᵢtᵢ over the scores t of gathered columns, to be minimised to a gap."""

    objective: Objective
    design: Design
    curvature: Curvature
    q: Array
    goal: float

    @cached_property
    def weighted(self) -> Curvature:
        """The curvature with the masses of the rows."""
        return self.curvature.weighted(self.objective.row_mass)

    @property
    def shared(self) -> bool:
        """Whether all scores have the same curvature, one number per row."""
        return self.objective.n_scores == 1 or self.objective.loss.quadratic

    @property
    def outnumbered(self) -> bool:
        """Whether columns are dense and more than rows: then their Gram has more numbers."""
        n, d = self.design.shape
        return d > n and not self.design.sparse

    @cached_property
    def over_scores(self) -> Array:
        """The inverse of Σ Hᵢ, in which directions without curvature are left out."""
        return np.asarray(np.linalg.pinv(self.weighted.over_scores(), hermitian=True), float)


def is_flat(objective: Objective, n_features: int) -> bool:
    """Whether all coefficients of so many features may have one Gram."""
    most = _FLAT_SPARSE if objective.design.sparse else _FLAT
    return n_features * objective.n_scores <= most


def minimiser(
    step: Step, runs: Runs, w: Array, *, flat: bool, control: Control
) -> tuple[Array, Any]:
    """The minimiser of the model with the penalties, and the intercept's move."""
    columns = step.design.shape[1]
    if flat or (not step.shared and is_flat(step.objective, columns)):
        return _on_all_scores(step, runs, w, flat)
    if step.shared and (columns <= _GRAM_COLUMNS or step.outnumbered):
        return _on_one_gram(step, runs, w)
    return _on_columns(step, runs, w, control)


def _on_one_gram(step: Step, runs: Runs, w: Array) -> tuple[Array, Any]:
    """All scores have the same Gram; where rows are few, the columns stand for it."""
    objective, q = step.objective, step.q
    h = step.weighted.bound
    h = h if h.ndim == 1 else np.ascontiguousarray(h[:, 0])
    total = float(h.sum()) if objective.intercept else 0.0
    new, d = np.ascontiguousarray(w).copy(), len(w)
    gap, scale = SHARE * step.goal, objective.scale
    if step.outnumbered:
        lines, mean = lines_of(step.design, objective.row_mass, total > 0)
        rest = q - np.multiply.outer(h / total, q.sum(axis=0)) if total > 0 else q
        mean = mean + lines @ h / total if total > 0 else mean
        slope = lines @ rest
        minimise_groups_on_lines(lines, (h, total > 0), slope, scale, runs, new, gap)
    else:
        both = step.design.covariance(h) if total > 0 else (step.design.gram(h), np.zeros(d))
        gram, mean = both
        slope = step.design.rmatvec(q) - np.multiply.outer(mean, q.sum(axis=0))
        minimise_groups(gram, slope, scale, runs, new, gap)
    shift = -(mean @ (new - w)) - (q.sum(axis=0) / total if total > 0 else 0.0)
    return new, shift


def _on_all_scores(step: Step, runs: Runs, w: Array, flat: bool) -> tuple[Array, Any]:
    """One Gram of all coefficients; the intercepts are minimised out."""
    objective, design, q = step.objective, step.design, step.q
    (d, k), curvature = w.reshape(len(w), -1).shape, step.weighted
    gram = curvature.gram(design)
    slope = design.rmatvec(q).ravel()
    cross = np.zeros((d * k, k))
    inverse = step.over_scores if objective.intercept else np.zeros((k, k))
    total = np.atleast_1d(q.sum(axis=0))
    if objective.intercept:
        for c in range(k):
            t = np.zeros((len(q), k))
            t[:, c] = 1.0
            cross[:, c] = design.rmatvec(curvature.times(t.reshape(q.shape))).ravel()
        gram = gram - cross @ inverse @ cross.T
        slope = slope - cross @ (inverse @ total)
    order = runs.order if flat else np.arange(d * k)
    runs = runs if flat else _one_by_one(runs)
    new = w.ravel()[order].copy()
    gram, slope = gram[np.ix_(order, order)], slope[order]
    minimise_groups(gram, slope, objective.scale, runs, new, SHARE * step.goal)
    full = np.empty(d * k)
    full[order] = new
    move = full - w.ravel()
    shift = -inverse @ (total + cross.T @ move)
    return full.reshape(w.shape), shift if q.ndim > 1 else float(shift[0])


def _one_by_one(runs: Runs) -> Runs:
    """The same runs with every coefficient as a row of its own."""
    numbers = [part.reshape(-1, 1) for part in (runs.l1, runs.l2)]
    return Runs(np.arange(runs.l1.size), runs.scores * runs.starts, runs.norm, *numbers)


def _on_columns(step: Step, runs: Runs, w: Array, control: Control) -> tuple[Array, Any]:
    """Descent over groups of columns, without a Gram."""
    objective, curvature = step.objective, step.weighted
    k = objective.n_scores
    inverse = step.over_scores if objective.intercept else np.zeros((0, 0))
    q = np.array(step.q.reshape(-1, k), order="C")
    if k == 1 and isinstance(curvature, Simplex):
        raise AssertionError("a single score has no shares")
    model = ScoreModel(step.design, curvature, q, np.ascontiguousarray(inverse))
    new, shift = np.array(w.reshape(-1, k), order="C"), np.zeros(k)
    tol = _LEFT * step.goal
    for _ in range(_LOOKS):
        _, decrease = model.descend(runs, new, shift, _SWEEPS, tol)
        if decrease <= tol or control.expired:
            break
        if price(runs, new, step.design.rmatvec(model.q).reshape(new.shape)) <= SHARE * step.goal:
            break
    return new.reshape(w.shape), shift if step.q.ndim > 1 else float(shift[0])


def price(runs: Runs, w: Array, slope: Array) -> float:
    """An estimate of the gap of a model: see `GroupMinimiser::shortfall`."""
    rest = slope + runs.l2 * w
    c = np.maximum(np.abs(rest) - runs.l1, 0.0)
    firsts = runs.starts[:-1]
    length = np.sqrt(np.add.reduceat((c * c).sum(axis=1), firsts))
    size = np.sqrt(np.add.reduceat((w * w).sum(axis=1), firsts))
    alone = np.repeat(runs.norm == 0, np.diff(runs.starts))
    excess = float(np.max(length[runs.norm > 0] / runs.norm[runs.norm > 0], initial=1.0))
    singles = alone[:, None] & (runs.l1 > 0)
    excess = max(excess, float(np.max(np.abs(rest[singles]) / runs.l1[singles], initial=1.0)))
    charge = runs.norm @ size + float(np.sum(runs.l1 * np.abs(w) + 0.5 * runs.l2 * w * w))
    along = np.add.reduceat((w * rest + runs.l1 * np.abs(w)).sum(axis=1), firsts)
    return float((excess - 1.0) * charge + np.abs(along + runs.norm * size).sum())
