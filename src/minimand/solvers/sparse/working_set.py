"""Proximal Newton on working sets, for a smooth loss and a penalty with an l1 part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array, IntArray
from ..._core import dot
from ...canonical import Weighted
from ...certificate import Finding, Judgement, judge
from ...design import Design, Reach
from ...losses import Terms
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..steps import few_columns
from ..steps.all_columns import all_at_once, fit_at_once
from ..steps.line_search import Caution, line_search
from ..traits import Trait
from .next_columns import best_columns, first_columns, support_size
from .support_newton import gram_minimiser, polish_on_columns, polish_on_gram, sweeps_first

_GRAM_COLUMNS = 1500  # columns, up to which a working set may be solved on its Gram; safeguard
_SHORT_ROWS = 25  # stored numbers per row, up to which a sparse Gram is cheap; safeguard
_CHEAP = 1e6  # stored numbers times columns, up to which any Gram is formed; safeguard
_ROUNDS = 1000  # rounds; safeguard
_NEWTON_STEPS = 20  # Newton steps of a round; safeguard
_FIRST_SWEEPS = 2  # sweeps after which the gain of a Newton step is known well; safeguard
_SWEEPS = 4  # sweeps between two looks at the support, or steps on it; safeguard
_MOST_SWEEPS = 16  # sweeps of a Newton step while the support changes; safeguard
_SETTLED = 0.05  # share of the support that changes, up to which steps on it pay; measured as below
_FORCING = 0.3  # share of the error of a Newton step that sweeps may leave; measured on five
# texts made from three seeds (20000 and 50000 rows, Zipf's and equal frequencies) and 20 newsgroups
_WASTED = 10  # share of the slopes that is wrong, per share of the support that is; measured there
_ROUGH, _FINE = 1e-2, 1e-12  # most and least share of energy that support steps leave; safeguard
_SLOW = 6  # rounds that do not halve the gap before interior points are tried; safeguard
_IDLE = 0.9  # factor of the gap since the last hand-over that is no progress; safeguard
_LATE = 0.05  # share of the scale: gap below which the support is nearly right; safeguard


class WorkingSet(Solver):
    """Solves on a few columns, checks all of them, and repeats.

    One round: select the columns with the largest |∂ⱼL|/l1ⱼ, the ratio that also scales the dual
    point; take proximal Newton steps on them, each a weighted quadratic solved by compiled
    coordinate descent and Newton steps on the support (on the Gram or on the columns); then
    one pass over all columns judges the point and scores the next working set.
    """

    name = "working_set"
    heirs = ("primal_dual",)
    needs = Trait.SMOOTH, Trait.SUM_OVER_FEATURES
    least_cost = costs.LEAST_WORKING_SET

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses; any separable penalty."""
        form = objective.penalty.sum_over_features
        assert form is not None
        if form.bounds is not None:
            words = "smooth loss and separable penalty with bounds"
        elif form.makes_zeros:
            words = "smooth loss and separable penalty with an l1 part"
        else:
            words = "separable penalty; without an l1 part Newton is faster"
        zeros = form.makes_zeros or form.bounds is not None
        return Verdict(True, words, costs.working_set(objective, zeros=zeros))

    def at_once(self, objective: Objective, control: Control) -> Iterator[Finding]:
        """On few columns in compiled code, without judgements on the way."""
        if objective.loss.quadratic or objective.path_facts or objective.penalty.has_constraints:
            return iter(())
        return few_columns.at_once(objective, control)

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Finding | HandOver]:
        """Rounds of: choose columns, solve on them, judge."""
        strengths = fit_at_once(objective)
        if strengths is not None:
            for found in all_at_once(objective, strengths, control, start):
                yield found
                start = found.point  # the rounds below go on from here, if a gap is left
        form = objective.penalty.sum_over_features
        assert form is not None
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        columns = first_columns(objective, judgement, form)
        caution = Caution()
        start = _forecast_point(objective, judgement)
        best, waited, handed = judgement.promise, 0, 0.0
        for _ in range(_ROUNDS):
            # Not kept in a variable: gathered columns are freed before others are gathered.
            size = support_size(form, start.w)
            point, dual = _Restricted.to(
                objective, form, columns, caution, judgement.promise, size
            ).solve(start, control, judgement)
            duals, known = [] if dual is None else [dual], [judgement.dual]
            del dual, judgement  # frees n numbers each, before the next are made
            judgement = judge(objective, point, duals, known=known)
            yield judgement
            early = judgement.promise > _LATE * objective.scale
            wanted = (4 if early else 2) * support_size(form, point.w)
            columns, start = best_columns(objective, judgement, form, wanted), point
            waited = 0 if judgement.promise < 0.5 * best else waited + 1
            best = min(best, judgement.promise)
            if waited >= _SLOW:
                if handed and best >= _IDLE * handed:
                    return  # neither the heir nor these rounds have made progress
                offer = HandOver(f"{_SLOW} rounds have not halved the gap", self.heirs)
                yield offer
                waited, handed = 0, best if offer.taken else 0.0


