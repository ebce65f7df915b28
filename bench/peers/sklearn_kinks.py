"""scikit-learn on losses with kinks: its copy of LIBLINEAR, and HiGHS."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import QuantileRegressor
from sklearn.svm import LinearSVC, LinearSVR

from ..measures.judge import Model
from ..measures.timing import OverCap
from ..problems.base import Problem
from .base import Fit, Peer, as_model, decades

_EPOCHS = 1000
_DIRECT = (1e-7,)  # HiGHS's own feasibility tolerance, which is not varied


def _options(problem: Problem, tol: float) -> dict[str, Any]:
    given = {"C": problem.C, "fit_intercept": problem.intercept, "tol": tol}
    return given | {"loss": problem.loss, "max_iter": _EPOCHS, "random_state": 0}


def _svc(problem: Problem, tol: float) -> Model:
    model = LinearSVC(**_options(problem, tol))
    model.fit(problem.rows(), problem.y)
    return as_model(model.coef_, model.intercept_, problem)


def _svr(problem: Problem, tol: float) -> Model:
    model = LinearSVR(epsilon=problem.parameter, **_options(problem, tol))
    model.fit(problem.rows(), problem.y)
    return as_model(model.coef_, model.intercept_, problem)


def _quantile(solver: str) -> Fit:
    """|r| + alpha·‖w‖₁ is twice the loss of the median + alpha/2·‖w‖₁."""

    def fit(problem: Problem, tol: float) -> Model:
        q, factor = (0.5, 0.5) if problem.loss == "absolute" else (problem.parameter, 1.0)
        model = QuantileRegressor(
            quantile=q,
            alpha=factor * problem.alpha,
            fit_intercept=problem.intercept,
            solver=solver,
            solver_options={"time_limit": problem.seconds},
        )
        try:
            model.fit(problem.rows(), problem.y)
        except TypeError as error:  # HiGHS has nothing to show for its time
            raise OverCap from error
        return as_model(model.coef_, model.intercept_, problem)

    return fit


PEERS = [
    *(
        Peer(name, "scikit-learn", fit, decades(0, -9), limit=f"{_EPOCHS} epochs at most")
        for name, fit in (("sklearn LinearSVC", _svc), ("sklearn LinearSVR", _svr))
    ),
    *(
        Peer(f"sklearn {solver}", "scikit-learn", _quantile(solver), _DIRECT)
        for solver in ("highs", "highs-ipm")
    ),
]
