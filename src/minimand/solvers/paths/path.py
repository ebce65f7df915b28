"""One problem at many strengths of its penalty: each starts where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...problem.objective import Objective
from ...problem.path_facts import Forecast, Memory
from .. import choose_solver, solve
from ..base import Control, Solution, Solver
from ..smooth.closed_form import ridge_path
from . import column_path, gram_path, gram_rounds_path
from .certified_together import certify_together

At = Callable[[Objective, float], Objective]


def solve_path(
    base: Objective,
    at: At,
    alphas: Sequence[float],
    control: Control,
    solver: str | Solver = "auto",
) -> Iterator[Solution]:
    """Certified solutions, one per alpha, in the given order.

    Parameters
    ----------
    base : the problem without regard to its penalty: the data, the loss and the masses.
    at : ``at(objective, alpha)`` is the same problem under the penalty of that alpha.
    alphas : best in decreasing order, so that solutions grow slowly.
    """
    # Tangents of a non-convex penalty are other problems than the ones a path would remember.
    convex = at(base, 1.0).convex
    base = base.with_memory(Memory() if convex else None)
    automatic = isinstance(solver, str) and solver == "auto"
    all_at_once = _ridge_solutions(base, at, alphas, control) if automatic else None
    if all_at_once is not None:
        yield from all_at_once
        return
    if base.loss.smooth and len(alphas) > 2 and _sparse_models(at(base, 1.0)):
        base.design.ready_to_pick()
    trail: list[tuple[float, Solution]] = []
    done, chosen = 0, None
    ways = (gram_path, column_path, gram_rounds_path) if automatic else ()
    for way in [way for way in ways if way.applies(base, at, alphas)][:1]:
        for solution in way.solutions(base, at, alphas, control):
            trail = [*trail[-1:], (alphas[done], solution)]
            done += 1
            yield solution
    for alpha in alphas[done:]:
        objective = at(base, alpha)
        if base.memory is not None:
            base.memory.forecast = _forecast(trail, alpha)
        start = trail[-1][1].point if trail else None
        # Where the loss has kinks, a weak penalty asks for another solver than a strong one.
        if chosen is None or alpha == 0 or not base.loss.smooth:
            chosen = choose_solver(objective, control, solver)
        solution = solve(objective, chosen, replace(control), start)
        if automatic and _stuck(chosen, solution):
            # The start led to a corner where this solver gives up: a fit of its own may do.
            other = solve(objective, "auto", replace(control))
            solution = min(solution, other, key=lambda found: found.certificate.gap)
        base = objective  # it has computed what no penalty changes
        trail = [*trail[-1:], (alpha, solution)]
        yield solution


def _stuck(solver: Solver, solution: Solution) -> bool:
    """Whether a solver gave up before the gap was closed, though there is a proof to be found."""
    certificate = solution.certificate
    ended = solution.stopped_by in ("no further progress", solver.exhausted)
    provable = certificate.kind == "global" and not certificate.infeasibility
    return ended and provable and not solution.converged


def _sparse_models(objective: Objective) -> bool:
    """Whether most coefficients will be zero, so that few columns matter."""
    form = objective.penalty.separable
    return form is not None and bool(form.l1.any())


def _forecast(trail: list[tuple[float, Solution]], alpha: float) -> Forecast | None:
    """Coefficients and slopes drawn on in a line; paths of the squared loss are made of lines."""
    if len(trail) < 2:
        return None
    (older, before), (old, last) = trail
    if old == older:
        return None
    ahead = (alpha - old) / (old - older)
    if not 0 < ahead <= 2:
        return None
    w = last.w + ahead * (last.w - before.w)
    w[last.w * w <= 0] = 0.0  # what has left the model, or would change its sign, is at zero
    return Forecast(w, last.slope + ahead * (last.slope - before.slope))


def _ridge_solutions(
    base: Objective, at: At, alphas: Sequence[float], control: Control
) -> list[Solution] | None:
    """Squared loss and L2 on every column: all solutions from one factorisation.

    They are certified together, in two passes; one that misses the tolerance is solved by itself.
    """
    n, d = base.design.shape
    if not base.loss.quadratic or min(n, d) > 3000 or len(alphas) < 2 or min(alphas) <= 0:
        return None
    base = base.with_memory(None)
    _ = base.root_spread, base.scale  # now, so that all problems share them
    unit = at(base, 1.0)
    form = unit.penalty.separable
    if form is None or form.bounds is not None or form.l1.any() or not (form.l2 > 0).all():
        return None
    problems = [at(base, alpha) for alpha in alphas]
    coefs, intercepts = ridge_path(unit, np.asarray(alphas, dtype=float))
    origin = [("closed_form", 1, "")] * len(problems)
    return list(certify_together(unit, problems, coefs, intercepts, control, origin))
