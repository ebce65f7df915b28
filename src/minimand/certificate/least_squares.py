"""The referee for many models of one least-squares problem: two products, then four sums each.

With the residuals r as dual point, scaled by s into the domain of Ω*, the samples' part of the gap
is Σ massᵢ·½(rᵢ − s·rᵢ)² = ½(1 − s)²·mean r². So of all that `judge` computes from n numbers, the
sums of r, |r|, r² and |r·z| are enough; where they are not, `judge` itself is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from .. import _core
from .._base.threads import get_num_threads, one_blas_thread, one_core_thread
from .._base.typing import Array
from ..design import Design
from ..penalties import BoundPenalty, Separable
from ..penalties.strengths import in_groups
from ..problem.objective import Objective, Point
from .charges import charged_by_groups
from .finding import Dual, Finding, is_balanced, slack
from .referee import judge
from .repair import rounding_of_slopes

_LARGE = 1 << 24  # multiply-adds, from which threads gain more than they cost; safeguard
_FEWEST = 8  # least number of models per thread; safeguard
_FEW = 0.25  # share of dense columns, up to which copying them pays; safeguard


@dataclass(frozen=True, eq=False, kw_only=True)
class SquaresFinding(Finding):
    """The referee's result for a model of the squared loss."""

    square: float  # mean r²
    score_times: float  # mean |r·z|

    @property
    def mean_loss(self) -> float:
        """Half the mean square."""
        return 0.5 * self.square

    def sizes(self, objective: Objective) -> tuple[float, float]:
        """The value is ½r², the gradient r."""
        return sqrt(self.square), self.primal + self.score_times


def squares_at_null(
    objective: Objective, form: Separable, residual: Array, slope: Array
) -> SquaresFinding:
    """The referee's result for the null model w = 0, whose residuals are the dual point.

    ``slope`` is Xᵀ(mass∘residual). The null model has the best intercept, so that Σ mass·residual
    vanishes.
    """
    square = _core.dot(objective.mass, residual * residual)
    null = objective.null
    gap, s, _ = _core.gap_of_squares(square, slope, null.w, form.l1, form.l2)
    return SquaresFinding(
        point=null,
        primal=objective.null_primal,
        gap=min(gap, objective.scale),
        dual=Dual(s * residual, s * slope),
        slope=slope,
        square=square,
        score_times=_core.dot(objective.mass, np.abs(residual * null.z)),
        fresh=True,
    )


def squares_at(objective: Objective, form: Separable, w: Array, b: float) -> Finding:
    """The referee's result for one model, from its coefficients alone, with its best intercept."""
    model = _Model.of(objective, w, b)
    if objective.intercept and not is_balanced(model.mean, model.size):
        return judge(objective, model.point)  # the residuals are no valid dual point
    dual = Dual(model.residuals, model.slope)
    found = _bounded(objective, form, model.point, dual, model.squares)
    return judge(objective, model.point) if found is None else found


def free_squares_at(objective: Objective, w: Array, b: float) -> SquaresFinding:
    """The same where no column is penalised: the slopes of the dual point must vanish.

    Those of the residuals do so up to rounding if w is a minimiser; what rounding leaves of them
    is charged, Σ|wⱼ·slopeⱼ|. θ = 0 serves a model that fits every row.
    """
    model = _Model.of(objective, w, b)
    primal = gap = 0.5 * model.squares[0]
    theta, slope = np.zeros_like(model.residuals), np.zeros_like(model.slope)
    balanced = not objective.intercept or is_balanced(model.mean, model.size)
    if balanced and (np.abs(model.slope) <= rounding_of_slopes(objective, model.residuals)).all():
        left = float(np.abs(w * model.slope).sum())
        if left < gap:
            gap, theta, slope = left, model.residuals, model.slope
    return _found(model.point, primal, gap, [theta, slope], model.slope, model.squares)


class _Model(NamedTuple):
    """One model with its best intercept, its residuals and their sums, and its slopes."""

    point: Point
    residuals: Array
    slope: Array
    mean: float  # of the residuals
    size: float  # mean |residual|
    squares: list[float]  # mean r², mean |r·z|

    @classmethod
    def of(cls, objective: Objective, w: Array, b: float) -> _Model:
        """Two passes."""
        scores, shift = objective.design.matvec(w)[None, :], np.array([b])
        if objective.offset is not None:
            scores += objective.offset
        mass, y = objective.mass, np.ascontiguousarray(objective.y)
        residuals, sums = _core.residual_rows(scores, y, mass, objective.intercept, shift)
        slope = objective.design.rmatvec(mass * residuals[0])
        objective.meter.passes += 2.0
        mean, size, *squares = sums[0].tolist()
        return cls(Point(w, float(shift[0]), scores[0]), residuals[0], slope, mean, size, squares)


def _bounded(
    problem: Objective, form: Separable, point: Point, dual: Dual, squares: list[float]
) -> SquaresFinding | None:
    """The gap with the residuals as dual point, scaled in place; None if θ = 0 may be better."""
    square = squares[0]
    charges = _core.gap_of_squares(square, dual.slope, point.w, form.l1, form.l2)
    return _scaled(problem, point, dual, squares, charges)


def _scaled(
    problem: Objective,
    point: Point,
    dual: Dual,
    squares: list[float],
    charges: tuple[float, float, float],
) -> SquaresFinding | None:
    """The same with the gap, the scale of the dual point, and what the penalty charges."""
    gap, s, charge = charges
    if not gap <= problem.scale:
        return None
    primal = 0.5 * squares[0] + charge
    theta, slope = dual[:2]
    if s != 1.0:
        theta *= s  # in place: another array costs more than this product
        slope = s * slope
    return _found(point, primal, gap, [theta, slope], dual.slope, squares)


