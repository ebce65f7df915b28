"""Directions along which the loss of some samples decreases without end at no cost."""

from __future__ import annotations

import numpy as np

from .._base.typing import Array, BoolArray
from ..losses import Terms
from ..problem.dependence import find_basis
from ..problem.objective import Objective, Point

_KINDS = 20  # values of y for which a loss is asked whether it has a minimum; safeguard
_STILL = 1e-9  # share of the largest move of a score, below which a score does not move; safeguard


def falls_for_ever(objective: Objective, point: Point, terms: Terms, gap: float) -> str:
    """Why no model attains the infimum, in words; empty if that is not known.

    The candidates are the samples with the least loss, which together cost no more than the gap.
    If the unpenalised columns can move their scores without moving any other sample, and move each
    of them downhill or not at all, then their loss decreases without end.
    """
    y = objective.y
    rows = objective.n_scores == 1 and objective.units is None
    if not (rows and objective.convex) or objective.loss.attained(y):
        return ""
    low = _next_to_nothing(objective, terms, gap)
    kinds = np.unique(y[low])
    if not 0 < kinds.size <= _KINDS or any(objective.loss.attained(y[y == k]) for k in kinds):
        return ""
    move = _move(objective, point, low)
    if move is None:
        return ""
    largest = float(np.abs(move[low]).max())
    downhill = -move * np.sign(terms.gradient)
    if (
        not largest > 0
        or np.abs(move[~low & (objective.mass > 0)]).max(initial=0) > _STILL * largest
    ):
        return ""
    if downhill[low].min() < -_STILL * largest:
        return ""
    count = int((downhill[low] > _STILL * largest).sum())
    return (
        f"the unpenalised columns separate {count} of the samples, whose loss falls for ever as "
        "the coefficients grow: no minimiser exists, and no model attains the infimum of the bound"
    )


def _next_to_nothing(objective: Objective, terms: Terms, gap: float) -> BoolArray:
    """The samples with the least loss, as many as sum to no more than the gap."""
    above = objective.mass * (terms.value - objective.loss.infimum(objective.y))
    order = np.argsort(above)
    low = np.zeros(above.size, dtype=bool)
    low[order] = np.cumsum(np.maximum(above[order], 0.0)) <= gap
    return low & (objective.mass > 0)


def _move(objective: Objective, point: Point, low: BoolArray) -> Array | None:
    """The move of the scores by the part of the model that does not affect other samples."""
    mass = np.where(low, 0.0, objective.mass)
    sizes = np.sqrt(objective.design.moments(mass).second)
    objective.meter.passes += 2
    free = np.flatnonzero(objective.penalty.free)
    basis = find_basis(objective.design, mass, free, objective.intercept, sizes)
    if basis is None or basis.regular:
        return None
    seen = basis.outside(basis.inside(point.w))
    constant = basis.constant(seen) - basis.constant(point.w)
    return objective.forward(point.w - seen) + constant
