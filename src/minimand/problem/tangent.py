"""The convex problem that lies above a non-convex one and touches it at a point.

P ≤ P_tangent everywhere (up to a constant) and P = P_tangent at the point. So whatever lowers
P_tangent lowers P, and a point that minimises its own tangent is stationary: no direction leads
downhill from it. The duality gap of the tangent problem measures the distance from that.

A non-convex penalty is replaced by a weighted l1 norm, perhaps on fewer columns; a non-convex loss
by its base loss with sample weights, or, if it is a difference, by a convex loss minus a tangent
of the other. The masses of a problem sum to one, so with sample weights
the tangent ``problem`` is P_tangent divided by their sum, the ``unit``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._base.typing import Array, IntArray
from ..losses import Loss, RobustLoss
from ..penalties import Majorised, Majoriser
from .objective import Objective, Point


def composed(objective: Objective) -> RobustLoss:
    """The loss as a concave function of a convex one."""
    found = objective.loss.composed
    if found is None:
        raise ValueError(
            f"loss {objective.loss!r} is not convex and has no convex tangents: write it as a "
            "RobustLoss, a concave function of a convex loss."
        )
    return found


@dataclass(frozen=True, eq=False)
class Tangent:
    """A convex ``problem`` on some ``columns`` (None: all) that bounds the ``whole`` from above.

    The bound itself is ``unit`` times the problem; ``weights`` are those of the samples, None if
    the loss is convex.
    """

    whole: Objective
    problem: Objective
    columns: IntArray | None
    weights: Array | None = None
    unit: float = 1.0

    @classmethod
    def at(cls, objective: Objective, point: Point) -> Self:
        """The tangent that touches the objective at a point."""
        weights = None
        if not objective.loss.convex:
            replaced = objective.loss.tangent(point.z, objective.y)
            if replaced is not None:
                return cls._of(objective, *replaced)
            weights = composed(objective).weights(point.z, objective.y)
        return cls.with_weights(objective, weights, near=point.w)

    @classmethod
    def _of(cls, objective: Objective, loss: Loss, y: Array) -> Self:
        """The problem of another loss, with its own y."""
        return cls(objective, replace(objective, loss=loss, y=y, path_facts=None), None)

    @classmethod
    def first(cls, objective: Objective) -> Self:
        """The tangent to start from: the lasso, and the base loss with equal sample weights."""
        weights = None
        if not objective.loss.convex:
            replaced = objective.loss.tangent(objective.null.z, objective.y, 0.0)
            if replaced is not None:
                return cls._of(objective, *replaced)
            weights = np.full(objective.n_samples, composed(objective).first_weight)
        return cls.with_weights(objective, weights)

    @classmethod
    def with_weights(
        cls,
        objective: Objective,
        weights: Array | None,
        *,
        near: Array | None = None,
        loss: Loss | None = None,
    ) -> Self:
        """The base loss (or another one) with any sample weights.

        A non-convex penalty is replaced by its tangent ``near`` some w, or by the lasso.
        """
        penalty, columns = Majoriser(objective.penalty, None)
        if isinstance(penalty, Majorised):
            found = penalty.first_majoriser() if near is None else penalty.majoriser(near)
            penalty, columns = found
        if weights is None:
            problem = objective.with_penalty(penalty, columns=columns)
            return cls(objective, problem, columns)
        convex, unit = objective.weighted(loss or composed(objective).base, weights)
        problem = convex.with_penalty(penalty.times(1.0 / unit), columns=columns)
        return cls(objective, problem, columns, weights, unit)

    def repeats(self, other: Tangent) -> bool:
        """Whether both are one problem, as where weights are 0 or 1 and no sample has changed."""
        if self.weights is None or other.weights is None:
            return False
        convex = not isinstance(self.whole.penalty, Majorised)
        return convex and np.array_equal(self.weights, other.weights)

    def inside(self, point: Point) -> Point:
        """A point of the whole problem as one of the tangent problem, without dropped columns."""
        if self.columns is None:
            return point
        kept = point.w[self.columns]
        if np.count_nonzero(kept) < np.count_nonzero(point.w):
            return self.problem.point(kept, point.b)
        return point._replace(w=kept)

    def outside(self, point: Point) -> Point:
        """A point of the tangent problem as one of the whole problem."""
        return point._replace(w=self.widened(point.w))

    def widened(self, values: Array) -> Array:
        """One number per feature, zero for dropped columns."""
        if self.columns is None:
            return values
        full = np.zeros(self.whole.n_features)
        full[self.columns] = values
        return full

    def dual_inside(self, theta: Array) -> Array:
        """Multipliers of the whole as those of the problem; zero for samples without weight."""
        if self.weights is None:
            return theta
        some = self.weights > 0
        return np.where(some, theta / np.where(some, self.weights, 1.0), 0.0)

    def dual_outside(self, theta: Array) -> Array:
        """Multipliers θ of the problem as those of the whole: weights∘θ."""
        return theta if self.weights is None else self.weights * theta
