"""The message for a problem that no solver accepts: what was asked, why not, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ..losses import Huber, Loss, Margin, SquaredHinge
from ..penalties import L1
from ..problem.objective import Objective
from .base import Control, Solver
from .traits import Trait, missing, traits_of


def refusal(objective: Objective, solvers: Iterable[Solver], control: Control) -> str:
    """The most common reason of solvers of its kind, and the nearest problems that are accepted."""
    asked = list(solvers)
    traits = traits_of(objective)
    own = [solver for solver in asked if missing(solver.kind, traits) is None]
    if objective.loss.pooled and not objective.loss.largest_residual:
        own = [solver for solver in asked if Trait.MEAN_OVER_SAMPLES in solver.kind]
    # Solvers whose traits all fit have looked at the problem itself, and know best.
    fitting = [s for s in own if missing((*s.kind, *s.shapes, *s.needs), traits) is None]
    given = Counter(s.verdict(objective, control).reason for s in fitting or own or asked)
    # If no solver is of its kind, two reasons are given, as each solver lacks another trait.
    reasons = [reason for reason, _ in given.most_common(1 if own else 2)]
    others = [
        words
        for words, problem in _neighbours(objective).items()
        if any(solver.verdict(problem, control).ok for solver in asked)
    ]
    return (
        f"no solver takes {objective.words or repr(objective.loss)} ({', and '.join(reasons)}): "
        f"take {' or '.join(others) or 'another loss or penalty'}; minimand.explain shows what "
        "every solver says."
    )


def _neighbours(objective: Objective) -> dict[str, Objective]:
    """The same data with another loss, or another penalty; none for several scores."""
    if objective.n_scores > 1 or not objective.has_columns:
        return {}
    loss: Loss = SquaredHinge() if isinstance(objective.loss, Margin) else Huber()
    l1 = L1().bind(objective.n_features)
    smooth = replace(objective, loss=loss, mass=objective.row_mass)
    kind = "a mean over samples" if objective.loss.pooled else "a smooth loss"
    return {
        f"{kind} such as {type(loss).__name__}()": smooth,
        "a penalty such as L1() or L2()": objective.with_penalty(l1),
    }
