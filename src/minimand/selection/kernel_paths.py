"""Paths on a kernel: one factor of its matrix for all folds; what it leaves out is charged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.metrics._scorer import _BaseScorer

from .._base.typing import Array, IntArray
from ..estimators.kernel_machines.expansion import Judged, Remainder
from ..estimators.problem import Posed
from ..features import PivotedCholesky
from ..kernels import kernel_of
from ..problem.objective import Objective
from ..solvers import Control, RowPairs, Solution
from .stopping import attempted


@dataclass(frozen=True, eq=False)
class SharedFactor:
    """K ≈ LLᵀ of all samples.

    The rows of L that belong to training samples have their kernel matrix as inner products, and
    those of test samples give their scores L w. So folds differ in their rows only, as they do
    without a kernel, and need no factor and no values of the kernel.
    """

    mapped: PivotedCholesky
    X: Any  # all samples, as they were passed
    columns: Array  # L

    @classmethod
    def of(cls, probe: Any, problem: Posed, scorer: Any) -> Self | None:
        """From the problem of all samples; None where folds need a map of their own.

        That is where the kernel takes something from the training rows, where the factor was cut,
        and where a scorer may look at X.
        """
        mapped, kernel = probe.__dict__.get("features_"), None
        if isinstance(mapped, PivotedCholesky) and mapped.complete:
            kernel = kernel_of(probe.features)
        by_scores = scorer is None or isinstance(scorer, _BaseScorer)
        if kernel is None or kernel.unbound or not by_scores or probe.in_queries:
            return None
        return cls(mapped, problem.X, problem.mapped)

    def remainder(self, train: IntArray, weights: Array | None) -> Remainder:
        """What LLᵀ leaves out of the kernel matrix of some samples of positive weight."""
        kept = train if weights is None else train[np.flatnonzero(weights)]
        diagonal, sizes = self.mapped.remainder_[kept], self.mapped.sizes_[kept]
        return Remainder(self.mapped, self.X, diagonal, sizes, kept)


def charged(
    rest: Remainder | None,
    problem: Posed,
    alphas: Array,
    columns: list[list[Solution]],
    control: Control,
) -> list[list[Solution]]:
    """The solutions of every problem with the gap of the kernel itself, as after ``fit``.

    Without a remainder, because the features are no kernel, the solutions stay as they are. One
    that meets the tolerance on the features only has not converged. After a stop there is no time
    for values of the kernel: the gap then has a bound in their place, which is larger.
    """
    if rest is None:
        return columns
    penalty = problem.coded.settings.penalty
    found = []
    for objective, solutions in zip(problem.objectives, columns, strict=True):
        bound = (objective.bound(penalty, float(alpha)) for alpha in alphas)
        problems = [objective.with_penalty(each) for each, _ in zip(bound, solutions)]
        found.append(_charged(rest.of_problem(objective), problems, solutions, control))
    return found


def _charged(
    rest: Remainder, problems: list[Objective], solutions: list[Solution], control: Control
) -> list[Solution]:
    """The solutions of problems that differ in their penalties."""
    models = [Judged(o, s.point, s.certificate) for o, s in zip(problems, solutions)]
    why = "the rounding of the kernel matrix"
    if not rest.complete:
        why = f"the cut of the kernel matrix at {rest.mapped.rank_} columns"
    found, tol = [], control.tol
    certificates = rest.charged(models, tol, lambda compute: attempted(compute, control))
    for objective, old, certificate in zip(problems, solutions, certificates):
        new = old.certified(certificate)
        enough = max(tol * objective.scale, certificate.rounding)
        if new.converged and not certificate.gap <= enough:
            new = replace(new, converged=False, stopped_by=why)
        found.append(new)
    return found


def solver_on_factor(
    rest: Remainder | None, problem: Posed, alphas: Array, control: Control, solver: Any
) -> Any:
    """The solver of a path: steps of pairs of rows where "auto" works on a factor of a kernel.

    They are for losses of straight pieces under L2. Other solvers go on where they give up.
    """
    automatic = isinstance(solver, str) and solver == "auto"
    if rest is None or not automatic or not float(np.min(alphas)) > 0:
        return solver
    pairs, first = RowPairs(), problem.objectives[0]
    pairs.chosen = True
    penalty = first.bound(problem.coded.settings.penalty, float(alphas[0]))
    return pairs if pairs.verdict(first.with_penalty(penalty), control).ok else solver
