"""Certificates of many models of one data set: from its Gram, or in two products with the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..._base.typing import Array
from ..._base.watch import INTERRUPT
from ...certificate import Finding
from ...certificate.gram_models import GramModels
from ...certificate.least_squares import Models
from ...certificate.row_models import row_findings
from ...problem.objective import Objective
from .. import solve
from ..base import CALLBACK, Control, Solution

NUMBERS = 1 << 22  # scores or slopes held at a time, beside the solutions; safeguard of memory
CHARGE = 0.25  # share of the tolerance that the rounding of the Gram may take; safeguard


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

    ``found`` has for each model the solver that found it, the iterations, and what stopped it.
    """
    models = Models(objective, coefs, intercepts)
    findings = (models.finding(i, problem) for i, problem in enumerate(problems))
    return certified(problems, findings, control, found)


def squares_findings(
    base: Objective,
    models: GramModels | None,
    problems: Sequence[Objective],
    coefs: Array,
    target: float,
) -> Iterator[Finding]:
    """Judged models, by the Gram if its rounding allows a gap of ``target``, else by the data."""
    if models is not None and models.charges(coefs).max() <= CHARGE * target:
        yield from models.findings(problems, coefs)
        return
    room = max(1, NUMBERS // (max(base.design.shape) * base.n_scores))
    for start in range(0, len(coefs), room):
        some = coefs[start : start + room]
        if base.n_scores > 1:
            yield from row_findings(base, problems[start : start + room], some)
            continue
        on_data = Models(base, some, np.zeros(len(some)))
        on_data.charge([problem.penalty for problem in problems[start : start + room]])
        for i, problem in enumerate(problems[start : start + room]):
            yield on_data.finding(i, problem)


def certified(
    problems: Sequence[Objective],
    findings: Iterable[Finding],
    control: Control,
    found: Sequence[tuple[str, int, str]],
) -> Iterator[Solution]:
    """Judged models as solutions of their problems.

    A model that misses the tolerance, and was not cut short, is solved by itself.
    """
    for problem, finding, (solver, iterations, stopped_by) in zip(problems, findings, found):
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
