"""Certificates of many models of one data set, in two products with the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..._base.typing import Array
from ..._base.watch import INTERRUPT
from ...certificate.least_squares import Models
from ...problem.objective import Objective
from .. import solve
from ..base import CALLBACK, Control, Solution


def was_cut_short(stopped_by: str) -> bool:
    """Whether a limit, a callback or Ctrl-C stopped a fit, rather than its own arithmetic."""
    return stopped_by.startswith(("max_", CALLBACK, INTERRUPT))


def certify_models(
    objective: Objective,
    problems: Sequence[Objective],
    coefs: Array,
    intercepts: Array,
    control: Control,
    found: Sequence[tuple[str, int, str]],
) -> Iterator[Solution]:
    """Models as solutions of their problems, which share the data and the squared loss.

    ``found`` has for each model the solver that found it, the iterations, and what stopped it. A
    model that misses the tolerance, and was not cut short, is solved by itself.
    """
    models = Models(objective, coefs, intercepts)
    for i, (problem, (solver, iterations, stopped_by)) in enumerate(zip(problems, found)):
        finding = models.finding(i, problem)
        converged = finding.reaches(problem, control.tol * problem.scale)
        if not converged and not was_cut_short(stopped_by):
            yield solve(problem, "auto", replace(control), finding.point)
            continue
        certificate = finding.certificate(problem, iterations, control.seconds)
        yield Solution(
            finding.point,
            finding.slope,
            certificate,
            solver,
            converged,
            stopped_by,
            mean_loss=finding.mean_loss,
        )
