"""Support vectors, margins and slacks of the models of a path."""

from __future__ import annotations

from collections.abc import Sequence

from .._base.typing import Array
from ..estimators.settings import Settings
from ..estimators.support_vectors import Seen, Training, edge_of
from ..problem.objective import Meter, Objective
from ..solvers import Solution
from ..solvers.kinked.clear_multipliers import settled


def trained(
    settings: Settings,
    objectives: Sequence[Objective],
    alphas: Array,
    columns: list[list[Solution]],
    weights: Array | None,
    tol: float,
) -> tuple[list[list[Solution]], list[Training | None]]:
    """The solutions with cleared multipliers, as after `fit`, and a `Training` for every alpha.

    Only for losses with kinks or a margin: for other losses every sample is a support vector, and
    storing a number per sample and alpha would not be useful.
    """
    first = objectives[0]
    if first.kinks is None and edge_of(first.loss) is None:
        return columns, []
    kinked = first.kinks is not None
    found, seen = [], []
    for objective, solutions in zip(objectives, columns, strict=True):
        plain = []
        for alpha, solution in zip(alphas, solutions, strict=True):
            problem = objective.with_penalty(
                objective.bound(settings.penalty, float(alpha)),
                words=solution.certificate.objective,
                meter=Meter(solution.certificate.passes),
            )
            clear = settled(problem, solution, tol) if kinked else solution
            plain.append((clear, Seen.of(problem, clear)))
        found.append([clear for clear, _ in plain])
        seen.append([each for _, each in plain])
    return found, [Training.of_seen(problems, weights) for problems in zip(*seen, strict=True)]
