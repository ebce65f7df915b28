"""Support vectors, margins and slacks of the models of a path."""

from __future__ import annotations

from .._base.typing import Array
from ..estimators.settings import Settings
from ..estimators.support_vectors import Training, edge_of
from ..problem.objective import Meter, Objective
from ..solvers import Solution
from ..solvers.kinked.clear_multipliers import settled


def trained(
    settings: Settings,
    objectives: list[Objective],
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
    rows: list[tuple[Solution, ...]] = []
    found: list[Training | None] = []
    for alpha, solutions in zip(alphas, zip(*columns, strict=True), strict=True):
        problems = [
            o.with_penalty(
                o.bound(settings.penalty, float(alpha)),
                words=s.certificate.objective,
                meter=Meter(s.certificate.passes),
            )
            for o, s in zip(objectives, solutions, strict=True)
        ]
        plain = list(solutions)
        if first.kinks is not None:
            plain = [settled(p, s, tol) for p, s in zip(problems, solutions, strict=True)]
        rows.append(tuple(plain))
        found.append(Training.of(problems, plain, weights))
    return [list(column) for column in zip(*rows, strict=True)], found
