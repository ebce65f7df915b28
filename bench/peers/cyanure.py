"""Cyanure: variance-reduced and quasi-Newton solvers, stopped by its own duality gap."""

from __future__ import annotations

import os

from cyanure.estimators import Classifier

from ..judge import Model
from ..problem import Problem
from .base import Peer, as_model, one_versus_rest


def _fit(problem: Problem, tol: float) -> Model:
    model = Classifier(
        loss="logistic",
        penalty=problem.penalty,
        lambda_1=problem.alpha,
        fit_intercept=problem.intercept,
        tol=tol,
        max_iter=50000,
        verbose=False,
        n_threads=os.cpu_count() or 1,
    )
    model.fit(problem.rows(), problem.y)
    return as_model(model.coef_, model.intercept_ if problem.intercept else 0.0, problem)


PEERS = [Peer("cyanure", "cyanure", one_versus_rest(_fit), limit="50000 epochs at most")]
