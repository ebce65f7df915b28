"""Columns of extreme sizes in units of their own, without a penalty that is too small to matter.

With w = units∘x and X' = X·diag(units) the scores X'x = X w are the same, and so is the loss. The
units are powers of two, so that nothing is rounded. What is left of the penalty of a column of
size 10³⁰ is less than the rounding of the slope of the loss, and no dual point could agree with it.
Without it the optimum is lower by no more than it, so that the gap of a model is at most

    gap of the problem without it  +  the part of Ω(w) that was left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._base.typing import Array, BoolArray
from ..design.wrap import with_units
from .objective import Objective, Point

_EXTREME = 1e7  # ratio of column sizes, from which columns get units; safeguard
_FAINT = 1e-9  # share of a column's largest slope, up to which a penalty is left out; safeguard


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """The ``problem`` in units of its columns, ≤ the ``whole`` one, with the same scores."""

    whole: Objective
    problem: Objective
    units: Array
    faint: BoolArray  # columns whose penalty is left out

    @classmethod
    def of(cls, objective: Objective) -> ColumnUnits | None:
        """None if the columns are of similar sizes and their penalty matters."""
        if not objective.single or not objective.convex or not objective.has_columns:
            return None
        if objective.design.access.only_blocks:
            return None  # a copy may not fit into memory
        sizes = objective.root_spread
        some = sizes > 0
        if not some.any() or not np.isfinite(sizes).all():
            return None
        extreme = sizes.max() > _EXTREME * sizes[some].min()
        units, penalty = np.ones(sizes.shape), objective.penalty
        if extreme:
            units = np.exp2(-np.round(np.log2(np.where(some, sizes, 1.0))))
            moved = penalty.in_units(units)
            if moved is None:
                return None
            penalty = moved
        steep, far = _sizes_at_null(objective)
        size = np.where(some, sizes * units, 1.0)
        faint = penalty.faint(far / size, steep * size, _FAINT) & some
        if np.count_nonzero(faint) >= objective.n_samples:
            faint &= False  # as many unpenalised columns could fit every sample
        if not extreme and not faint.any():
            return None
        design = with_units(objective.design, units) if extreme else objective.design
        null = objective.null
        cached = {
            "constant_target": objective.constant_target,
            "infimum": objective.infimum,
            "null": null._replace(w=null.w / units),
            "null_loss": objective.null_loss,
            "null_primal": objective.null_primal,
            "scale": objective.scale,
        }
        fields = {"design": design, "penalty": penalty.without(faint), "path_facts": None}
        problem = objective.altered(cached, **fields)
        return cls(objective, problem, units, faint)

    @property
    def with_whole_penalty(self) -> ColumnUnits | None:
        """The same units, with nothing left out; None if nothing was."""
        penalty = self.whole.penalty.in_units(self.units)
        if not self.faint.any() or penalty is None:
            return None
        problem = self.problem.with_penalty(penalty)
        return replace(self, problem=problem, faint=np.zeros_like(self.faint))

    def inside(self, point: Point) -> Point:
        """A point of the whole problem as one of the problem in units."""
        if point is self.whole.null:
            return self.problem.null
        return _feasible(self.problem, point._replace(w=point.w / self.units))

    def outside(self, point: Point) -> Point:
        """A point of the problem in units as one of the whole problem."""
        if point is self.problem.null:
            return self.whole.null
        return _feasible(self.whole, point._replace(w=point.w * self.units))

    def left_out(self, point: Point) -> float:
        """Ω(w) of the whole problem minus that of the problem in units, at a point of the latter.

        It is never negative; where a constraint was left out it may be infinite.
        """
        price = self.whole.price(self.outside(point)) - self.problem.price(point)
        return max(price, 0.0)


def _feasible(objective: Objective, point: Point) -> Point:
    """The point, moved into constraints that it leaves by rounding."""
    w = objective.penalty.project(point.w)
    return point if np.array_equal(w, point.w) else objective.point(w, point.b)


def _sizes_at_null(objective: Objective) -> tuple[float, float]:
    """The size of the slopes of the loss at the null model, and how far scores may have to go."""
    z, y = objective.null.z, objective.y
    steep = float(np.sqrt(objective.row_mean(objective.loss.gradient(z, y) ** 2)))
    # Weights must not hide how far other samples are.
    return steep, max(objective.scale / max(steep, 1e-300), float(np.abs(y - z).mean()))
