"""Replaces unpenalised columns that depend on others by a basis of them, for solvers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..certificate import Dual, Judgement
from ..penalties import Separable
from ..problem.basis import Basis, free_columns
from ..problem.objective import Objective, Point


def independent_columns(objective: Objective) -> IndependentColumns | None:
    """The problem on independent columns; None if the unpenalised columns are independent."""
    form = objective.penalty.sum_over_features
    if form is None or not objective.convex or not objective.has_free_columns:
        return None
    basis = objective.free_basis
    if basis is None or basis.regular:
        return None
    if basis.faint.size and not objective.single:
        return None  # what these directions could gain is known for single multipliers only
    return IndependentColumns(objective, _problem(objective, form, basis), basis)


@dataclass(frozen=True, eq=False)
class IndependentColumns:
    """The ``problem`` equivalent to the ``whole`` on a basis of its unpenalised columns.

    Both have the same scores, values and multipliers: only the coefficients differ.
    """

    whole: Objective
    problem: Objective
    basis: Basis

    def inside(self, point: Point) -> Point:
        """A point of the whole problem as one on the basis; the scores are the same."""
        if point is self.whole.null:
            return self.problem.null
        a, b = self.basis.inside(point.w), point.b + self.basis.constant(point.w)
        return Point(a, b, point.z)

    def outside(self, judgement: Judgement) -> Judgement:
        """A judgement on the basis as one of the whole problem."""
        a, b, z = judgement.point
        if judgement.point is self.problem.null:
            point = self.whole.null
        else:
            w = self.basis.outside(a)
            point = Point(w, b - self.basis.constant(w), z)
        terms = np.zeros(self.whole.coef_shape)
        terms[self.basis.stays] = judgement.by_feature[: self.basis.stays.size]
        return replace(
            judgement,
            point=point,
            dual=self._dual(judgement.dual),
            slope=self.basis.slopes(judgement.slope),
            by_feature=terms,
        )

    def _dual(self, dual: Dual) -> Dual:
        return Dual(dual.theta, self.basis.slopes(dual.slope), dual.value)


def _problem(objective: Objective, form: Separable, basis: Basis) -> Objective:
    """The same loss on the basis: columns that stay keep their penalty, residues have none."""
    kept, extra = form.take(basis.stays), np.zeros((basis.residues.shape[1], *form.l1.shape[1:]))
    bounds = None
    if kept.bounds is not None:
        far = np.full(extra.shape, np.inf)
        low, high = kept.bounds
        bounds = np.concatenate([low, -far]), np.concatenate([high, far])
    l1, l2 = (np.concatenate([part, extra]) for part in (kept.l1, kept.l2))
    penalty = Separable(l1, l2, bounds)
    null, free = objective.null, free_columns(penalty.free)
    cached = {
        "constant_target": objective.constant_target,
        "infimum": objective.infimum,
        "null": Point(basis.inside(null.w), null.b, null.z),
        "scale": objective.scale,
        "free_basis": Basis.of_all(basis.independent, free),
    }
    return objective.altered(cached, design=basis.independent, penalty=penalty, path_facts=None)
