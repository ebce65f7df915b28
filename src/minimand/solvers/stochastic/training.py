"""Stochastic training, epoch by epoch: of one problem, or of the classes of one-versus-rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from ..._base.typing import AnyArray, Array
from ..._base.watch import interrupt
from ...losses.curvature import as_curvature, beside
from ...problem.objective import Objective, Point
from ..base import Control, Start
from ..steps.line_search import recentred
from .learner import Learner

if TYPE_CHECKING:
    from .sgd import Sgd

SMALL = 100_000  # stored numbers up to which every epoch is judged: that costs as much as an epoch
_PATIENCE = 3  # epochs without progress on held-out rows before training ends
HELD_OUT = f"early_stopping (the loss of held-out rows had not fallen for {_PATIENCE} epochs)"


class Training:
    """Passes over the rows for one problem of any scores, or for several that differ in y alone."""

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
        if not solver.shuffle:  # as a stream, which knows no null model
            null = [p is o.null for p, o in zip(starts, objectives)]
            coefs = [np.zeros_like(w) if new else w for w, new in zip(coefs, null)]
            intercepts = [np.zeros_like(b) if new else b for b, new in zip(intercepts, null)]
        start = np.vstack([w.T for w in coefs]), np.hstack(intercepts)
        self.steps = solver.steps_for(objectives, rows, random, start)
        sparse = objectives[0].design.sparse
        self.learner = Learner.start(*start, self.steps.rule, sparse=sparse)

    def epoch(self) -> None:
        """One pass; after Ctrl-C what it has learnt so far is the model."""
        order = self.solver.order_of(self.objectives[0], self.rows, self.random)
        try:
            self.learner.learn(self.objectives, self.weight, order, self.steps)
        except KeyboardInterrupt:
            interrupt()

    def points(self) -> list[Point]:
        """The averages, or the last models where they are better: rare features average slowly."""
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
    """Without small coefficients that an l1 penalty wants at zero, if that is better.

    Single rows pull coefficients away from zero wherever they are; all rows together say which of
    them a proximal step would end at zero. The smallest of these go: all, or half of them, ….
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
    """One-versus-rest problems, trained together when the first of them is asked for."""

    def __init__(
        self,
        solver: Sgd,
        objectives: Sequence[Objective],
        starts: Sequence[Start],
    ) -> None:
        self.solver, self.objectives, self.starts = solver, objectives, starts
        self._epochs: list[list[Point]] | None = None

    def points(self, objective: Objective, control: Control) -> list[Point]:
        """The models of one class, after every epoch where judging them is cheap, else the last."""
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
    """Rows that no step has seen: the best model on them, and whether that is long ago."""

    def __init__(self, objective: Objective, rows: AnyArray) -> None:
        self.objective, self.rows = objective, rows
        self.best: tuple[float, Point] | None = None
        self.waited = 0

    @property
    def over(self) -> bool:
        """Whether nothing has improved for some epochs."""
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
    """What every row weighs, one on average; exactly one where all weigh the same."""
    mass = objective.mass
    return np.ones(mass.size) if np.ptp(mass) == 0 else mass * mass.size
