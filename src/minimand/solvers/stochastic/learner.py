"""Models that learn row by row: their state between rows, and the models it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._base.typing import AnyArray, Array
from ..._base.watch import PIECE, pieces, reason
from ...canonical.row_steps import (
    EpochCourse,
    EpochRule,
    RowSteps,
    Rule,
    step_epochs,
    step_rows,
)
from ...losses import Logistic, Pieces
from ...penalties import Separable
from ...problem.objective import Objective
from .learner_fields import Layout

_PIECES, _LOGISTIC, _GIVEN = 0, 1, 2  # how slopes are found; definition: the core's SlopeKind
_NO_PIECES = Pieces([0.0], [0.0, 0.0]).parts
UNCOMPILED_BATCH = 8  # rows per step, at least, if slopes come from NumPy; convention
_STEP = 10.0  # nanoseconds per stored number and model, at most; measured on 2 cores at 2.5 GHz

Objectives = Objective | Sequence[Objective]
"""One problem, which may have several scores, or several of one score that differ in y alone."""


class Steps(NamedTuple):
    """The length of the t-th step: eta/(t0 + t)^power, unless the `Rule` defines another one.

    Online rules use only ``eta`` (η or C), ``average_from``, ``intercept_share`` and ``add_up``;
    they learn one row at a time, and all models count the same in their average.
    """

    eta: float
    t0: float = 0.0
    power: float = 0.0
    rule: Rule = Rule.PLAIN
    batch: int = 1
    average_from: float = 0.0  # the step from which on models are averaged; inf: never
    average_power: float = 1.0  # the t-th model has the weight t^power in the average
    intercept_step: float = np.inf  # the intercept's step is at most this/√t
    intercept_share: float = 1.0  # share of a step that the intercept takes; not for adaptive rates
    add_up: float = 0.0  # share of the penalty in what rows pay; 0: unknown: see `Learner.paid`
    rescale: bool = True  # adaptive: shrink a coefficient when its column has a new largest entry


class _Coded(NamedTuple):
    """The loss of every row as ψ(t), t = sign·(x·w + b) − shift."""

    kind: int
    parts: tuple[Array, Array, Array, Array, Array]
    sign: Array
    shift: Array


def compiled(objective: Objective) -> bool:
    """Whether the slope of a single row is known to the compiled passes."""
    return type(objective.loss) is Logistic or objective.loss.plq(objective.y[:1]) is not None


@dataclass
class Learner:
    """The state of models that learn row by row; `learn` changes it, `model`, `models` read it.

    Several models that differ in y alone, or the scores of one problem, learn side by side: every
    row is read once for all.
    """

    layout: Layout
    fields: Array
    scalars: Array

    @classmethod
    def start(
        cls,
        w: Array,
        b: float | Array,
        rule: Rule,
        *,
        sparse: bool = False,
        steps: float = 0.0,
    ) -> Learner:
        """A learner without any step yet, at a model (d,) or at several (k, d).

        ``sparse`` says which kind of rows is expected; for the other kind the numbers are laid out
        anew. ``steps`` is the number of the step at which the schedule begins.
        """
        w, b = np.atleast_2d(w), np.atleast_1d(b)
        together = sparse and w.shape[0] > 1 and not rule.online
        own = 3 if rule == Rule.ADAPTIVE else 1
        layout = Layout(w.shape[0], w.shape[1], rule, together, sparse, own)
        fields, scalars = layout.start(w, b, steps)
        return cls(layout, fields, scalars)

    def copy(self) -> Learner:
        """An independent copy."""
        return Learner(self.layout, self.fields.copy(), self.scalars.copy())

    @property
    def rule(self) -> Rule:
        """The kind of steps."""
        return self.layout.rule

    def learn(
        self,
        objectives: Objectives,
        weight: Array,
        order: AnyArray,
        steps: Steps,
        moves: Array | None = None,
    ) -> None:
        """One pass over some rows in this order, which a time limit may cut short.

        ``moves``, if given, counts for every row how often it moved the model of an online rule.
        """
        problems = several(objectives)
        first = problems[0]
        for problem in problems:
            problem.meter.passes += order.size / max(first.n_samples, 1)
        batch = steps.batch if compiled(first) else max(steps.batch, UNCOMPILED_BATCH)
        self._lay_out(first, steps)
        if batch == 1:
            coded = [_coded(problem) for problem in problems]
            left = first.loss.target == "sign"  # at a kink, the slope on the side of mistakes
            slopes = (coded[0].kind, coded[0].parts, np.empty(0), left)
            sign = self.layout.by_row([c.sign for c in coded])
            shift = self.layout.by_row([c.shift for c in coded])
            record = self._record(first, slopes, (sign, shift, weight, order), steps, 1.0)
            self._pass(first, record, moves)
            return
        n = first.n_samples
        ones = self.layout.by_row([np.ones(n)] * self.layout.models)
        zeros = np.zeros_like(ones)
        given = np.zeros_like(ones)
        for start in range(0, order.size, batch):
            if reason():
                return
            rows = order[start : start + batch]
            self.layout.set_rows(given, rows, self._slopes(problems, rows))
            slopes = (_GIVEN, _NO_PIECES, given, False)
            lines = (ones, zeros, weight, rows)
            self._pass(first, self._record(first, slopes, lines, steps, 1.0 / rows.size))

    def _lay_out(self, objective: Objective, steps: Steps) -> None:
        """Lay the numbers out anew if these steps, or rows of this kind, need other ones."""
        sparse = objective.design.sparse
        together = sparse and self.layout.models > 1 and not self.rule.online
        needed = 3 if _form(objective).l1.any() else 2 if np.isfinite(steps.average_from) else 1
        own = max(self.layout.own, needed)
        new = self.layout._replace(sparse=sparse, together=together, own=own)
        if new != self.layout:
            self.fields = new.fields_from(self.layout, self.fields)
            self.scalars = new.scalars_from(self.layout, self.scalars)
            self.layout = new

    def _slopes(self, problems: Sequence[Objective], rows: AnyArray) -> list[Array]:
        """∂ℓ/∂z of some rows at the present models."""
        order = np.sort(rows)
        first = problems[0]
        w, b = self.models(first, average=False)
        z = first.design.rows(order).matvec(np.ascontiguousarray(w.T)) + b
        if first.offset is not None:
            z += first.offset[order].reshape(order.size, -1)
        back = np.searchsorted(order, rows)
        if first.n_scores > 1:
            return list(first.loss.gradient(z, first.y[order])[back].T)
        return [
            p.loss.gradient(np.ascontiguousarray(z[:, i]), p.y[order])[back]
            for i, p in enumerate(problems)
        ]

    def _pass(self, objective: Objective, given: RowSteps, moves: Array | None = None) -> None:
        """Take the steps, some rows at a time, so that a fit can be stopped between them."""
        sign, shift, weight, order = given.rows
        fields, scalars = self.fields.reshape(-1), self.scalars.reshape(-1)
        counted = np.empty(0) if moves is None else moves
        each = _STEP * self.layout.models * objective.design.nnz / max(objective.n_samples, 1)
        for piece in pieces(order.size, each):
            some = given._replace(rows=(sign, shift, weight, order[piece]))
            step_rows(objective.design, some, fields, scalars, counted)

    def _record(
        self,
        objective: Objective,
        slopes: tuple[int, tuple[Array, Array, Array, Array, Array], Array, bool],
        rows: tuple[Array, Array, Array, AnyArray],
        steps: Steps,
        tick: float,
    ) -> RowSteps:
        """The steps as the compiled passes take them."""
        form = _form(objective)
        options = (
            float(steps.eta),
            float(steps.t0),
            float(steps.power),
            tick,
            float(steps.average_from),
            float(steps.average_power),
            float(steps.intercept_share) if objective.intercept else 0.0,
            float(steps.intercept_step),
            float(steps.add_up),
            steps.rescale,
        )
        models = (self.layout.groups, self.layout.group, self.layout.own)
        penalty = (_short(form.l1), _short(form.l2))
        return RowSteps(self.rule, models, slopes, rows, penalty, options)

    def short_epochs(self, objective: Objective, steps: Steps) -> int:
        """Passes that one compiled call may take; 0 if they must be called one by one.

        That is so where a pass takes long, and where slopes come from NumPy.
        """
        one = self.layout.models == 1 and self.rule != Rule.ADAPTIVE and steps.batch == 1
        if not one or not compiled(objective):
            return 0
        return int(PIECE / (_STEP * max(objective.design.nnz, 1)))

    def learn_epochs(
        self,
        objective: Objective,
        weight: Array,
        order: AnyArray,
        steps: Steps,
        rule: EpochRule,
        course: EpochCourse,
    ) -> EpochCourse:
        """Passes over rows, which are shuffled in place, until the rule ends them."""
        self._lay_out(objective, steps)
        coded = _coded(objective)
        left = objective.loss.target == "sign"
        slopes = (coded.kind, coded.parts, np.empty(0), left)
        rows = (coded.sign, coded.shift, weight, order)
        given = self._record(objective, slopes, rows, steps, 1.0)
        fields, scalars = self.fields.reshape(-1), self.scalars.reshape(-1)
        found = step_epochs(objective.design, given, fields, scalars, np.empty(0), rule, course)
        share = order.size / max(objective.n_samples, 1)
        objective.meter.passes += share * (found.done - course.done)
        return found

    def paid(self) -> Array:
        """What the rows paid to every model since the last call, each before its step.

        The compiled passes compute it if the steps have ``add_up``. As in scikit-learn it is the
        loss without the row's weight, and the penalty as it was when the model moved last; plain
        steps then measured the coefficients of that row's entries only: all of them, if X is dense.
        Rates that adapt pay no penalty.
        """
        return self.layout.paid(self.scalars)

    def measure(self) -> None:
        """Measure all coefficients, for what the first rows of a fit pay: see `paid`."""
        self.layout.measure(self.fields, self.scalars)

    def forget_penalty(self) -> None:
        """Forget the l1 penalty applied so far, as at the beginning of every fit."""
        self.layout.forget_penalty(self.fields, self.scalars)

    def model(self, objective: Objective, average: bool) -> tuple[Array, float]:
        """(w, b) of the first model, or its average over the steps so far."""
        w, b = self.models(objective, average)
        return w[0], float(b[0])

    def models(self, objective: Objective, average: bool) -> tuple[Array, Array]:
        """Coefficients (k, d) and intercepts (k,) of the last step, or their averages.

        Under an l1 penalty, a coefficient that is zero in the last model is zero in the average.
        """
        if self.rule.online:
            return self._online(average)
        adaptive = self.rule == Rule.ADAPTIVE
        w, left, lag, b = self._adapted(objective) if adaptive else self._plain(objective)
        if not average:
            return w + 0.0, b
        _, held, _, count, _, b_sum = self.layout.clock(self.scalars)
        if count == 0.0:
            return w + 0.0, b
        mean = (held * left - lag) / count
        l1 = _form(objective).l1
        if l1.any():
            mean = np.where((left == 0) & (l1 > 0), 0.0, mean)
        return mean, b_sum / count

    def _online(self, average: bool) -> tuple[Array, Array]:
        """The models of online rules, which apply penalties at once.

        A step that moves the model by δ after k others were averaged is missing from these k, and
        adds k·δ to the lag: the mean of all K is w − lag/K.
        """
        _, _, _, count, b, b_lag = self.layout.clock(self.scalars)
        w = self.layout.values(self.fields)
        if not average or count == 0.0:
            return w, b
        return w - self.layout.lags(self.fields) / count, b - b_lag / count

    def _plain(self, objective: Objective) -> tuple[Array, Array, Array | float, Array]:
        """w, v, the lag of averages, and b, after all of the l1 penalty that is due."""
        layout, l1 = self.layout, _form(objective).l1
        now, held, scale, _, b, _ = layout.clock(self.scalars)
        v = left = layout.values(self.fields)
        lag = layout.lags(self.fields) if layout.own > 1 else 0.0
        if layout.own > 2 and l1.any():
            share = l1 / l1.max()
            due = share * now + np.sign(v) * layout.received(self.fields)
            debt, size = np.maximum(due, 0.0), np.abs(v)
            left = np.copysign(np.maximum(size - debt, 0.0), v)
            recent = share * (now - layout.seen(self.fields))
            less = _shortfall(size, debt, recent, share * layout.last_step(self.scalars))
            lag = lag + np.copysign(less * (held - layout.held_then(self.fields)), v)
            lag += held * (left - v)
        return scale * left, left, lag, b

    def _adapted(self, objective: Objective) -> tuple[Array, Array, Array | float, Array]:
        """What `_plain` gives, for adaptive steps: after all of both penalties that is due."""
        form, layout = _form(objective), self.layout
        now, held, _, _, b, _ = layout.clock(self.scalars)
        v, seen = layout.values(self.fields), layout.seen(self.fields)
        time = (now - seen) * layout.rates(self.fields)
        kept = np.copysign(np.maximum(np.abs(v) - form.l1 * time, 0.0), v) if form.l1.any() else v
        shrink = form.l2 * time
        left = kept / (1.0 + shrink)
        lag = layout.lags(self.fields) + held * (left - v)
        if now > 0:  # the mean of a coefficient while its penalty was due, as in the compiled pass
            between = 0.5 * (v + kept) * ((6.0 + shrink) / (6.0 + 4.0 * shrink))
            lag += held * (1.0 - (seen / now) ** 2) * (v - between)
        return left, left, lag, b


def _shortfall(size: Array, debt: Array, recent: Array, each: Array) -> Array:
    """By how much coefficients were smaller, on average, since their column last had an entry.

    As in the compiled pass: what was due before then is subtracted at once; after that, ``each`` is
    subtracted at every step until the coefficient is zero.
    """
    before = np.maximum(debt - recent, 0.0)
    grown, rest = debt - before, np.maximum(size - before, 0.0)
    gone = rest - 0.5 * rest * (rest - each) / np.where(grown > 0, grown, 1.0)
    less = np.minimum(np.where(grown < rest, 0.5 * (grown + each), gone), rest)
    return size - rest + np.where(grown > 0, less, 0.0)


def several(objectives: Objectives) -> Sequence[Objective]:
    """The problems as a sequence."""
    return [objectives] if isinstance(objectives, Objective) else objectives


def _form(objective: Objective) -> Separable:
    """The penalty of one score; `Sgd` takes only such as are the same for all of them."""
    form = objective.penalty.sum_over_features
    assert form is not None
    return form if form.l1.ndim == 1 else Separable(form.l1[:, 0], form.l2[:, 0])


def _short(factors: Array) -> Array:
    """One number where all are equal."""
    return factors[:1] if factors.size and (factors == factors[0]).all() else factors


def _coded(objective: Objective) -> _Coded:
    """The loss for the compiled passes; the offset becomes a part of the shift."""
    y, loss = objective.y, objective.loss
    plq = loss.plq(y) if loss.smooth else objective.kinks  # which it keeps from pass to pass
    if plq is not None:
        coded = _Coded(_PIECES, plq.pieces.parts, plq.sign, plq.shift)
    else:
        coded = _Coded(_LOGISTIC, _NO_PIECES, y, np.zeros_like(y))
    if objective.offset is None:
        return coded
    return coded._replace(shift=coded.shift - coded.sign * objective.offset)
