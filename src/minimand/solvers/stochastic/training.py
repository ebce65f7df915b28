"""Stochastic training, epoch by epoch: of one problem, or of the classes of one-versus-rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from ..._base.typing import AnyArray, Array
from ..._base.watch import interrupt
from ...losses.curvature import as_curvature, beside
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Start
from .learner import Learner

if TYPE_CHECKING:
    from .sgd import Sgd

# A judgement takes about as long as an epoch, so only small data are judged after every epoch.
SMALL = 100_000  # stored numbers, up to which data are small; safeguard
_PATIENCE = 3  # epochs without progress on held-out rows before training ends; convention
HELD_OUT = f"early_stopping (the loss of held-out rows had not fallen for {_PATIENCE} epochs)"


class Training:
    """Passes over the rows, for one problem of any scores or several that differ in y alone."""

    def __init__(
        self,
        solver: Sgd,
        objectives: Sequence[Objective],
        starts: Sequence[Point],
        rows: AnyArray,
        random: Any,
    ) -> None:
        self.solver, self.objectives = solver, objectives
        self.rows, self.random = rows, random
        self.weight = weights_of(objectives[0])
        coefs, intercepts = [p.w for p in starts], [np.asarray(p.b) for p in starts]
        if not solver.shuffle:  # as in a stream, which begins before any null model is known
            null = [p is o.null for p, o in zip(starts, objectives)]
            coefs = [np.zeros_like(w) if new else w for w, new in zip(coefs, null)]
            intercepts = [np.zeros_like(b) if new else b for b, new in zip(intercepts, null)]
        start = np.vstack([w.T for w in coefs]), np.hstack(intercepts)
        self.steps = solver.steps_for(objectives, rows, random, start)
        sparse = objectives[0].design.sparse
        self.learner = Learner.start(*start, self.steps.rule, sparse=sparse)

    def epoch(self) -> None:
        """One pass over the rows; Ctrl-C ends the pass, and its steps so far are kept."""
        order = self.solver.order_of(self.objectives[0], self.rows, self.random)
        try:
            self.learner.learn(self.objectives, self.weight, order, self.steps)
        except KeyboardInterrupt:
            interrupt()

    def points(self) -> list[Point]:
        """The averaged models, or the last ones where their objective is lower.

        The coefficient of a rare feature was zero for most of the steps, so its average lags.
        """
        found = self._points(self.solver.average)
        if not self.solver.shuffle:
            return found
        if self.solver.average:
            pairs = zip(self.objectives, found, self._points(average=False))
            found = [last if o.primal(last) < o.primal(mean) else mean for o, mean, last in pairs]
        return [thinned(o, point) for o, point in zip(self.objectives, found)]

    def _points(self, average: bool) -> list[Point]:
        """The models on the data, in one product."""
        first = self.objectives[0]
        coefs, intercepts = self.learner.models(first, average)
        if first.n_scores > 1:
            point = first.point(np.ascontiguousarray(coefs.T), intercepts)
            return [self.solver.point_of(first, point)]
        scores = first.design.scores_of(coefs)
        scores += intercepts[:, None]
        if first.offset is not None:
            scores += first.offset
        found = []
        for objective, w, b, z in zip(self.objectives, coefs, intercepts, scores):
            objective.meter.passes += 1
            found.append(self.solver.point_of(objective, Point(w, float(b), z)))
        return found


def thinned(objective: Objective, point: Point) -> Point:
    """The model with some small coefficients set to zero, if that lowers the objective.

    Steps on single rows move coefficients away from zero although the l1 penalty would keep them
    there. A proximal step on all rows shows which coefficients should be zero. All of these are
    set to zero; if the objective rises, only the smaller half of them, and so on.
    """
    form = objective.penalty.sum_over_features
    if form is None or not (form.l1[point.w != 0] > 0).any():
        return point
    gradient, curvature = objective.loss.slopes(point.z, objective.y)
    slope = objective.backward(objective.weigh(gradient)) + form.l2 * point.w
    bend = beside(objective.spread, point.w) * as_curvature(curvature).max
    doubtful = (point.w != 0) & (np.abs(bend * point.w - slope) <= form.l1)
    places = np.flatnonzero(doubtful)
    places = places[np.argsort(np.abs(point.w.flat[places]), kind="stable")]
    value, count = objective.primal(point), places.size
    while count:
        w = point.w.copy()
        w.flat[places[:count]] = 0.0
        thin = recentred(objective, objective.point(w, point.b))
        if objective.primal(thin) < value:
            return thin
        count //= 2
    return point


class Classes:
    """One-versus-rest problems, which are trained together when the first one is solved."""

    def __init__(
        self,
        solver: Sgd,
        objectives: Sequence[Objective],
        starts: Sequence[Start],
    ) -> None:
        self.solver, self.objectives, self.starts = solver, objectives, starts
        self._epochs: list[list[Point]] | None = None

    def points(self, objective: Objective, control: Control) -> list[Point]:
        """The models of one class: after every epoch if the data are small, else the last one."""
        if self._epochs is None:
            self._epochs = list(self._train(control))
        i = next(i for i, known in enumerate(self.objectives) if known is objective)
        return [points[i] for points in self._epochs]

    def _train(self, control: Control) -> Iterator[list[Point]]:
        first = self.objectives[0]
        starts = [
            o.null if start is None else o.point(np.array(start[0], dtype=float), float(start[1]))
            for o, start in zip(self.objectives, self.starts)
        ]
        rows = np.arange(first.n_samples, dtype=np.uint32)
        random = check_random_state(control.random_state)
        training = Training(self.solver, self.objectives, starts, rows, random)
        epochs = self.solver.epochs_of(control)
        kept = epochs * len(self.objectives) * (first.n_features + first.n_samples)
        for epoch in range(1, epochs + 1):
            training.epoch()
            over = epoch == epochs or control.expired
            if over or max(first.design.nnz, kept) <= SMALL:
                yield training.points()
            if over:
                return


class HeldOut:
    """Rows without training steps, the best model on them, and how long ago it was found."""

    def __init__(self, objective: Objective, rows: AnyArray) -> None:
        self.objective, self.rows = objective, rows
        self.best: tuple[float, Point] | None = None
        self.waited = 0

    @property
    def over(self) -> bool:
        """Whether no model of the last epochs was better than an earlier one."""
        return self.waited >= _PATIENCE

    def better_of(self, point: Point) -> Point:
        """The better of this model and the best so far, by the mean loss."""
        z, mass = point.z[self.rows], self.objective.mass[self.rows]
        value = float(mass @ self.objective.loss.value(z, self.objective.y[self.rows]))
        self.waited += 1
        if self.best is None or value < self.best[0]:
            self.best, self.waited = (value, point), 0
        return self.best[1]


def weights_of(objective: Objective) -> Array:
    """The weights of the rows, with mean 1; exactly 1 if all masses are equal."""
    mass = objective.mass
    return np.ones(mass.size) if np.ptp(mass) == 0 else mass * mass.size
