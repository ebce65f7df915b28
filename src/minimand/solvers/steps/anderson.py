"""Anderson's extrapolation of a sequence of points towards its limit."""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array
from ...problem.objective import Objective, Point

_DEPTH = 6  # past steps; convention


class Anderson:
    """Combines the last steps x → G(x) to extrapolate their limit.

    Near its limit G is almost linear. Of the combinations of the last points with Σγ = 1, the one
    whose steps cancel best lies nearest to the limit.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._from: list[Array] = []
        self._to: list[Array] = []

    def ahead(self, old: Point, new: Point) -> Point | None:
        """The extrapolated point, if the objective is lower there than at the new one."""
        objective = self._objective
        self._from = [*self._from[-_DEPTH:], np.append(old.w, old.b)]
        self._to = [*self._to[-_DEPTH:], np.append(new.w, new.b)]
        if len(self._to) < 2:
            return None
        steps = np.array(self._to) - np.array(self._from)
        change = np.diff(steps, axis=0).T
        size = np.sqrt((change**2).sum(axis=0))
        if not size.all():
            return None
        share = np.linalg.lstsq(change / size, steps[-1], rcond=1e-10)[0] / size
        found = self._to[-1] - np.diff(self._to, axis=0).T @ share
        if not np.isfinite(found).all():
            return None
        w = np.where(new.w == 0, 0.0, found[:-1])  # zeros stay zero
        point = objective.point(objective.penalty.project(w), float(found[-1]))
        return point if objective.primal(point) <= objective.primal(new) else None
