"""scikit-learn."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, Ridge, enet_path

from ..measures.judge import Model
from ..problems.base import Problem
from ..problems.tuning import Tuning, best_index, watched
from .base import (
    PATH_TOLS,
    Fit,
    Peer,
    affordable_epochs,
    as_model,
    as_path,
    decades,
    each_alpha,
    one_versus_rest,
)

_SAGA_TRIAL = 4  # epochs that are timed: saga may need hours, so they are counted out beforehand
_CD_ITERATIONS = 100000
_DIRECT = (1e-6,)  # a direct method hears no tol


def _lasso(problem: Problem, tol: float) -> Model:
    model = Lasso(
        problem.alpha,
        fit_intercept=problem.intercept,
        tol=tol,
        max_iter=_CD_ITERATIONS,
        copy_X=False,
    )
    model.fit(problem.columns(), problem.y)
    return as_model(model.coef_, model.intercept_, problem)


def _saga(problem: Problem, tol: float) -> Model:
    def run(epochs: int) -> Model:
        return _logistic("saga", epochs)(problem, 0.0)

    epochs = problem.form(
        "saga epochs", lambda: affordable_epochs(run, _SAGA_TRIAL, 0.5 * problem.seconds)
    )
    return _logistic("saga", epochs)(problem, tol)


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


def _enet_path(problem: Problem, tol: float) -> Model:
    _, coefs, _ = enet_path(
        problem.columns(),
        problem.y,
        l1_ratio=problem.l1_ratio,
        alphas=problem.alphas,
        tol=tol,
        max_iter=_CD_ITERATIONS,
        copy_X=False,
    )
    return as_path(coefs.T, 0.0, problem)


def lasso_cv(kind: Any, max_iter: int) -> Fit:
    """scikit-learn's LassoCV, or another's that looks the same."""

    def fit(problem: Problem, tol: float) -> Tuning:
        model, calls = watched(
            kind(
                alphas=problem.alphas,
                cv=problem.folds,
                tol=tol,
                max_iter=max_iter,
                n_jobs=os.cpu_count(),
            )
        )
        model.fit(problem.columns(), problem.y)
        refitted = as_model(model.coef_, model.intercept_, problem)
        return Tuning(model.mse_path_, best_index(problem, model.alpha_), refitted, calls)

    return fit


def _ridge(solver: str) -> Fit:
    """½‖y − z‖²/n + alpha·½‖w‖² is ‖y − z‖² + n·alpha·‖w‖² to scikit-learn."""

    def fit(problem: Problem, tol: float) -> Model:
        model = _ridge_of(problem, problem.alpha, solver, tol).fit(problem.rows(), problem.y)
        return as_model(model.coef_, model.intercept_, problem)

    return fit


def _ridge_targets(solver: str) -> Fit:
    """Every alpha as a target of its own: one decomposition or Gram matrix for all of them."""

    def fit(problem: Problem, tol: float) -> Model:
        targets = np.tile(problem.y[:, None], len(problem.strengths))
        model = _ridge_of(problem, problem.strengths, solver, tol).fit(problem.rows(), targets)
        return as_path(model.coef_, model.intercept_, problem)

    return fit


def _ridge_of(problem: Problem, alpha: Any, solver: str, tol: float) -> Ridge:
    strength = alpha * problem.n_samples
    return Ridge(strength, fit_intercept=problem.intercept, solver=solver, tol=tol)


RIDGE = Peer("sklearn Ridge", "scikit-learn", _ridge("auto"), _DIRECT, pooled=True)
CV = lasso_cv(LassoCV, _CD_ITERATIONS)

PEERS = [
    Peer("sklearn cd", "scikit-learn", _lasso, pooled=True),
    Peer("sklearn lbfgs", "scikit-learn", _logistic("lbfgs", 20000), pooled=True),
    Peer("sklearn newton-cg", "scikit-learn", _logistic("newton-cg", 1000), pooled=True),
    Peer(
        "sklearn newton-cholesky", "scikit-learn", _logistic("newton-cholesky", 1000), pooled=True
    ),
    Peer(
        "sklearn saga",
        "scikit-learn",
        _saga,
        decades(-1, -9),
        limit="epochs for half of the cap at most",
    ),
    Peer("sklearn path", "scikit-learn", _enet_path, PATH_TOLS, pooled=True),
    Peer("sklearn LassoCV", "scikit-learn", CV, PATH_TOLS, pooled=True),
    RIDGE,
    Peer("sklearn Ridge cholesky", "scikit-learn", _ridge("cholesky"), _DIRECT, pooled=True),
    each_alpha(RIDGE),
    *(
        Peer(
            f"sklearn Ridge {solver}, alphas as targets",
            "scikit-learn",
            _ridge_targets(solver),
            _DIRECT,
            pooled=True,
        )
        for solver in ("cholesky", "svd")
    ),
]
