"""Proximal Newton on working sets, for a smooth loss and a penalty with an l1 part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._typing import Array, IntArray
from ..canonical import Quadratic, Weighted
from ..certificate import Judgement, judge
from ..design import Design
from ..objective import Objective, Point, dot
from ..penalties import Separable
from .base import Control, Solver, Verdict
from .search import line_search, recentred

_GRAM_COLUMNS = 1500  # working sets up to this size may be solved on their Gram
_ROUNDS = 1000
_NEWTON_STEPS = 8


class WorkingSet(Solver):
    """Solve on a few columns, look at all of them, repeat.

    One round: pick the columns with the largest |∂ⱼL|/l1ⱼ, the ratio that also scales the dual
    point; take proximal Newton steps on them, each a weighted quadratic solved by compiled
    coordinate descent (on the Gram, with an active-set Newton polish, or on the columns); then
    one pass over all columns judges the point and scores the next working set.
    """

    name = "working_set"

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses; any separable penalty."""
        if not objective.loss.smooth:
            return Verdict(False, f"{objective.loss!r} has kinks; proximal Newton needs a smooth loss")
        form = objective.penalty.separable
        if form is None:
            return Verdict(False, "the penalty is not a sum over features")
        n, d = objective.design.shape
        nnz = objective.design.nnz
        if not form.l1.any():
            dense_cost = 100.0 * 20 * nnz
            return Verdict(True, "separable penalty; without an l1 part Newton is faster", dense_cost)
        return Verdict(True, "smooth loss and separable penalty with an l1 part", 20.0 * 2 * nnz)

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement]:
        """Rounds of: choose columns, solve on them, judge."""
        form = objective.penalty.separable
        assert form is not None
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        size = _first_size(objective)
        columns = np.empty(0, dtype=np.int64)
        for _ in range(_ROUNDS):
            columns = _choose(judgement, form, columns, size)
            point, dual = _Restricted.to(objective, form, columns).solve(judgement, control)
            duals = [] if dual is None else [dual]
            judgement = judge(objective, point, duals, known=[judgement.dual])
            size = max(size, 2 * int(np.count_nonzero(point.w)))
            yield judgement


def _first_size(objective: Objective) -> int:
    """Sparse columns are cheap, so take many; dense ones pay for their Gram."""
    d = objective.n_features
    return min(d, max(100, d // 20)) if objective.design.sparse else min(d, 100)


def _choose(judgement: Judgement, form: Separable, previous: IntArray, size: int) -> IntArray:
    """The support, free columns, and the columns that most limit the dual point."""
    w = judgement.point.w
    keep = (w != 0) | (form.l1 == 0)
    if size >= w.size:
        return np.arange(w.size)
    score = np.abs(judgement.slope) / np.where(form.l1 > 0, form.l1, 1.0)
    score[keep] = np.inf
    size = max(size, int(keep.sum()))
    chosen = np.argpartition(-score, size - 1)[:size]
    return np.sort(chosen).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Restricted:
    """The problem on some columns only, the other coefficients being zero."""

    objective: Objective
    form: Separable
    columns: IntArray
    design: Design

    @classmethod
    def to(cls, objective: Objective, form: Separable, columns: IntArray) -> _Restricted:
        everything = columns.size == objective.n_features
        design = objective.design if everything else objective.design.columns(columns)
        return cls(objective, form.take(columns), columns, design)

    def solve(self, judgement: Judgement, control: Control) -> tuple[Point, Array | None]:
        """Proximal Newton steps until the model promises little; the last step's dual point."""
        objective = self.objective
        point, dual = judgement.point, None
        goal = max(0.3 * control.target, 0.1 * min(judgement.gap, objective.scale))
        for _ in range(_NEWTON_STEPS):
            point, dual, decrease = self._newton(point, goal, control)
            if decrease <= goal or objective.loss.quadratic or control.expired:
                break
        return point, dual

    def _sweep_tolerance(self, w: Array, h: Array, goal: float) -> float:
        """How small a sweep's decrease must be for the dual point to cost less than ``goal``.

        A decrease ε leaves slopes up to √(2cⱼε) outside their box, so the dual point must be
        scaled by 1 − √(2cⱼε)/l1ⱼ, which costs about that share of Ω(w).
        """
        bounded = self.form.l1_only
        size = max(self.form.value(w), goal)
        if not bounded.any():
            return 1e-2 * goal
        curvature = self.design.moments(h).second[bounded] + 1e-300
        room = float(np.min(self.form.l1[bounded] ** 2 / curvature))
        return min(1e-2 * goal, 4.0 * room * (goal / size) ** 2)

    def _newton(
        self, point: Point, goal: float, control: Control
    ) -> tuple[Point, Array | None, float]:
        objective, mass = self.objective, self.objective.mass
        terms = objective.loss.terms(point.z, objective.y)
        h, q = mass * terms.curvature, mass * terms.gradient
        w = point.w[self.columns]
        inner = self._sweep_tolerance(w, h, goal)
        if self._on_gram():
            new, shift = self._solve_gram(w, h, q, inner, control)
        else:
            new, shift = self._solve_columns(w, h, q.copy(), inner, control)
        dw = new - w
        dz = self.design.matvec(dw) + shift
        decrease = -dot(q, dz) - self.form.value(new) + self.form.value(w)
        decrease -= 0.5 * dot(h, dz * dz)
        t, moved = line_search(
            objective, self.form, Point(w, point.b, point.z), dw, dz, shift
        )
        full = np.zeros_like(point.w)
        # The model's own zeros are kept exactly: w + 1·(new − w) need not be new in floating point.
        full[self.columns] = new if t == 1.0 else moved.w
        dual = terms.gradient + terms.curvature * dz if t == 1.0 else None
        return recentred(objective, Point(full, moved.b, moved.z)), dual, decrease

    def _on_gram(self) -> bool:
        return self.columns.size <= _GRAM_COLUMNS and not self.design.sparse

    def _solve_gram(
        self, w: Array, h: Array, q: Array, tol: float, control: Control
    ) -> tuple[Array, float]:
        """Descent and Newton polish on the centred Gram of the columns."""
        gram = self.design.gram(h)
        slope = self.design.rmatvec(q)
        total = float(h.sum())
        first = np.zeros_like(w)
        if self.objective.intercept and total > 0:
            first = self.design.moments(h).first
            gram -= np.outer(first, first / total)
            slope = slope - first * (float(q.sum()) / total)
        model = Quadratic(gram, slope - gram @ w)
        new = w.copy()
        for _ in range(50):
            done = model.descend(self.form, new, 20, tol)
            if done.decrease <= tol or control.expired:
                break
            model.polish(self.form, new)
        model.polish(self.form, new)
        shift = 0.0
        if self.objective.intercept and total > 0:
            shift = -(dot(first, new - w) + float(q.sum())) / total
        return new, shift

    def _solve_columns(
        self, w: Array, h: Array, q: Array, tol: float, control: Control
    ) -> tuple[Array, float]:
        """Descent on the columns themselves."""
        everything = np.arange(self.columns.size)
        model = Weighted(self.design, everything, h, q, self.objective.intercept)
        new = w.copy()
        shift = 0.0
        for _ in range(100):
            done = model.descend(self.form, new, 50, tol)
            shift += done.shift
            if done.decrease <= tol or control.expired:
                break
        return new, shift