def _found(
    point: Point, primal: float, gap: float, dual: list[Array], slope: Array, squares: list[float]
) -> SquaresFinding:
    """The finding, with the bound that the dual point (multipliers and their slopes) proves."""
    square, score_times = squares
    return SquaresFinding(
        point=point,
        primal=primal,
        gap=gap,
        dual=Dual(dual[0], dual[1], primal - gap + slack(primal)),
        slope=slope,
        square=square,
        score_times=score_times,
        fresh=True,
    )


class Models:
    """Models of one data set under the squared loss, each with its scores and slopes.

    If the intercept is free, each model gets its best one.
    """

    def __init__(self, objective: Objective, coefs: Array, intercepts: Array) -> None:
        coefs = np.ascontiguousarray(coefs)
        parts = _in_parts(objective, coefs, np.array(intercepts, dtype=float))
        self._asked: set[int] = set()
        self._intercept = objective.intercept
        self._charges: list[tuple[float, float, float]] = []
        self._sums = np.concatenate([part.sums for part in parts])
        rows = [row for p in parts for row in zip(p.shifts.tolist(), p.scores)]
        self.points = [Point(w, *row) for w, row in zip(coefs, rows)]
        self.duals = [Dual(*row) for p in parts for row in zip(p.residuals, p.slopes)]

    def gap(self, i: int, l1: Array, l2: Array) -> float:
        """The gap of one model with this penalty, its residuals being the dual point.

        Infinite where they are none, because the intercept is not the best one.
        """
        mean, size, square, _ = self._sums[i].tolist()
        if self._intercept and not is_balanced(mean, size):
            return inf
        gap, _, _ = _core.gap_of_squares(square, self.duals[i].slope, self.points[i].w, l1, l2)
        return gap

    def charge(self, penalties: Sequence[BoundPenalty]) -> None:
        """Compute all gaps at once, if these are the penalties, and norms of groups."""
        groups = in_groups(penalties)
        if groups is None:
            return
        coefs = np.stack([point.w for point in self.points])
        slopes = np.stack([dual.slope for dual in self.duals])
        found = charged_by_groups(groups, coefs, slopes, np.ascontiguousarray(self._sums[:, 2]))
        if found is not None:
            self._charges = [*zip(*(part.tolist() for part in (found.gap, found.s, found.price)))]

    def finding(self, i: int, problem: Objective) -> Finding:
        """The referee's result for one model as a solution of ``problem``, on the same data.

        It may be called once per model: its residuals become the dual point, in place.
        """
        if i in self._asked:
            raise ValueError(f"model {i} was judged before: its residuals are gone.")
        self._asked.add(i)
        problem.meter.passes += 2.0 / len(self.points)
        mean, size, *squares = self._sums[i].tolist()
        if problem.intercept and not is_balanced(mean, size):
            return judge(problem, self.points[i])  # the residuals are no valid dual point
        form, model = problem.penalty.sum_over_features, (self.points[i], self.duals[i])
        found = None
        if i < len(self._charges):
            found = _scaled(problem, *model, squares, self._charges[i])
        elif form is not None and not form.has_constraints:
            found = _bounded(problem, form, *model, squares)
        if found is not None:
            return found
        return judge(problem, self.points[i], known=[self.duals[i]], raw=False)


class _Part(NamedTuple):
    """Some models, one per row of each array."""

    shifts: Array
    scores: Array
    residuals: Array
    sums: Array
    slopes: Array


def _in_parts(objective: Objective, coefs: Array, intercepts: Array) -> list[_Part]:
    """All models, divided among threads if there are many.

    Threads of BLAS would wait for each other inside every product.
    """
    if len(coefs) == 1:
        return [_part(objective, coefs, intercepts)]
    large = len(coefs) * objective.design.nnz >= _LARGE
    jobs = max(1, min(get_num_threads(), len(coefs) // _FEWEST)) if large else 1
    with one_blas_thread():
        if jobs == 1:
            return [_part(objective, coefs, intercepts)]
        with one_core_thread(), ThreadPoolExecutor(jobs) as pool:
            shares = np.array_split(coefs, jobs), np.array_split(intercepts, jobs)
            return list(pool.map(partial(_part, objective), *shares))


def _part(objective: Objective, coefs: Array, shifts: Array) -> _Part:
    """Scores, the best intercepts, residuals and slopes: two products."""
    scores = scores_of_models(objective.design, coefs)
    if objective.offset is not None:
        scores += objective.offset
    mass = objective.mass
    residuals, sums = _core.residual_rows(scores, objective.y, mass, objective.intercept, shifts)
    # In place: another array of that size costs as much as the product itself.
    equal = bool((mass == mass[0]).all())
    slopes = objective.design.slopes_of(residuals if equal else residuals * mass)
    if equal:
        slopes *= mass[0]
    return _Part(shifts, scores, residuals, sums, slopes)


def scores_of_models(design: Design, coefs: Array) -> Array:
    """The scores of all models, from the columns that some model uses."""
    some, values = used_columns(design, coefs)
    return some.scores_of(values)


def used_columns(design: Design, coefs: Array) -> tuple[Design, Array]:
    """The columns that some model uses, with the coefficients there; all, unless these are few.

    ``coefs`` has the models along its first axis and the columns along its second.
    """
    used = np.flatnonzero(coefs.any(axis=(0, *range(2, coefs.ndim))))
    if design.sparse or used.size > _FEW * design.shape[1]:
        return design, coefs
    return design.columns(used), np.ascontiguousarray(coefs[:, used])
