"""Quantiles that must not cross: an interior-point method on all scores at once."""

from __future__ import annotations

import numpy as np

from ...losses import Quantiles
from ...problem.intercept import recentred
from ...problem.objective import EPS, Objective, Point
from ..base import Control, Verdict
from ..traits import Trait
from .scores_interior import RowRises
from .scores_path import ScoresPath


class Ordered(ScoresPath):
    """Mehrotra's method for `Quantiles` with ``crossing=False`` and a sum over features.

    About twenty systems in the coefficients of all quantiles. The intercepts of the solution are
    spread by what rounding has left of crossings.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.solvers.Ordered().name
    'ordered'
    """

    name = "ordered"
    null_may_do = True
    kind = (*ScoresPath.kind, Trait.IN_ORDER)
    needs = (Trait.SUM_OVER_FEATURES,)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Problems with intercepts, and not too many coefficients."""
        if not objective.intercept:
            return Verdict(False, "without intercepts no scores can be kept in order exactly")
        return super().accepts(objective, control)

    def rises(self, objective: Objective) -> RowRises:
        """The rises of every quantile, and of the order."""
        from .order_rises import OrderRises

        assert isinstance(objective.loss, Quantiles)
        return OrderRises(objective.loss, objective.y, objective.mass)

    def nearby(self, objective: Objective, point: Point) -> Point:
        """The best intercepts are in order, but rounding breaks their ties."""
        return _in_order(objective, recentred(objective, point))


def _in_order(objective: Objective, point: Point) -> Point:
    """The model with intercepts so far apart that no scores cross."""
    worst = -np.diff(point.z, axis=1).min(axis=0)
    if (worst < 0).all():
        return point
    # Twice the rounding of a score, so that another order of summation cannot bring it back.
    margin = 16 * EPS * (1.0 + np.sqrt(objective.n_features)) * float(np.abs(point.z).max())
    shift = np.append(0.0, np.cumsum(np.maximum(worst + margin, 0.0)))
    shift -= shift.mean()
    return Point(point.w, point.b + shift, point.z + shift)
