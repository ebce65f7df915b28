"""Solvers, and the choice between them: by verdict, cheapest first."""

from __future__ import annotations

import numpy as np

from ..objective import Objective, Point
from .base import STOP, Control, Solution, Solver, State, Verdict, run
from .closed_form import ClosedForm
from .newton import Newton
from .working_set import WorkingSet

SOLVERS: dict[str, Solver] = {s.name: s for s in (ClosedForm(), Newton(), WorkingSet())}

__all__ = [
    "SOLVERS",
    "STOP",
    "Control",
    "Solution",
    "Solver",
    "State",
    "Verdict",
    "choose",
    "solve",
    "verdicts",
]


def verdicts(objective: Objective, control: Control) -> dict[str, Verdict]:
    """Every solver's verdict on a problem."""
    return {name: solver.accepts(objective, control) for name, solver in SOLVERS.items()}


def choose(objective: Objective, control: Control, name: str = "auto") -> Solver:
    """The named solver, or the cheapest that accepts; refuses in words."""
    if name == "auto":
        found = verdicts(objective, control)
        ranked = sorted((v.cost, key) for key, v in found.items() if v.ok)
        if ranked:
            return SOLVERS[ranked[0][1]]
        reasons = "; ".join(f"{key}: {v.reason}" for key, v in found.items())
        raise ValueError(f"no solver accepts this problem ({reasons}).")
    if name not in SOLVERS:
        raise ValueError(f"solver={name!r} is not known: pass 'auto' or one of {sorted(SOLVERS)}.")
    verdict = SOLVERS[name].accepts(objective, control)
    if not verdict.ok:
        raise ValueError(f"solver={name!r} does not accept this problem: {verdict.reason}.")
    return SOLVERS[name]


def solve(
    objective: Objective,
    solver: str | Solver = "auto",
    control: Control | None = None,
    start: Point | None = None,
) -> Solution:
    """Minimise an objective to a certified gap, by a solver that is named or given."""
    control = control or Control()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the gap tells of it
        chosen = solver if isinstance(solver, Solver) else choose(objective, control, solver)
        return run(chosen, objective, control, start)
