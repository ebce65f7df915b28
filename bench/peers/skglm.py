"""skglm: working sets and prox-Newton, compiled by Numba at the first call."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from skglm import ElasticNet, Lasso, SparseLogisticRegression
from skglm.datafits import Logistic, LogisticGroup, QuadraticGroup
from skglm.penalties import L1, WeightedGroupL2
from skglm.solvers import GroupBCD, GroupProxNewton, ProxNewton
from skglm.utils.data import grp_converter

from ..measures.judge import Model
from ..problems.base import Problem
from .base import PATH_TOLS, Peer, as_model, as_path


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


def _path(problem: Problem, tol: float) -> Model:
    if problem.loss == "logistic":
        return _logistic_path(problem, tol)
    options = {"fit_intercept": problem.intercept, "tol": tol, "max_iter": 1000}
    kind = Lasso if problem.penalty == "l1" else partial(ElasticNet, l1_ratio=problem.l1_ratio)
    coefs = kind(**options).path(problem.columns(), problem.y, problem.alphas)[1]
    return as_path(coefs.T, 0.0, problem)


def _logistic_path(problem: Problem, tol: float) -> Model:
    """What its `path` does for the lasso, with the solver that its logistic regression uses."""
    X = problem.columns()
    solver = ProxNewton(tol=tol, max_iter=1000, fit_intercept=False, warm_start=True)
    w, z = np.zeros(problem.n_features), np.zeros(problem.n_samples)
    coefs = []
    for alpha in problem.strengths:
        w = solver.solve(X, problem.y, Logistic(), L1(alpha), w, z)[0]  # writes to w and z
        coefs.append(w.copy())
    return as_path(coefs, 0.0, problem)


def _group_path(problem: Problem, tol: float) -> Model:
    """Its solvers for groups, started at the last alpha's solution."""
    X, block = problem.columns(), problem.block
    indices, starts = grp_converter(block, problem.n_features)
    weights = np.full(len(starts) - 1, np.sqrt(block))
    squared = problem.loss == "squared"
    kind = GroupBCD if squared else GroupProxNewton
    solver = kind(tol=tol, max_iter=1000, fit_intercept=False, warm_start=True)
    datafit = (QuadraticGroup if squared else LogisticGroup)(starts, indices)
    w, z = np.zeros(problem.n_features), np.zeros(problem.n_samples)
    coefs = []
    for alpha in problem.strengths:
        penalty = WeightedGroupL2(alpha, weights, starts, indices)
        w = solver.solve(X, problem.y, datafit, penalty, w, z)[0]  # writes to w and z
        coefs.append(w.copy())
    return as_path(coefs, 0.0, problem)


PEERS = [
    Peer("skglm", "skglm", _fit, compiles=True),
    Peer("skglm path", "skglm", _path, PATH_TOLS, compiles=True),
    Peer("skglm group path", "skglm", _group_path, PATH_TOLS, compiles=True),
]
