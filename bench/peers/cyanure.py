"""Cyanure: variance-reduced and quasi-Newton solvers, stopped by its own duality gap."""

from __future__ import annotations

import os

from cyanure.estimators import Classifier

from ..measures.judge import Model
from ..problems.base import Problem
from .base import Peer, affordable_epochs, as_model, one_versus_rest

_TRIAL = 20  # epochs that are timed: nothing but their number stops it


def _fit(problem: Problem, tol: float) -> Model:
    epochs = problem.form(
        "cyanure epochs",
        lambda: affordable_epochs(
            lambda n: _fit_for(problem, 0.0, n), _TRIAL, 0.5 * problem.seconds
        ),
    )
    return _fit_for(problem, tol, epochs)


def _fit_for(problem: Problem, tol: float, epochs: int) -> Model:
    model = Classifier(
        loss="multiclass-logistic" if problem.formulas.joint else "logistic",
        penalty=problem.penalty,
        lambda_1=problem.alpha,
        fit_intercept=problem.intercept,
        tol=tol,
        max_iter=epochs,
        verbose=False,
        n_threads=os.cpu_count() or 1,
    )
    model.fit(problem.rows(), problem.y)
    coef = model.coef_.T if problem.formulas.joint else model.coef_  # (d, k) if joint
    return as_model(coef, model.intercept_ if problem.intercept else 0.0, problem)


PEERS = [
    Peer("cyanure", "cyanure", one_versus_rest(_fit), limit="epochs for half of the cap at most")
]
