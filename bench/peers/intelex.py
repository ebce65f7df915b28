"""scikit-learn-intelex: oneDAL behind scikit-learn's names."""

from __future__ import annotations

from sklearnex.linear_model import LogisticRegression, Ridge

from ..measures.judge import Model
from ..problems.base import Problem
from .base import Peer, as_model

_DIRECT = (1e-6,)  # a direct method hears no tol


def _ridge(problem: Problem, tol: float) -> Model:
    model = Ridge(problem.alpha * problem.n_samples, fit_intercept=problem.intercept)
    model.fit(problem.rows(), problem.y)
    return as_model(model.coef_, model.intercept_, problem)


def _logistic(problem: Problem, tol: float) -> Model:
    model = LogisticRegression(
        C=problem.C, fit_intercept=problem.intercept, solver="lbfgs", tol=tol, max_iter=20000
    )
    model.fit(problem.rows(), problem.y)
    return as_model(model.coef_, model.intercept_, problem)


PEERS = [
    Peer("intelex Ridge", "scikit-learn-intelex", _ridge, _DIRECT),
    Peer("intelex lbfgs", "scikit-learn-intelex", _logistic),
]