def _forecast_point(objective: Objective, judgement: Judgement) -> Point:
    """The forecast of a path, if that is better than the current point."""
    forecast = objective.path_facts.forecast if objective.path_facts else None
    if forecast is None:
        return judgement.point
    ahead = recentred(
        objective, objective.point(objective.penalty.project(forecast.w), judgement.point.b)
    )
    return ahead if objective.primal(ahead) < judgement.primal else judgement.point


class _Step(NamedTuple):
    """The quadratic model of a Newton step, and how much of the gap it may leave."""

    h: Array
    q: Array
    steep: float  # the largest curvature of the loss
    goal: float


@dataclass(frozen=True, eq=False)
class _Restricted:
    """The problem on some columns; the other coefficients are fixed at zero or at a bound."""

    objective: Objective
    form: Separable  # of these columns
    columns: IntArray
    design: Design  # the columns gathered, or the whole design if that costs too much
    caution: Caution
    spread: Array  # mean square of each column
    gap: float  # the gap when the columns were selected

    @classmethod
    def to(
        cls,
        objective: Objective,
        form: Separable,
        columns: IntArray,
        caution: Caution,
        gap: float,
        size: int,
    ) -> _Restricted:
        """``size`` is that of the support."""
        whole = columns.size == objective.n_features
        if not objective.design.sparse:
            # Descent needs contiguous columns; rows that are in memory are copied once for it.
            in_memory = objective.design.access.rows is Reach.CHEAP
            whole = whole and not (in_memory and sweeps_first(objective, columns.size, size))
        elif not whole and _sparse_rows(objective.design) and columns.size <= _GRAM_COLUMNS:
            whole = True  # its Gram is computed from the rows as they are
        elif not whole:
            # Gathered columns are contiguous, which speeds up descent if the copy is cheap.
            stored = int(objective.design.column_sizes[columns].sum())
            whole = 4 * stored > objective.design.nnz
        design = objective.design if whole else objective.design.columns(columns)
        spread = objective.spread[columns]
        return cls(objective, form.take(columns), columns, design, caution, spread, gap)

    @property
    def places(self) -> IntArray:
        """The positions of the columns in the design."""
        return np.arange(self.columns.size) if self._gathered else self.columns

    @property
    def _gathered(self) -> bool:
        """Whether the design has these columns only."""
        return self.design.shape[1] == self.columns.size

    def forward(self, dw: Array) -> Array:
        """X_c dw."""
        if self._gathered:
            return self.design.matvec(dw)
        full = np.zeros(self.design.shape[1])
        full[self.columns] = dw
        return self.design.matvec(full)

    @property
    def early(self) -> bool:
        """Whether the columns are probably not the right ones yet."""
        far = self.gap > _LATE * self.objective.scale
        return far and self.columns.size < self.objective.n_features

    def solve(
        self, point: Point, control: Control, judged: Judgement
    ) -> tuple[Point, Array | None]:
        """Proximal Newton steps until the model promises little gain; the last step's dual point.

        ``judged`` is the last judgement, which has the slopes of the loss if it is of this point.
        """
        objective = self.objective
        dual: Array | None = None
        share = 0.2 if self.early else 5e-4  # later, accuracy saves whole rounds
        goal = max(0.5 * control.target, share * min(self.gap, objective.scale))
        if objective.loss.quadratic:
            return self._minimised(point, judged, goal, control), None
        for _ in range(_NEWTON_STEPS):
            known = judged.terms if point is judged.point else None
            point, dual, decrease = self._newton(point, known, goal, control)
            wrong = self._wrong(decrease)
            self.caution.observe(decrease, objective.scale)
            if wrong <= goal or control.expired:
                break
        # Far from the end the gradient proves as much as the model, which would cost a pass.
        return point, None if self.early and wrong > control.target else dual

    def _minimised(self, point: Point, judged: Judgement, goal: float, control: Control) -> Point:
        """The minimiser for a quadratic loss, which is its own model: its curvature is 1."""
        objective, mass = self.objective, self.objective.mass
        same = point is judged.point
        gradient = judged.terms.gradient if same else objective.loss.gradient(point.z, objective.y)
        w, full = point.w[self.columns], point.w.copy()
        new, shift = self._solved(w, _Step(mass, mass * gradient, 1.0, goal), control)
        full[self.columns] = new
        del gradient  # frees n numbers before the scores are made
        z = self.forward(new - w)
        z += point.z
        z += shift
        return recentred(objective, Point(full, point.b + shift, z))

    def _sweep_tolerance(self, w: Array, steep: float, goal: float) -> float:
        """How small a sweep's decrease must be for the dual point to cost less than ``goal``.

        A decrease ε leaves slopes off by up to √(2cⱼε), cⱼ the curvature. With an l2 part that
        costs cⱼε/l2ⱼ of the gap; without, the dual point must be scaled by 1 − √(2cⱼε)/l1ⱼ, which
        costs about that share of Ω(w). In practice ε is spread over many coordinates, so a hundred
        times as much is small enough there. The factors 0.01, 0.1 and 50 are safeguards.
        """
        steep = max(steep, 1e-300)
        ridge, room = self._least
        tol = min(1e-2, 0.1 * ridge / steep) * goal
        if room < np.inf:
            share = goal / max(self.form.value(w), goal) if goal > 0 else 0.0
            tol = min(tol, 50.0 * (room / steep) * share**2)
        if self.form.bounds is not None:
            # A wrong slope costs the whole width of the box.
            width = self.form.bounds[1] - self.form.bounds[0]
            boxed = np.isfinite(width) & (self.form.l2 == 0)
            reach = width[boxed] ** 2 * (self.spread[boxed] * steep)
            tol = min(tol, 50.0 * goal**2 / max(float(reach.max(initial=0.0)), 1e-300))
        return max(tol, 1e-30 * goal)

    @cached_property
    def _least(self) -> tuple[float, float]:
        """The least l2ⱼ per mean square of a column, and where there is none the least l1ⱼ²."""
        spread, l1, l2 = self.spread + 1e-300, self.form.l1, self.form.l2
        curved, bounded = l2 > 0, self.form.l1_only
        ridge = np.min(l2[curved] / spread[curved], initial=np.inf)
        return float(ridge), float(np.min(l1[bounded] ** 2 / spread[bounded], initial=np.inf))

    def _newton(
        self, point: Point, known: Terms | None, goal: float, control: Control
    ) -> tuple[Point, Array | None, float]:
        objective = self.objective
        terms = objective.terms(point.z) if known is None else known
        curvature = self.caution.curvature(objective, point, terms)
        h, q = curvature.weighted(objective.mass).bound, objective.mass * terms.gradient
        step = _Step(h, q, curvature.max, goal)
        w, full = point.w[self.columns], point.w.copy()
        new, shift = self._solved(w, step, control)
        dw = new - w
        dz = self.forward(dw) + shift
        fall = self.form.value(w) - self.form.value(new)
        decrease = fall - dot(step.q, dz) - 0.5 * dot(step.h, dz * dz)
        del step
        here = Point(w, point.b, point.z)
        t, moved = line_search(objective, self.form, here, dw, dz, shift)
        if not dw.any():
            t = 0.0  # on flat pieces of the loss the model may have no slope at all
        if not self.caution.learn(t):
            return point, None, np.inf
        # Zeros of the model are kept exactly: with rounding, w + 1·(new − w) may differ from new.
        full[self.columns] = new if t == 1.0 else moved.w
        dual = terms.gradient + curvature.times(dz)  # that of the model
        del dz, terms, curvature
        return recentred(objective, Point(full, moved.b, moved.z)), dual, decrease

    def _solved(self, w: Array, step: _Step, control: Control) -> tuple[Array, float]:
        """The minimiser of the model of a step, and the change of the intercept."""
        on_gram = self._on_gram(int(np.count_nonzero(w)))
        return (self._solve_gram if on_gram else self._solve_columns)(w, step, control)

    def _on_gram(self, size: int) -> bool:
        """Whether forming the Gram of all columns costs less than the sweeps that it saves.

        ``size`` is that of the support. A sparse Gram takes the squared number of stored entries of
        every row, which pays if rows are short in these columns.
        """
        if self.columns.size > _GRAM_COLUMNS:
            return False
        if not self.design.sparse:
            apart = self.design.access.columns is not Reach.CHEAP
            return apart or not sweeps_first(self.objective, self.columns.size, size)
        stored = float(self.objective.design.column_sizes[self.columns].sum())
        if stored * self.columns.size <= _CHEAP:
            return True  # at any cost: an active set may finish on it
        return _sparse_rows(self.design) and stored <= _SHORT_ROWS * self.objective.n_samples

    def _solve_gram(self, w: Array, step: _Step, control: Control) -> tuple[Array, float]:
        """The minimiser on the Gram of all these columns."""
        tol = self._sweep_tolerance(w, step.steep, step.goal)
        model = Weighted(self.design, self.places, step.h, step.q, self.objective.intercept)
        places = None if self._gathered else self.columns
        return gram_minimiser(model, places, self._slope(step.q), self.form, w, tol)

    def _slope(self, q: Array) -> Array:
        """X_cᵀq."""
        return self.design.rmatvec(q) if self._gathered else self.design.rmatvec_on(self.columns, q)

    def _solve_columns(self, w: Array, step: _Step, control: Control) -> tuple[Array, float]:
        """Descent on the columns themselves, with Newton steps on the support between sweeps."""
        model = Weighted(self.design, self.places, step.h, step.q.copy(), self.objective.intercept)
        new, shift, goal, enough = w.copy(), 0.0, step.goal, 0.0
        swept, sweeps = 0, _FIRST_SWEEPS
        quadratic = self.objective.loss.quadratic
        for _ in range(100):  # looks; safeguard
            tol, signs = self._sweep_tolerance(w, step.steep, goal), np.sign(new)
            done = model.descend(self.form, new, sweeps, max(tol, enough))
            shift, swept = shift + done.shift, swept + done.sweeps
            moved = None if step.h.all() else self.forward(new - w) + shift
            change = model.change(step.q, moved)
            wrong = self._wrong(self.form.value(w) - self.form.value(new) - change)
            enough = max(tol, _FORCING * wrong)
            # A Newton step that gains so little has the right columns, however large the gap is;
            # of a quadratic loss this is not known.
            last = not (self.early and quadratic) and wrong <= 0.5 * control.target
            if last:
                # The model is good enough for the certificate, so its minimiser must be, too.
                goal = 0.5 * control.target
                enough = self._sweep_tolerance(w, step.steep, goal)
            if done.decrease <= enough or control.expired:
                break
            size = max(int(np.count_nonzero(new)), 1)
            changed = int(np.count_nonzero(np.sign(new) != signs)) / size
            if changed > _SETTLED:
                if swept < _MOST_SWEEPS:
                    sweeps = _SWEEPS
                    continue
                if wrong > 0.5 * control.target:
                    break  # a support that is not the right one is not worth more
            slope = self._slope(model.q)
            price = self._price(slope, new)
            if price <= 1.8 * goal:  # 1.8: factor of the goal; safeguard
                break
            left = min(price, self.gap)
            wanted = 0.3 * goal / left if left > goal else 1.0  # 0.3: share of the goal; safeguard
            close = 0.1 * enough if last else enough  # 0.1: share; safeguard
            share = _share(max(wanted, _WASTED * changed))
            if self.design.sparse or size > _GRAM_COLUMNS:
                shift += polish_on_columns(model, self.form, new, self.spread, slope, close, share)
            else:
                shift += polish_on_gram(model, self.form, new, slope, close)
            if last and self._price(self._slope(model.q), new) <= 1.8 * goal:  # 1.8 as above
                break
            sweeps = _SWEEPS
        return new, shift

    def _price(self, slope: Array, w: Array) -> float:
        """The part of the gap that is due to too steep slopes, which scale the dual point."""
        if self.form.bounds is not None or not self.form.l1_only.all():
            return np.inf
        return (1.0 / self.form.shrink(slope) - 1.0) * self.form.value(w)

    def _wrong(self, gained: float) -> float:
        """The error of the model of a Newton step that has gained so much."""
        if self.objective.loss.quadratic:
            return 0.0
        return self.caution.wrong(gained, self.objective.scale)


def _share(wanted: float) -> float:
    """The share of its energy that a Newton step may leave, for a share of the gap.

    The gap is proportional to the largest slope, the energy to its square.
    """
    return min(max(wanted**2, _FINE), _ROUGH)


def _sparse_rows(design: Design) -> bool:
    """Whether sparse rows are contiguous, so that a Gram of some columns is cheap."""
    return design.sparse and design.access.rows is Reach.CHEAP
