"""A point with the slopes there: the linear model of the loss that gradient steps start from."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point


class Linearised(NamedTuple):
    """A point with the gradient of the loss in z, and of the mean loss in w."""

    point: Point
    gradient: Array
    slope: Array

    @classmethod
    def of(cls, judgement: Judgement) -> Self:
        """From a judgement, which has computed all of it."""
        return cls(judgement.point, judgement.terms.gradient, judgement.slope)

    @classmethod
    def ahead(cls, objective: Objective, last: Point, point: Point, momentum: float) -> Self | None:
        """At w + momentum·(w − w_last) with the best intercept; None where the loss overflows."""
        w = point.w + momentum * (point.w - last.w)
        b, z = point.b + momentum * (point.b - last.b), point.z + momentum * (point.z - last.z)
        ahead = recentred(objective, Point(w, b, z))
        gradient = objective.loss.gradient(ahead.z, objective.y)
        if not np.isfinite(gradient).all():
            return None
        return cls(ahead, gradient, objective.backward(objective.weigh(gradient)))
