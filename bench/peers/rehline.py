"""ReHLine: dual coordinate descent for sums of max(0, ·) and of their squares, with a ridge.

min over w of Σ max(0, uᵢ·xᵢw + vᵢ) + Σ ½ max(0, sᵢ·xᵢw + tᵢ)² + ½‖w‖²: its form of a loss is made
outside the timer. It penalises intercepts, so it is given problems without one.
"""

from __future__ import annotations

import numpy as np
from rehline import ReHLine_solver

from ..measures.judge import Model
from ..problems.base import Array, Problem
from .base import Peer, as_model, decades

_EPOCHS = 3000  # nothing but their number stops it
Form = dict[str, Array]


def _lines(slopes: list[Array], constants: list[Array]) -> Form:
    return {"U": np.array(slopes), "V": np.array(constants)}


def _parabolas(slopes: list[Array], constants: list[Array]) -> Form:
    none = np.empty((0, len(slopes[0])))
    cut = np.full((len(slopes), len(slopes[0])), np.inf)
    return {"U": none, "V": none, "S": np.array(slopes), "T": np.array(constants), "Tau": cut}


def _form(problem: Problem) -> Form:
    """C·loss in its terms."""
    y, one, p = problem.y, np.ones(problem.n_samples), problem.parameter or 0.0
    c, root = problem.C, np.sqrt(2.0 * problem.C)
    if problem.loss == "hinge":
        return _lines([-c * y], [c * one])
    if problem.loss == "squared_hinge":
        return _parabolas([-root * y], [root * one])
    if problem.loss == "quantile":
        return _lines([-c * p * one, c * (1 - p) * one], [c * p * y, -c * (1 - p) * y])
    if problem.loss == "epsilon_insensitive":
        return _lines([c * one, -c * one], [-c * (y + p), c * (y - p)])
    if problem.loss == "squared_epsilon_insensitive":
        return _parabolas([root * one, -root * one], [-root * (y + p), root * (y - p)])
    raise ValueError(f"no form of the loss {problem.loss!r} for ReHLine")


def _fit(problem: Problem, tol: float) -> Model:
    form = problem.form("rehline", lambda: _form(problem))
    found = ReHLine_solver(problem.rows(), **form, max_iter=_EPOCHS, tol=tol, verbose=0)
    return as_model(found.beta, 0.0, problem)


PEERS = [Peer("rehline", "rehline", _fit, decades(-1, -11), limit=f"{_EPOCHS} epochs at most")]
