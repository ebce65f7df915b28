"""The tightest lower bound of all clusterings that is known from one of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._base.typing import Array, IntArray
from ..._base.watch import interrupt, reason
from .closed_form import best_point, matrix_of
from .points import Points, indicator
from .splitting import MOST_POINTS, tightened

# Of the objective of the clustering; convention: such a gap counts as none. A share of tr C would
# not do, since one far row makes that as large as one likes.
CLOSED = 1e-6


class Proof(NamedTuple):
    """No clustering of the points has an objective below `lower`."""

    lower: float
    rounding: float
    remark: str = ""  # why there is no better bound than that by eigenvalues

    def times(self, unit: float) -> Proof:
        """The bound in other units."""
        return self._replace(lower=unit * self.lower, rounding=unit * self.rounding)


def closes(primal: float, bound: float) -> bool:
    """Whether the objective is the least one, up to a share of itself that counts as none."""
    # An objective of zero is one that has underflown, unless rows are equal, which is looked at.
    return primal > 0 and primal - bound <= CLOSED * primal


def prove(
    points: Points, labels: IntArray, k: int, objective: float, scale: float | None = None
) -> Proof:
    """The bound of the closed form; where that leaves a gap, of some rounds on the dual problem.

    ``scale`` is what a gap is compared with: the objective, unless a constant was added to it. All
    numbers are in the unit of the points.
    """
    try:
        point = best_point(points, labels, k)
    except KeyboardInterrupt:  # before there is any: the bound by eigenvalues remains
        interrupt()
        return Proof(-np.inf, 0.0)
    if point is None and points.n > MOST_POINTS:
        return Proof(-np.inf, 0.0, "the matrix of the dual is too large for all of its eigenvalues")
    lower, rounding = (-np.inf, 0.0) if point is None else (point.lower, point.rounding)
    none = CLOSED * max(objective if scale is None else scale, 0.0)
    closed = objective - lower <= max(4 * rounding, 1e-3 * none)
    if closed or points.n > MOST_POINTS or k == 1 or reason():
        return Proof(lower, rounding)
    B = np.zeros((points.n, points.n)) if point is None else matrix_of(points, labels, point.blocks)
    goal = objective - max(4 * rounding, 0.1 * none)
    _, better, error = tightened(points, k, clusters_matrix(points, labels, k), B, goal)
    return Proof(better, error) if better > lower else Proof(lower, rounding)


def clusters_matrix(points: Points, labels: IntArray, k: int) -> Array:
    """Z = Σ uⱼuⱼᵀ/vⱼ."""
    parts = indicator(labels, points.root, k)
    sizes = np.linalg.norm(parts, axis=0)
    parts = parts[:, sizes > 0] / sizes[sizes > 0]
    return np.asarray(parts @ parts.T)
