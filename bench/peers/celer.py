"""celer: lasso and L1 logistic by working sets with extrapolated dual points."""

from __future__ import annotations

import numpy as np
from celer import Lasso, celer_path

from ..judge import Model
from ..problem import Problem
from .base import Peer, as_model


def _fit(problem: Problem, tol: float) -> Model:
    if problem.loss == "squared":
        model = Lasso(problem.alpha, fit_intercept=problem.intercept, tol=tol, max_iter=1000)
        model.fit(problem.columns(), problem.y)
        return as_model(model.coef_, model.intercept_, problem)
    # The estimator would convert CSC to CSR and back at every fit; its solver takes CSC.
    alphas = np.array([1.0 / problem.C])
    _, coefs, _ = celer_path(
        problem.columns(), problem.y, "logreg", alphas=alphas, tol=tol, max_iter=1000, use_PN=True
    )
    return as_model(coefs[:, 0], 0.0, problem)


PEERS = [Peer("celer", "celer", _fit)]
