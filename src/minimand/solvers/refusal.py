"""Messages for problems that no solver accepts, or that have no scale: why not, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..losses import Huber, Loss, Margin, Multinomial, OverScores, SquaredHinge
from ..penalties import L1, L2
from ..problem.objective import Objective
from .base import Control, Solver
from .traits import Trait, missing, traits_of


def refusal(
    objective: Objective, solvers: Iterable[Solver], control: Control, by_name: Sequence[str]
) -> str:
    """Why no solver takes the problem, the nearest problems that are accepted, and ``by_name``.

    The latter are solvers that take the problem if they are asked for.
    """
    asked = list(solvers)
    others = [
        words
        for words, problem in _neighbours(objective).items()
        if any(solver.verdict(problem, control).ok for solver in asked)
    ]
    named = f", or name one of {list(by_name)}, which accept it when asked" if by_name else ""
    return (
        f"no solver takes {objective.words or repr(objective.loss)} "
        f"({', and '.join(_reasons(objective, asked, control))}): "
        f"take {' or '.join(others) or 'another loss or penalty'}{named}; minimand.explain shows "
        "what every solver says."
    )


def _reasons(objective: Objective, asked: list[Solver], control: Control) -> list[str]:
    """The most common reasons of the solvers that come nearest to the problem, at most two."""
    traits = traits_of(objective)
    own = [solver for solver in asked if not missing(solver.kind, traits)]
    if objective.loss.pooled and not objective.loss.largest_residual:
        own = [solver for solver in asked if Trait.MEAN_OVER_SAMPLES in solver.kind]
    own = [solver for solver in own if not missing(solver.shapes, traits)] or own
    # Solvers whose traits all fit have looked at the problem itself, and know best.
    fitting = [s for s in own if not missing((*s.shapes, *s.kind, *s.needs), traits)]
    given = Counter(s.verdict(objective, control).reason for s in fitting or own or asked)
    if fitting or (own and objective.n_scores == 1):
        return [reason for reason, _ in given.most_common(1)]
    # Each solver lacks another trait: two reasons are given, of those that lack the fewest.
    lacks = {s: len(missing((*s.kind, *s.needs), traits)) for s in own or asked}
    nearest = [s for s, count in lacks.items() if count == min(lacks.values())]
    found = Counter(s.verdict(objective, control).reason for s in nearest)
    return [reason for reason, _ in (found or given).most_common(2)]


def _neighbours(objective: Objective) -> dict[str, Objective]:
    """The same data with another loss, or another penalty."""
    if not objective.has_columns:
        return {}
    if objective.n_scores > 1:
        return _neighbours_of_scores(objective)
    loss: Loss = SquaredHinge() if isinstance(objective.loss, Margin) else Huber()
    l1 = L1().bind(objective.n_features)
    smooth = replace(objective, loss=loss, mass=objective.row_mass)
    kind = "a mean over samples" if objective.loss.pooled else "a smooth loss"
    return {
        f"{kind} such as {type(loss).__name__}()": smooth,
        "a penalty such as L1() or L2()": objective.with_penalty(l1),
    }


def _neighbours_of_scores(objective: Objective) -> dict[str, Objective]:
    """Neighbours of a problem of several scores: a loss of classes couples them, a sum does not."""
    loss: Loss = Multinomial()
    if objective.loss.target != "class":
        loss = SquaredHinge() if objective.loss.target == "sign" else Huber()
    l2 = L2().bind(objective.coef_shape)
    y = objective.y
    if y.ndim == 1 and not loss.joint:  # scores of the same y, as quantiles have
        y = np.repeat(y[:, None], objective.n_scores, axis=1)
    found = {
        f"a smooth loss such as {type(loss).__name__}()": replace(
            objective, loss=loss if loss.joint else OverScores(loss), y=y
        ),
        "the penalty L2()": objective.with_penalty(l2),
    }
    if objective.loss.in_order:
        free = replace(objective, loss=objective.loss.copy(crossing=True))
        found = {"crossing=True": free} | found
    return found


def without_scale(objective: Objective) -> str:
    """Why the unit of tol is not finite."""
    if np.isfinite(objective.mean(objective.loss.infimum(objective.y))):
        return f"{objective.loss!r} overflows on these data: rescale y, the offset or the weights."
    return (
        f"loss {objective.loss!r} is unbounded below on these data: the mean loss has no minimum "
        "to be compared with."
    )
