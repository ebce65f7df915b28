"""The choice between solvers: by verdict, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from .._base.typing import Array
from ..problem.objective import Objective
from . import ASKED, REGISTRY, SOLVERS
from .base import Control, Solver, Verdict
from .traits import traits_of

_MOST_TO_TAKE_OVER = 1e10  # units of `costs`, about ten seconds: a safeguard


def verdicts(
    objective: Objective, control: Control, named: str | Solver = "auto"
) -> dict[str, Verdict]:
    """Every solver's verdict on a problem; an object that was asked for speaks for itself."""
    solvers = {**SOLVERS, named.name: named} if isinstance(named, Solver) else SOLVERS
    return {name: solver.verdict(objective, control) for name, solver in solvers.items()}


def choose_solver(objective: Objective, control: Control, solver: str | Solver = "auto") -> Solver:
    """The solver that was asked for, or the cheapest that accepts; refuses in words."""
    if isinstance(solver, str) and solver == "auto":
        return _cheapest(objective, control)
    found = REGISTRY.get(solver)
    verdict = found.verdict(objective, control)
    if not verdict.ok:
        raise ValueError(f"solver={found.name!r} does not accept this problem: {verdict.reason}.")
    return found


def shared(
    solver: str | Solver,
    objectives: Sequence[Objective],
    starts: Sequence[tuple[Array, float] | None],
) -> str | Solver:
    """A solver that was asked for, as it takes several problems that differ in y alone."""
    if isinstance(solver, str) and solver == "auto":
        return solver
    return REGISTRY.get(solver).shared(objectives, starts)


def _cheapest(objective: Objective, control: Control) -> Solver:
    """The cheapest that accepts, of those that are not for teaching only.

    Asked are solvers whose traits fit, as long as one that costs less than found is possible.
    """
    asked = _by_least_cost()
    traits, stored = traits_of(objective), objective.design.nnz
    best: tuple[float, str] | None = None
    for solver in asked:
        if not traits.issuperset((*solver.shapes, *solver.kind, *solver.needs)):
            continue
        if best is not None and best[0] <= solver.least_cost * stored:
            break
        verdict = solver.accepts(objective, control)
        if verdict.ok and (best is None or (verdict.cost, solver.name) < best):
            best = verdict.cost, solver.name
    if best is not None:
        return SOLVERS[best[1]]
    _point_to_pieces(objective)
    found = verdicts(objective, control)
    by_name = [name for name, verdict in found.items() if verdict.ok]
    if by_name:
        raise ValueError(
            f"no solver takes this problem by itself: name one of {by_name}, which accept it."
        )
    from .refusal import refusal  # few problems need one

    raise ValueError(refusal(objective, asked, control))


@cache
def _by_least_cost() -> list[Solver]:
    """The solvers that "auto" asks, those first that may cost least."""
    return sorted((SOLVERS[name] for name in ASKED), key=lambda solver: solver.least_cost)


def _point_to_pieces(objective: Objective) -> None:
    """A loss with a kink that did not say its pieces is refused with what to do."""
    loss = objective.loss
    if loss.convex and not loss.smooth and loss.unit == "row" and loss.plq(objective.y) is None:
        raise ValueError(
            f"loss {loss!r} has a kink: say its `pieces`, a minimand.Pieces of knots, slopes and "
            "curvatures, so that the solvers for losses with kinks can take it."
        )


def cheapest_others(
    objective: Objective, control: Control, ran: Sequence[Solver]
) -> Iterator[Solver]:
    """Solvers that may go on where others have given up, the cheapest first."""
    names = {solver.name for solver in ran}
    others = [SOLVERS[name] for name in ASKED if name not in names]
    answers = [(other.verdict(objective, control), other.name) for other in others]
    accepting = [(v.cost, name) for v, name in answers if v.ok and v.cost <= _MOST_TO_TAKE_OVER]
    return (SOLVERS[name] for _, name in sorted(accepting))
