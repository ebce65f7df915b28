"""Scores of every fold at every alpha: by a formula if one applies, else by fitting."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..estimators import Regressor
from ..estimators.problem import Posed
from ..penalties import Strengths
from ..problem.objective import Objective
from . import leave_one_out
from .fold_sums import FoldSums
from .folds import CrossValidation, Outcome
from .kernel_paths import charged, solver_on_factor
from .path import Path, gathered, penalties_of, solved_along
from .results import Scores
from .samples import folds_of
from .stopping import attempted
from .training import trained


def cross_validate(
    task: CrossValidation, objectives: Sequence[Objective], jobs: int
) -> tuple[Scores, list[Outcome]]:
    """The scores, and the outcomes of the folds (none if a formula gave the scores).

    ``objectives`` are those of all data.
    """
    plain = task.scorer is None and task.measure is None
    if task.alone and plain and isinstance(task.estimator, Regressor):
        at_one = [penalties_of(task.settings, o)(o, 1.0) for o in objectives]
        if leave_one_out.applies(task.estimator, at_one, task.alphas):
            left = attempted(lambda: leave_one_out.residuals(at_one, task.alphas), task.control)
            if left is None:
                unknown = np.full((1, len(task.alphas)), np.nan)
                return Scores(task.alphas, unknown, np.ones(1), np.zeros(1, dtype=np.int64)), []
            return Scores(task.alphas, -0.5 * (left**2).sum(axis=0).T, at_one[0].mass), []
    if task.alone:
        task = replace(task, folds=folds_of("loo", task.estimator, task.samples, None))
    outcomes = replace(task, jobs=min(jobs, len(task.folds))).run()
    weights = [task.samples.weight_of(f.test) if task.alone else 1.0 for f in task.folds]
    by_fold = np.stack([outcome.scores for outcome in outcomes])
    reached = np.array([outcome.reached for outcome in outcomes])
    return Scores(task.alphas, by_fold, np.array(weights), reached), outcomes


def path_on_all(task: CrossValidation, problem: Posed, jobs: int) -> tuple[Path, int]:
    """The path on all data, and how many of its models miss the tolerance.

    It may take as much of the remaining time as a fold.
    """
    parts = 1 - (-len(task.folds) // jobs)
    began = time.perf_counter()
    probe, objectives = task.estimator, problem.objectives
    sums = None if task.sums is None else task.sums.whole
    rest = probe._remainder(problem)
    solver = solver_on_factor(rest, problem, task.alphas, task.control, probe.solver)
    columns = []
    for k, objective in enumerate(objectives):
        limits = task.control.share(parts + len(objectives) - k - 1)
        columns.append(solved_along(task.settings, objective, task.alphas, limits, solver, sums))
    columns, training = trained(
        task.settings, objectives, task.alphas, columns, problem.coded.weights, task.control.tol
    )
    columns = charged(rest, problem, task.alphas, columns, task.control)
    path = gathered(probe, objectives, task.alphas, columns, training)
    if task.verbose:
        seconds = time.perf_counter() - began
        print(f"Tuned: path on all data, {seconds:.2f} s", file=sys.stderr)
    return path, sum(not s.converged for column in columns for s in column)


def with_sums(task: CrossValidation, objective: Objective) -> CrossValidation:
    """The same task, with the sums over rows that folds share if these are cheaper than rows."""
    if not _share_sums(task, objective):
        return task
    sums = attempted(
        lambda: FoldSums(task.settings, objective, task.samples, task.folds), task.control
    )
    return replace(task, sums=sums)


def _share_sums(task: CrossValidation, objective: Objective) -> bool:
    """Whether folds differ in their rows only, and are few enough to keep a Gram of each."""
    estimator = task.estimator
    if task.alone or not isinstance(estimator, Regressor) or estimator.features is not None:
        return False
    if objective.n_scores > 1:
        penalty = objective.bound(task.settings.penalty, 1.0)
        if objective.design.sparse or Strengths.of([penalty]) is None:
            return False  # such models are solved on the rows
    return FoldSums.serve(objective, estimator.solver, task.folds)
