"""Proximal Newton on working sets of groups: norms of groups, and matrices of coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..._base.typing import Array
from ...certificate import Finding, Judgement, judge
from ...losses import Terms
from ...penalties import Grouped
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point, dot
from .. import costs
from ..base import Control, Solver, Verdict
from ..steps.all_columns import all_at_once, fit_at_once
from ..steps.line_search import Caution, line_search
from ..traits import Trait
from .group_choice import best_groups
from .group_models import Step, is_flat
from .group_parts import Coefficients, Features, Part, best_coefficients
from .levels import levelled

_ROUNDS = 1000  # rounds; safeguard
_NEWTON_STEPS = 20  # Newton steps of a round; safeguard
_SLOW = 0.7  # share of the gap left by a round, above which the next is more accurate; safeguard
_FINEST = 1e-6  # the least factor of the accuracy; safeguard
_LATE = 0.05  # share of the scale: gap below which the groups are nearly right; safeguard


class WorkingGroups(Solver):
    """Solves on a few groups, checks all of them, and repeats.

    One round: select the groups whose slopes exceed their norms most; take proximal Newton steps on
    their features, each a quadratic with group penalties, minimised by compiled descent over groups
    and Newton steps on those that are not zero; then one pass over all columns judges the point.
    With k scores per row, a feature takes part with all of its coefficients; without norms, single
    coefficients do.
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
        zeros = form.makes_zeros and form.groups.count > 1  # a single group takes all columns
        return Verdict(True, words, costs.working_groups(objective, zeros=zeros))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Finding]:
        """Rounds of: choose groups, solve on them, judge."""
        form = objective.penalty.sum_over_groups
        assert form is not None
        strengths = fit_at_once(objective)
        if strengths is not None:
            for found in all_at_once(objective, strengths, control, start):
                yield found
                start = found.point  # the rounds below go on from here, if a gap is left
        judgement = judge(objective, recentred(objective, levelled(objective, start)))
        yield judgement
        caution, accuracy = Caution(), 1.0
        for _ in range(_ROUNDS):
            part, before = _part(objective, judgement, form), judgement.promise
            inner = _Restricted(objective, part, caution, before, accuracy)
            point, dual = inner.solve(judgement, control)
            duals, known = [] if dual is None else [dual], [judgement.dual]
            judgement = judge(objective, point, duals, known=known)
            yield judgement
            # The estimate that ends a round may be far below the gap, if columns differ in size.
            slow = judgement.promise > _SLOW * before
            accuracy = max(0.1 * accuracy, _FINEST) if slow else min(10.0 * accuracy, 1.0)


def _part(objective: Objective, judgement: Judgement, form: Grouped) -> Part:
    """The coefficients of the next round."""
    by_coefficient = objective.penalty.sum_over_features
    if by_coefficient is not None and objective.n_scores > 1:
        places = best_coefficients(judgement, by_coefficient)
        if places is not None:
            return Coefficients.chosen(objective, by_coefficient, places)
    factor = 4 if judgement.promise > _LATE * objective.scale else 2
    return Features.chosen(objective, form, best_groups(objective, judgement, form, factor))


@dataclass(frozen=True, eq=False)
class _Restricted:
    """The problem on a part of the coefficients; the others are fixed at zero."""

    objective: Objective
    part: Part
    caution: Caution
    gap: float  # the gap when the part was selected
    accuracy: float  # factor of the accuracy that a round aims at

    def solve(self, judged: Judgement, control: Control) -> tuple[Point, Array | None]:
        """Proximal Newton steps until the model promises little; the last one's dual point."""
        objective, dual, point = self.objective, None, judged.point
        early = not self.part.everything and self.gap > _LATE * objective.scale
        share = 0.1 if early else 5e-4  # of the gap; later, accuracy saves whole rounds
        goal = self.accuracy * max(0.3 * control.target, share * min(self.gap, objective.scale))
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
        objective, part = self.objective, self.part
        curvature = self.caution.curvature(objective, point, terms)
        q, w = objective.weigh(terms.gradient), part.of(point.w)
        step = Step(objective, part.design, curvature, q, goal)
        new, shift = part.minimiser(step, w, control)
        dw = new - w
        dz = part.scores(dw) + shift
        objective.meter.passes += part.design.shape[1] / objective.n_features
        if objective.loss.quadratic:  # then the model is the problem itself
            end = Point(part.into(point.w, new), point.b + shift, point.z + dz)
            return recentred(objective, end), None, 0.0
        fall = part.form.value(w) - part.form.value(new)
        decrease = fall - dot(q, dz) - 0.5 * dot(step.weighted.times(dz), dz)
        here = Point(w, point.b, point.z)
        t, moved = line_search(objective, part.form, here, dw, dz, shift)
        if not dw.any():
            t = 0.0  # on flat pieces of the loss the model may have no slope at all
        if not self.caution.learn(t):
            return point, None, np.inf
        # Zeros of the model are kept exactly: with rounding, w + 1·(new − w) may differ from new.
        full = part.into(point.w, new if t == 1.0 else moved.w)
        dual = terms.gradient + curvature.times(dz)  # that of the model
        new_point = levelled(objective, Point(full, moved.b, moved.z))
        return recentred(objective, new_point), dual, decrease
