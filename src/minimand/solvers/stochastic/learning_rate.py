"""The first step of stochastic training, by cross-validation on a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._base.typing import AnyArray, Array
from ...canonical.row_steps import Rule
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective
from .learner import Learner, Steps

SAMPLE = 1000  # rows of the sample, at most; convention: the documentation of `Sgd` says it
_CLASSES = 8  # problems, at most, whose losses decide on the step that all of them share; safeguard
_PASSES = 2  # passes over one half of the sample; safeguard
_FACTORS = (4.0, 2.0)  # ratios of two steps that are compared, the greater one first; safeguard
_MOST = 20  # comparisons in one direction; safeguard
_SHARE = 0.5  # share of the way to the target that the first row goes at the guess; safeguard


def first_step(
    objectives: Sequence[Objective],
    rows: AnyArray,
    plan: Callable[[float], Steps],
    start: tuple[Array, Array],
) -> float:
    """The first step with which two passes over half of a sample give the best models.

    Models are compared by their objectives on the whole sample. Problems that differ in y alone
    share one step. Training starts from coefficients (k, d) and intercepts (k,), because a start
    near the optimum needs shorter steps.

    ``plan`` returns the schedule that belongs to a first step. The search begins at a guess from
    the scale of the data. It multiplies or divides the step by 4, later by 2, as long as the
    objective falls.
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
        return best  # y is constant: the intercept alone is optimal, so steps cannot be compared
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
    """The problems on the rows of the sample; of sparse data only columns with an entry there."""
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
    """The size of the scores of a good model: the spread of y, or 1 if y has no unit."""
    if objective.loss.target != "real":
        return 1.0
    return float(np.std(objective.y)) or 1.0


def _guess(sample: Objective, plan: Callable[[float], Steps]) -> float:
    """The step with which a row of mean length moves its own score half of the way.

    Adaptive rates are divided by the size of the columns already; others are divided by ‖x‖² here.
    """
    if plan(1.0).rule == Rule.ADAPTIVE:
        return _SHARE * spread_of(sample)
    square = float(sample.design.row_squares(np.ones(1)).mean()) + sample.intercept
    return _SHARE / square if square > 0 else _SHARE


def _held_out(
    problems: Sequence[Objective],
    part: Sequence[Objective],
    steps: Steps,
    start: tuple[Array, Array],
) -> float:
    """The sum of the objectives on the whole sample after two passes over one part of it.

    The other part alone would not do: a rare feature may have no entry in it, and then the shortest
    step would be the best one there.
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
