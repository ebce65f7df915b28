"""Proximal Newton on working sets of groups: norms of groups, and matrices of coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..._base.typing import Array, IntArray
from ...canonical import Runs
from ...certificate import Judgement, judge
from ...design import Design
from ...losses import Terms
from ...penalties import Grouped
from ...problem.objective import Objective, Point, dot
from .. import costs
from ..base import Control, Solver, Verdict
from ..steps.line_search import Caution, line_search, recentred
from ..traits import Trait
from .group_choice import best_groups
from .group_models import Step, is_flat, minimiser

_ROUNDS = 1000  # rounds; safeguard
_NEWTON_STEPS = 20  # Newton steps of a round; safeguard
_LATE = 0.05  # share of the scale: gap below which the groups are nearly right; safeguard


class WorkingGroups(Solver):
    """Solves on a few groups, checks all of them, and repeats.

    One round: select the groups whose slopes exceed their norms most; take proximal Newton steps on
    their features, each a quadratic with group penalties, minimised by compiled descent over groups
    and Newton steps on those that are not zero; then one pass over all columns judges the point.
    With k scores per row, a feature takes part with all of its coefficients.
    """

    name = "working_groups"
    shapes = (Trait.COLUMNS,)
    needs = Trait.SMOOTH, Trait.SUM_OVER_GROUPS
    least_cost = costs.LEAST_WORKING_SET

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses; sums over groups of features, and over any groups of few coefficients."""
        form = objective.penalty.sum_over_groups
        assert form is not None
        if objective.n_scores == 1 and objective.penalty.sum_over_features is not None:
            return Verdict(False, "the penalty is a sum over features: 'working_set' takes it")
        if form.by_rows is None and not is_flat(objective, objective.n_features):
            words = "the groups divide the coefficients of a feature, and there are too many of"
            return Verdict(False, f"{words} these to be solved together")
        words = "smooth loss and a sum over groups of coefficients"
        return Verdict(True, words, costs.working_groups(objective, zeros=form.makes_zeros))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Rounds of: choose groups, solve on them, judge."""
        form = objective.penalty.sum_over_groups
        assert form is not None
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        caution = Caution()
        for _ in range(_ROUNDS):
            early = judgement.promise > _LATE * objective.scale
            features = best_groups(objective, judgement, form, 4 if early else 2)
            inner = _Restricted.to(objective, form, features, caution, judgement.promise)
            point, dual = inner.solve(judgement, control)
            duals, known = [] if dual is None else [dual], [judgement.dual]
            judgement = judge(objective, point, duals, known=known)
            yield judgement


@dataclass(frozen=True, eq=False)
class _Restricted:
    """The problem on some features; the coefficients of the others are fixed at zero."""

    objective: Objective
    form: Grouped  # of all features
    runs: Runs
    design: Design  # the columns in the order of the groups
    caution: Caution
    gap: float  # the gap when the features were selected

    @classmethod
    def to(
        cls,
        objective: Objective,
        form: Grouped,
        features: IntArray,
        caution: Caution,
        gap: float,
    ) -> _Restricted:
        runs = Runs.of_numbers(form) if form.by_rows is None else Runs.of(form, features)
        order = runs.order if form.by_rows is not None else np.arange(objective.n_features)
        whole = np.array_equal(order, np.arange(objective.n_features))
        design = objective.design if whole else objective.design.columns(order)
        return cls(objective, form, runs, design, caution, gap)

    @property
    def features(self) -> IntArray:
        """The features of the gathered columns."""
        if self.form.by_rows is not None:
            return self.runs.order
        return np.arange(self.objective.n_features)

    def solve(self, judged: Judgement, control: Control) -> tuple[Point, Array | None]:
        """Proximal Newton steps until the model promises little; the last one's dual point."""
        objective, dual, point = self.objective, None, judged.point
        early = self.features.size < objective.n_features and self.gap > _LATE * objective.scale
        share = 0.1 if early else 5e-4  # of the gap; later, accuracy saves whole rounds
        goal = max(0.3 * control.target, share * min(self.gap, objective.scale))
        for _ in range(_NEWTON_STEPS):
            terms = judged.terms if point is judged.point else objective.terms(point.z)
            point, dual, decrease = self._newton(point, terms, goal, control)
            if objective.loss.quadratic:
                break
            wrong = self.caution.wrong(decrease, objective.scale)
            self.caution.observe(decrease, objective.scale)
            if wrong <= goal or control.expired:
                break
        return point, dual

    def _newton(
        self, point: Point, terms: Terms, goal: float, control: Control
    ) -> tuple[Point, Array | None, float]:
        objective, features = self.objective, self.features
        curvature = self.caution.curvature(objective, point, terms)
        q = objective.weigh(terms.gradient)
        w = point.w[features]
        step = Step(objective, self.design, curvature, q, goal)
        new, shift = minimiser(step, self.runs, w, flat=self.form.by_rows is None, control=control)
        dw, full = new - w, point.w.copy()
        dz = self.design.matvec(dw) + shift
        objective.meter.passes += features.size / objective.n_features
        change = np.zeros_like(point.w)
        change[features] = dw
        full[features] = new
        if objective.loss.quadratic:  # then the model is the problem itself
            end = Point(full, point.b + shift, point.z + dz)
            return recentred(objective, end), None, 0.0
        fall = self.form.value(point.w) - self.form.value(full)
        bend = dot(step.weighted.times(dz), dz)
        decrease = fall - dot(q, dz) - 0.5 * bend
        t, moved = line_search(objective, self.form, point, change, dz, shift)
        if not dw.any():
            t = 0.0  # on flat pieces of the loss the model may have no slope at all
        if not self.caution.learn(t):
            return point, None, np.inf
        # Zeros of the model are kept exactly: with rounding, w + 1·(new − w) may differ from new.
        w = full if t == 1.0 else moved.w
        dual = terms.gradient + curvature.times(dz)  # that of the model
        return recentred(objective, Point(w, moved.b, moved.z)), dual, decrease
