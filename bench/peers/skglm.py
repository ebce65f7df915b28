"""skglm: working sets and prox-Newton, compiled by Numba at the first call."""

from __future__ import annotations

from typing import Any

from skglm import Lasso, SparseLogisticRegression

from ..judge import Model
from ..problem import Problem
from .base import Peer, as_model


def _fit(problem: Problem, tol: float) -> Model:
    model: Any
    if problem.loss == "squared":
        model = Lasso(problem.alpha, fit_intercept=problem.intercept, tol=tol, max_iter=1000)
    else:
        model = SparseLogisticRegression(
            problem.alpha, fit_intercept=problem.intercept, tol=tol, max_iter=1000
        )
    model.fit(problem.columns(), problem.y)
    return as_model(model.coef_, model.intercept_, problem)


PEERS = [Peer("skglm", "skglm", _fit, compiles=True)]
