"""`check_solver`: what a solver must reach, and may not claim."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problem.objective import Objective
from ..solvers import Control, Solver
from ..solvers.loop import run
from .battery import battery_with_optima
from .require import require


def check_solver(solver: Solver, *, tol: float = 1e-6) -> int:
    """Run a solver on a battery of small problems and check every certificate.

    On each problem it accepts: gap ≤ tol·scale, dual ≤ optimum ≤ primal (the optimum by a generic
    method of SciPy), and a valid certificate when it is stopped after one iteration. Where the
    loss or the penalty is not convex: gap ≤ tol·scale for the tangent, and a model no worse than
    that of the base loss or the lasso.

    Parameters
    ----------
    solver : Solver
        An object of your own class.
    tol : float, default=1e-6
        Relative gap to ask for.

    Returns
    -------
    int
        How many problems were accepted, at least one.

    Raises
    ------
    AssertionError
        One sentence with the problem and what went wrong.

    Examples
    --------
    >>> import minimand as mm
    >>> from minimand.solvers import SOLVERS
    >>> mm.testing.check_solver(SOLVERS["newton"]) > 0
    True
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # as in a fit
        return _check(solver, tol)


def _check(solver: Solver, tol: float) -> int:
    accepted = 0
    for objective, best in battery_with_optima():
        control = Control(tol=tol, random_state=0)
        verdict = solver.verdict(objective, control)
        where = f"solver {solver.name!r} on {objective.words}"
        require(bool(verdict.reason), f"{where}: a verdict must give its reason.")
        if not verdict.ok:
            continue
        accepted += 1
        solution = run(solver, objective, control)
        goal = max(tol * objective.scale, solution.certificate.rounding)
        _check_solution(where, objective, solution, best)
        worse = solution.certificate.primal - best
        sentence = f"{where}: the model is {worse:.3g} worse than a convex fit."
        require(objective.convex or worse <= 2 * goal, sentence)
        gap = solution.certificate.gap
        require(gap <= goal, f"{where}: the gap {gap:.3g} is above its goal {goal:.3g}.")
        require(solution.converged, f"{where}: converged is not set.")
        stopped = run(solver, objective, Control(tol=0.0, max_iter=1, random_state=0))
        _check_solution(f"{where}, stopped after one iteration", objective, stopped, best)
    require(accepted, f"solver {solver.name!r} accepts none of the problems.")
    return accepted


def _check_solution(where: str, objective: Objective, solution: Any, best: float) -> None:
    certificate = solution.certificate
    primal = objective.primal(objective.point(solution.w, solution.b))
    noise = certificate.rounding + 1e-9 * (objective.scale + abs(primal))
    require(
        abs(primal - certificate.primal) <= noise,
        f"{where}: primal={certificate.primal!r}, but the objective is {primal!r}.",
    )
    require(certificate.gap >= 0, f"{where}: the gap is {certificate.gap!r}.")
    if not objective.convex:
        sentence = f"{where}: kind={certificate.kind!r}, but the problem is not convex."
        require(certificate.kind == "stationary", sentence)
        return
    best = min(best, primal)
    require(
        certificate.dual <= best + noise,
        f"{where}: false certificate, dual={certificate.dual!r} is above the optimum {best!r}.",
    )
    require(
        primal - best <= certificate.gap + noise,
        f"{where}: gap={certificate.gap!r}, but the model is {primal - best!r} from the optimum.",
    )
