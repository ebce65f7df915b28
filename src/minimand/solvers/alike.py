"""Whether several problems are alike enough to be solved with common work."""

from __future__ import annotations

import numpy as np

from ..problem.objective import Objective


def alike(first: Objective, other: Objective) -> bool:
    """Whether two problems have the same rows, loss, l2 and kind of intercept.

    They may differ in y, in the masses and in the offset.
    """
    mine, its = first.penalty.sum_over_features, other.penalty.sum_over_features
    if mine is None or its is None or other.design is not first.design:
        return False
    same_loss = other.loss is first.loss and other.intercept == first.intercept
    return same_loss and (mine is its or np.array_equal(mine.l2, its.l2))
