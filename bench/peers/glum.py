"""glum: iteratively reweighted least squares on tabmat matrices."""

from __future__ import annotations

from glum import GeneralizedLinearRegressor

from ..measures.judge import Model
from ..problems.base import Problem
from .base import PATH_TOLS, Peer, as_model, as_path


def _fitted(problem: Problem, tol: float) -> GeneralizedLinearRegressor:
    path = problem.alphas is not None
    model = GeneralizedLinearRegressor(
        alpha=None if path else problem.alpha,
        alphas=problem.alphas,
        alpha_search=path,
        l1_ratio=problem.l1_ratio,
        family="binomial",
        fit_intercept=problem.intercept,
        gradient_tol=tol,
        max_iter=1000,
        copy_X=False,
    )
    target = problem.form("0/1", lambda: (problem.y > 0).astype(float))
    return model.fit(problem.columns(), target)


def _fit(problem: Problem, tol: float) -> Model:
    model = _fitted(problem, tol)
    return as_model(model.coef_, model.intercept_, problem)


def _path(problem: Problem, tol: float) -> Model:
    model = _fitted(problem, tol)
    return as_path(model.coef_path_, model.intercept_path_, problem)


PEERS = [
    Peer("glum irls", "glum", _fit, pooled=True),
    Peer("glum path", "glum", _path, PATH_TOLS, pooled=True),
]
