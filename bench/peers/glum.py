"""glum: iteratively reweighted least squares on tabmat matrices."""

from __future__ import annotations

from glum import GeneralizedLinearRegressor

from ..judge import Model
from ..problem import Problem
from .base import Peer, as_model


def _fit(problem: Problem, tol: float) -> Model:
    model = GeneralizedLinearRegressor(
        alpha=problem.alpha,
        l1_ratio=1.0 if problem.penalty == "l1" else 0.0,
        family="binomial",
        fit_intercept=problem.intercept,
        gradient_tol=tol,
        max_iter=1000,
        copy_X=False,
    )
    target = problem.form("0/1", lambda: (problem.y > 0).astype(float))
    model.fit(problem.columns(), target)
    return as_model(model.coef_, model.intercept_, problem)


PEERS = [Peer("glum irls", "glum", _fit, pooled=True)]
