"""Problems with a penalty that solvers know, in place of one that they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...certificate import Judgement
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..kinked.class_dual import ClassDual
from ..kinked.primal_dual import PrimalDual
from ..programs.constraint_generation import ConstraintGeneration
from ..smooth.closed_form import ClosedForm
from ..smooth.newton import Newton
from ..sparse.working_groups import WorkingGroups
from ..sparse.working_set import WorkingSet
from ..steps.progress import Progress
from ..succession import points_of
from .smoothed import Smoothed

_INNER = 200  # iterations of one penalised problem; safeguard
_SOLVERS: tuple[Solver, ...] = (
    ClosedForm(),
    Newton(),
    WorkingSet(),
    ClassDual(),
    ConstraintGeneration(),
    WorkingGroups(),
    Smoothed(),
    PrimalDual(),
)


def cheapest(problem: Objective, control: Control) -> tuple[Solver | None, Verdict]:
    """The cheapest solver of a penalised problem and its verdict."""
    found = [(solver.verdict(problem, control), solver) for solver in _SOLVERS]
    good = [pair for pair in found if pair[0].ok]
    if not good:  # the last is for kinks of one score, the one before it for several
        return None, found[-1 if problem.n_scores == 1 else -2][0]
    verdict, solver = min(good, key=lambda pair: pair[0].cost)
    return solver, verdict


def solved(
    problem: Objective,
    start: Point,
    control: Control,
    target: float,
    enough: Callable[[Judgement], bool] = lambda judgement: False,
) -> Judgement:
    """The solution of a penalised problem, from a start to a gap, or until it is good enough."""
    solver, verdict = cheapest(problem, control)
    assert solver is not None, verdict.reason
    inner = replace(control, target=target, callbacks=())
    progress = Progress(target, solver.idle)
    for count, judgement in enumerate(points_of(solver, problem, start, inner)):
        if enough(judgement) or judgement.reaches(problem, target) or control.expired:
            break
        if count >= _INNER or progress.ended(judgement):
            break
    return judgement
