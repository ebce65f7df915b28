"""Multinomial problems in which some classes have no sample: they are solved without these.

With a free intercept there is no minimiser: the intercept of an absent class falls for ever, and
its coefficients are 0. The problem of the other classes has one. The absent classes then get an
intercept so low that their probabilities on the training data are a rounding error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._base.typing import Array, IntArray
from ...audit.foreign.objectives import Problem
from ...estimators.problem import stacked
from ...problem.objective import Objective
from ...solvers import Solution
from ..base import Fit, moved

_LOW = float(np.log(np.finfo(float).eps))  # of a score: its probability is below an ulp of 1


@dataclass(frozen=True)
class PresentClasses(Problem):
    """The problem of the classes that occur; models have rows for all classes of the ``whole``."""

    whole: Problem | None = None
    present: IntArray | None = None

    def points(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Without the rows of absent classes."""
        w, b = super().points(coef, intercept)
        return w[self.present], b[self.present]

    def attributes(self, w: Array, b: Array) -> tuple[Array, Array]:
        """With zeros and low intercepts for absent classes; all intercepts add up to 0."""
        assert self.whole is not None
        z = self.objectives[0].point(np.ascontiguousarray(w.T), b).z
        shape = self.whole.objectives[0].coef_shape
        low = float(z.max(axis=1).min()) + _LOW
        coef, intercept = np.zeros(shape[::-1]), np.full(shape[1], low)
        coef[self.present], intercept[self.present] = w, b
        return super().attributes(coef, intercept - intercept.mean())


def of_present_classes(problem: Problem) -> Problem:
    """The problem without absent classes; itself if there are none, or no free intercept."""
    objective = problem.objectives[0]
    if objective.n_scores == 1 or objective.loss.target != "class" or not objective.intercept:
        return problem
    present, y = np.unique(objective.y, return_inverse=True)
    if present.size == objective.n_scores:
        return problem
    return PresentClasses(
        [_without(problem, objective, y.astype(float), present.size)],
        problem.settings,
        problem.constant,
        problem.mean_weights,
        whole=problem,
        present=present.astype(int),
    )


def _without(problem: Problem, objective: Objective, y: Array, k: int) -> Objective:
    """The objective of k classes with other numbers."""
    settings = problem.settings
    penalty = settings.penalty.bind((objective.n_features, k), settings.factor)
    return replace(objective, y=y, penalty=penalty, n_scores=k, path_facts=None, known=None)


def in_all_classes(fit: Fit) -> Fit:
    """The fit as one of all classes, judged there: no law of the dual has an absent class."""
    problem = fit.problem
    if not isinstance(problem, PresentClasses):
        return fit
    assert problem.whole is not None
    (solution,), (objective,) = fit.solutions, problem.whole.objectives
    w, b = problem.attributes(*stacked([(solution.w, solution.b)]))
    found = moved(objective, _with_dual(solution, problem, objective), w.T.copy(), b)
    return Fit(problem.whole, [found], fit.dtype)


def _with_dual(solution: Solution, problem: PresentClasses, objective: Objective) -> Solution:
    """The solution with multipliers for all classes: 0 for absent ones."""
    old = solution.certificate
    if old.dual_point is None:
        return solution
    theta = np.zeros((objective.n_samples, objective.n_scores))
    theta[:, problem.present] = old.dual_point.reshape(objective.n_samples, -1)
    return replace(solution, certificate=replace(old, dual_point=theta))
