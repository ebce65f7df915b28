"""Snap ML: dual or primal coordinate descent on both cores, in float32."""

from __future__ import annotations

import os

import numpy as np
from snapml import LogisticRegression

from ..measures.judge import Model
from ..problems.base import Problem
from .base import Fit, Peer, as_model, decades, each_alpha


def _solver(dual: bool) -> Fit:
    def fit(problem: Problem, tol: float) -> Model:
        model = LogisticRegression(
            regularizer=problem.alpha * problem.n_samples,
            penalty=problem.penalty,
            dual=dual,
            tol=tol,
            max_iter=20000,
            n_jobs=os.cpu_count() or 1,
            fit_intercept=False,
        )
        X = problem.rows(np.float32) if dual else problem.columns(np.float32)
        model.fit(X, problem.y)
        return as_model(model.coef_, 0.0, problem)

    return fit


PRIMAL = Peer("snapml primal", "snapml", _solver(False), decades(0, -8))

PEERS = [
    Peer("snapml dual", "snapml", _solver(True), decades(0, -8)),
    PRIMAL,
    each_alpha(PRIMAL),
]
