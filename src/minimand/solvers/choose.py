"""The choice between solvers: by verdict, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from ..problem.objective import Objective
from . import ASKED, REGISTRY, SOLVERS
from .alike import alike
from .base import Control, Solver, Start, Verdict
from .traits import Trait, traits_of

_MOST_TO_TAKE_OVER = 1e10  # units of `costs`, about ten seconds; safeguard


def verdicts(
    objective: Objective, control: Control, named: str | Solver = "auto"
) -> dict[str, Verdict]:
    """The verdict of every solver on a problem, or that of the given solver."""
    solvers = {**SOLVERS, named.name: named} if isinstance(named, Solver) else SOLVERS
    return {name: solver.verdict(objective, control) for name, solver in solvers.items()}


def choose_solver(objective: Objective, control: Control, solver: str | Solver = "auto") -> Solver:
    """The solver that was asked for, or the cheapest that accepts; else an error in words."""
    if isinstance(solver, str) and solver == "auto":
        return _cheapest(objective, control)
    found = REGISTRY.get(solver)
    if found.chosen:  # it has accepted a problem that is alike
        return found
    verdict = found.verdict(objective, control)
    if not verdict.ok:
        raise ValueError(f"solver={found.name!r} does not accept this problem: {verdict.reason}.")
    return found


def shared(
    solver: str | Solver,
    objectives: Sequence[Objective],
    starts: Sequence[Start],
    control: Control,
) -> str | Solver:
    """The solver for several problems that differ in y only, with the work that they share.

    "auto" becomes the solver of the first problem if the others are alike.
    """
    if not (isinstance(solver, str) and solver == "auto"):
        return REGISTRY.get(solver).shared(objectives, starts)
    if len(objectives) == 1 or not all(alike(objectives[0], other) for other in objectives):
        return solver
    chosen = _cheapest(objectives[0], control, len(objectives))
    together = chosen.shared(objectives, starts)
    if together is chosen:
        together = chosen.copy()  # the object in the registry serves others, too
    together.chosen = True
    return together


def _cheapest(objective: Objective, control: Control, count: int = 1) -> Solver:
    """The cheapest solver of one of ``count`` problems, except for those that run by name only.

    Solvers whose traits fit are asked, as long as a cheaper one than found so far is possible.
    """
    asked = _by_least_cost()
    traits, stored = traits_of(objective), objective.design.nnz
    smooth = Trait.SMOOTH in traits
    best: tuple[float, str, Solver] | None = None
    for solver, required in asked:
        if not required <= traits:
            continue
        least = solver.least_calls + solver.least_cost * stored
        least += solver.least_on_smooth if smooth else 0.0
        if best is not None and best[0] <= least:
            continue
        verdict = solver.accepts(objective, control)
        cost = verdict.cost_of_each(count)
        if verdict.ok and (best is None or (cost, solver.name) < best[:2]):
            best = cost, solver.name, solver
    if best is not None:
        return best[2]
    _point_to_pieces(objective)
    found = verdicts(objective, control)
    by_name = [name for name, verdict in found.items() if verdict.ok]
    from .refusal import refusal  # loaded only when needed

    raise ValueError(refusal(objective, [solver for solver, _ in asked], control, by_name))


def _least(solver: Solver) -> tuple[float, float]:
    """What a solver costs at least on any data, and for every stored number."""
    return solver.least_calls, solver.least_cost


@cache
def _by_least_cost() -> list[tuple[Solver, frozenset[Trait]]]:
    """The solvers that "auto" asks, by their least possible cost, and the traits they require."""
    solvers = sorted((SOLVERS[name] for name in ASKED), key=_least)
    return [(s, frozenset((*s.shapes, *s.kind, *s.needs))) for s in solvers]


def _point_to_pieces(objective: Objective) -> None:
    """Refuse a loss with a kink that has not declared its pieces, and say what to do."""
    loss = objective.loss
    if objective.n_scores > 1 or loss.unit != "row":
        return
    if loss.convex and not loss.smooth and loss.plq(objective.y) is None:
        raise ValueError(
            f"loss {loss!r} has a kink: say its `pieces`, a minimand.Pieces of knots, slopes and "
            "curvatures, so that the solvers for losses with kinks can take it."
        )


def cheapest_others(
    objective: Objective, control: Control, ran: Sequence[Solver]
) -> Iterator[Solver]:
    """Solvers that may continue after another has given up, the cheapest first."""
    names = {solver.name for solver in ran}
    others = [SOLVERS[name] for name in ASKED if name not in names]
    answers = [(other.verdict(objective, control), other.name) for other in others]
    accepting = [(v.cost, name) for v, name in answers if v.ok and v.cost <= _MOST_TO_TAKE_OVER]
    return (SOLVERS[name] for _, name in sorted(accepting))
