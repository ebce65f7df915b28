"""scikit-learn."""

from __future__ import annotations

from time import process_time

from sklearn.linear_model import Lasso, LogisticRegression

from ..judge import Model
from ..problem import Problem
from .base import Fit, Peer, as_model, decades, one_versus_rest

_SAGA_SECONDS = 30.0  # of CPU; saga may need hours, so its epochs are counted out beforehand


def _lasso(problem: Problem, tol: float) -> Model:
    model = Lasso(
        problem.alpha, fit_intercept=problem.intercept, tol=tol, max_iter=100000, copy_X=False
    )
    model.fit(problem.columns(), problem.y)
    return as_model(model.coef_, model.intercept_, problem)


def _saga(problem: Problem, tol: float) -> Model:
    epochs = problem.form("saga epochs", lambda: _affordable_epochs(problem))
    return _logistic("saga", epochs)(problem, tol)


def _affordable_epochs(problem: Problem) -> int:
    start = process_time()
    _logistic("saga", 4)(problem, 0.0)
    return max(int(_SAGA_SECONDS / (process_time() - start) * 4), 4)


def _logistic(solver: str, max_iter: int) -> Fit:
    def fit(problem: Problem, tol: float) -> Model:
        model = LogisticRegression(
            C=problem.C,
            l1_ratio=1.0 if problem.penalty == "l1" else 0.0,
            fit_intercept=problem.intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
        )
        model.fit(problem.rows(), problem.y)
        return as_model(model.coef_, model.intercept_, problem)

    return one_versus_rest(fit)


PEERS = [
    Peer("sklearn cd", "scikit-learn", _lasso, pooled=True),
    Peer("sklearn lbfgs", "scikit-learn", _logistic("lbfgs", 20000), pooled=True),
    Peer("sklearn newton-cg", "scikit-learn", _logistic("newton-cg", 1000), pooled=True),
    Peer(
        "sklearn newton-cholesky", "scikit-learn", _logistic("newton-cholesky", 1000), pooled=True
    ),
    Peer("sklearn saga", "scikit-learn", _saga, decades(-1, -9), limit="30 s of epochs at most"),
]
