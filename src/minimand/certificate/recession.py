"""Is there a direction along which the loss of some samples falls for ever, at no cost?"""

from __future__ import annotations

import numpy as np

from .._base.typing import Array, BoolArray
from ..losses import Terms
from ..problem.dependence import find_basis
from ..problem.objective import Objective, Point

_KINDS = 20  # different y for which a loss is asked whether it has a minimum (safeguard)
_STILL = 1e-9  # share of the largest move of a score below which another one does not move


def falls_for_ever(objective: Objective, point: Point, terms: Terms, gap: float) -> str:
    """Why no model attains the infimum, in words; empty where that is not known.

    The samples that have next to no loss left are those that may fall for ever; all of them
    together cost no more than the gap. If the unpenalised columns can move them without moving any
    other sample, and move each of them downhill or not at all, then they do.
    """
    y = objective.y
    rows = objective.n_scores == 1 and objective.units is None
    if not (rows and objective.convex and objective.has_free_columns) or objective.loss.attained(y):
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
    """The samples that cost least, as many as the gap pays for."""
    above = objective.mass * (terms.value - objective.loss.infimum(objective.y))
    order = np.argsort(above)
    low = np.zeros(above.size, dtype=bool)
    low[order] = np.cumsum(np.maximum(above[order], 0.0)) <= gap
    return low & (objective.mass > 0)


def _move(objective: Objective, point: Point, low: BoolArray) -> Array | None:
    """How the part of the model that the other samples do not see moves the scores."""
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
