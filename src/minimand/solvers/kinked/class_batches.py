"""One-versus-rest by dual ascent: classes in batches, a row is read once for all of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...canonical import MOST_CLASSES, DualBatch, RowDual
from ...certificate import Judgement, judge_together
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..alike import alike
from ..base import Control, Start
from ..batches import Batches
from .dual import SHARE, SLOW, dual_of, epochs_of

_EPOCHS = 12  # sweeps between two checks of the pace; safeguard
_ONE_VECTOR = 4  # classes up to which there is one batch, as they fit a vector; definition
_BY_ROW = 5  # numbers per row and class: mass, shift, slope, score, θ; definition
_BY_COLUMN = 3  # the same per column: coefficients twice, slope; definition


class Begun(NamedTuple):
    """The dual of a class after the sweeps of its batch, and the judgement of its model."""

    form: RowDual
    judgement: Judgement


def class_batches(objectives: Sequence[Objective], starts: Sequence[Start]) -> Batches[Begun]:
    """The classes in batches, each ascended when the first of it is asked for."""
    return Batches(objectives, starts, members(len(objectives)), _train)


def members(count: int) -> list[list[int]]:
    """Numbers of the classes of every batch.

    Two neighbouring classes are in different batches, so that two threads that take the classes in
    their order train two batches at a time. The batches do not depend on the number of threads, and
    few of them are in memory at once.
    """
    if count <= _ONE_VECTOR:
        return [list(range(count))]
    pairs = -(-count // (2 * MOST_CLASSES))
    ends = [count * k // pairs for k in range(pairs + 1)]
    spans = [range(*span) for span in pairwise(ends)]
    return [list(span[side::2]) for span in spans for side in (0, 1)]


def _train(objectives: list[Objective], starts: list[Start], control: Control) -> list[Begun]:
    """The classes of a batch after their common sweeps; none if the batch is not possible."""
    first, count = objectives[0], len(objectives)
    n, d = first.design.shape
    needed = 8.0 * count * (_BY_ROW * n + _BY_COLUMN * d)
    if count == 1 or needed > control.memory or not all(alike(first, o) for o in objectives):
        return []
    forms = [
        dual_of(o, o.null if start is None else o.point(np.array(start[0]), float(start[1])))
        for o, start in zip(objectives, starts)
    ]
    together = DualBatch(forms)
    _ascend(together, objectives, control)
    together.unpack()
    points = _points(together, objectives)
    thetas = [form.loss.sign * form.v for form in forms]
    found = judge_together(objectives, points, thetas)
    return [Begun(form, judgement) for form, judgement in zip(forms, found)]


def _ascend(together: DualBatch, objectives: list[Objective], control: Control) -> None:
    """Sweeps until every class has reached its goal, or is better off by itself."""
    goals = SHARE * control.tol * np.array([objective.scale for objective in objectives])
    left = epochs_of(objectives[0].design.nnz * len(objectives))
    before = np.full(goals.size, np.inf)
    while left > 0:
        found = together.ascend(min(left, _EPOCHS), goals)
        left -= _EPOCHS
        for objective in objectives:
            objective.meter.passes += 2.0 * found.sweeps / len(objectives)
        if control.expired or not found.worthwhile:
            return
        if ((found.gaps <= goals) | (found.gaps > SLOW * before)).all():
            return
        before = found.gaps


def _points(together: DualBatch, objectives: list[Objective]) -> list[Point]:
    """The models with their scores, from one product."""
    count = len(objectives)
    products = np.ascontiguousarray(objectives[0].design.matvec(together.w).T[:count])
    found = []
    for objective, form, product in zip(objectives, together.forms, products):
        objective.meter.passes += 1.0 / count
        w = form.w.copy()
        z = product + form.b
        if objective.offset is not None:
            z += objective.offset
        objective.keep_product(w, product)
        found.append(recentred(objective, Point(w, form.b, z)))
    return found
