"""The convex problem above a non-convex one that touches it at a point.

P ≤ P_tangent everywhere (up to a constant) and P = P_tangent at the point. So whatever lowers
P_tangent lowers P, and a point that minimises its own tangent is stationary: no direction leads
downhill from it. How far it is from that, the duality gap of the tangent problem measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ._typing import Array, IntArray
from .objective import Objective, Point
from .penalties import Majorised, Majoriser


@dataclass(frozen=True, eq=False)
class Tangent:
    """A convex ``problem`` on some ``columns`` (None: all) that bounds the ``whole`` from above."""

    whole: Objective
    problem: Objective
    columns: IntArray | None

    @classmethod
    def at(cls, objective: Objective, w: Array) -> Self:
        """The one that touches the objective at w."""
        assert isinstance(objective.penalty, Majorised)
        return cls._of(objective, objective.penalty.majoriser(w))

    @classmethod
    def first(cls, objective: Objective) -> Self:
        """The one to start from: the lasso."""
        assert isinstance(objective.penalty, Majorised)
        return cls._of(objective, objective.penalty.first_majoriser())

    @classmethod
    def _of(cls, objective: Objective, majoriser: Majoriser) -> Self:
        problem = objective.with_penalty(majoriser.penalty, columns=majoriser.columns)
        return cls(objective, problem, majoriser.columns)

    def inside(self, point: Point) -> Point:
        """A point of the whole problem, as one of the tangent problem: what is left out is 0."""
        if self.columns is None:
            return point
        kept = point.w[self.columns]
        if np.count_nonzero(kept) < np.count_nonzero(point.w):
            return self.problem.point(kept, point.b)
        return point._replace(w=kept)

    def outside(self, point: Point) -> Point:
        """A point of the tangent problem, as one of the whole."""
        return point._replace(w=self.spread(point.w))

    def spread(self, values: Array) -> Array:
        """One number per feature: zero for columns that are left out."""
        if self.columns is None:
            return values
        full = np.zeros(self.whole.n_features)
        full[self.columns] = values
        return full
