"""The first step of stochastic training, by cross-validation on a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._base.typing import AnyArray, Array
from ...canonical.row_steps import Rule
from ...penalties import Separable
from ...problem.objective import Objective
from ..steps.line_search import recentred
from .learner import Learner, Steps

SAMPLE = 1000
_CLASSES = 8  # problems that the step of all of them is chosen by, at most
_PASSES = 2
_FACTORS = (4.0, 2.0)  # climb in long strides first
_MOST = 20  # strides in one direction


def first_step(
    objectives: Sequence[Objective],
    rows: AnyArray,
    plan: Callable[[float], Steps],
    start: tuple[Array, Array],
) -> float:
    """The step for which half of a sample, learnt in two passes, serves both halves best.

    Problems that differ in y alone share one step. Training starts from coefficients (k, d) and
    intercepts (k,): a model that is good already asks for short steps.

    ``plan`` makes a schedule of a first step. From a guess on the scale of the data the search
    climbs by factors of 4, then of 2, while the held-out loss falls.
    """
    some = slice(None, None, -(-len(objectives) // _CLASSES))
    sample = np.sort(rows[:SAMPLE])
    problems, columns = _on_sample(objectives[some], sample)
    begin = start[0][some][:, columns], start[1][some]
    places = np.searchsorted(sample, rows[:SAMPLE])
    halves = [np.sort(places[0::2]), np.sort(places[1::2])]
    if not halves[1].size:
        halves[1] = halves[0]
    parts = [[problem.on_rows(half) for problem in problems] for half in halves]
    scores: dict[float, float] = {}

    def score(step: float) -> float:
        if step not in scores:
            scores[step] = sum(_held_out(problems, part, plan(step), begin) for part in parts)
        return scores[step]

    best = _guess(problems[0], plan)
    if all(np.ptp(problem.y) == 0 for problem in problems):
        return best  # one class, or one number: an intercept would do, and no step be too short
    for factor in _FACTORS:
        for direction in (factor, 1.0 / factor):
            for _ in range(_MOST):
                if not score(best * direction) < score(best):
                    break
                best *= direction
    return best


def _on_sample(
    objectives: Sequence[Objective], sample: AnyArray
) -> tuple[list[Objective], AnyArray | slice]:
    """The problems on the rows of the sample, and of wide ones on the columns that it meets."""
    problems = [objective.on_rows(sample) for objective in objectives]
    design = problems[0].design
    met = np.flatnonzero(design.column_sizes) if design.sparse else np.arange(design.shape[1])
    if 2 * met.size > design.shape[1]:
        return problems, slice(None)
    form = objectives[0].penalty.sum_over_features
    assert form is not None
    penalty = Separable(form.l1[met], form.l2[met])
    return [problem.with_penalty(penalty, columns=met) for problem in problems], met


def spread_of(objective: Objective) -> float:
    """About how far scores must move."""
    if objective.loss.target != "real":
        return 1.0
    return float(np.std(objective.y)) or 1.0


def _guess(sample: Objective, plan: Callable[[float], Steps]) -> float:
    """Half of how far scores must move; divided by ‖x‖² where rates know nothing of the units."""
    if plan(1.0).rule == Rule.ADAPTIVE:
        return 0.5 * spread_of(sample)
    square = float(sample.design.row_squares(np.ones(1)).mean()) + sample.intercept
    return 0.5 / square if square > 0 else 0.5


def _held_out(
    problems: Sequence[Objective],
    part: Sequence[Objective],
    steps: Steps,
    start: tuple[Array, Array],
) -> float:
    """The objectives on all of the sample, after two passes over one part of it.

    On rare features the other part alone would rather see nothing learnt at all, and to minimise
    the objective is what the steps are for.
    """
    n = part[0].n_samples
    learner = Learner.start(*start, steps.rule, sparse=part[0].design.sparse)
    for _ in range(_PASSES):
        learner.learn(part, np.ones(n), np.arange(n, dtype=np.uint32), steps)
    coefs, intercepts = learner.models(part[0], average=np.isfinite(steps.average_from))
    value = 0.0
    if problems[0].n_scores > 1:
        whole = problems[0].point(np.ascontiguousarray(coefs.T), intercepts)
        value = problems[0].primal(recentred(problems[0], whole))
        return value if np.isfinite(value) else np.inf
    for problem, w, shift in zip(problems, coefs, intercepts):
        value += problem.primal(recentred(problem, problem.point(w, float(shift))))
    return value if np.isfinite(value) else np.inf
