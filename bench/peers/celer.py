"""celer: lasso and L1 logistic by working sets with extrapolated dual points."""

from __future__ import annotations

from typing import Any

import numpy as np
from celer import Lasso, LassoCV, celer_path

from ..measures.judge import Model
from ..problems.base import Problem
from .base import PATH_TOLS, Peer, as_model, as_path
from .sklearn import lasso_cv

# Its defaults; a thousand rounds of fifty thousand epochs could go on for hours.
_LIMITS = {"max_iter": 100, "max_epochs": 50000}


def _fit(problem: Problem, tol: float) -> Model:
    if problem.loss == "squared":
        model = Lasso(problem.alpha, fit_intercept=problem.intercept, tol=tol, **_LIMITS)
        model.fit(problem.columns(), problem.y)
        return as_model(model.coef_, model.intercept_, problem)
    # The estimator would convert CSC to CSR and back at every fit; its solver takes CSC.
    return _path(problem, tol)


def _path(problem: Problem, tol: float) -> Model:
    """Its logistic loss is a sum."""
    squared = problem.loss == "squared"
    size = 1.0 if squared else float(problem.n_samples)
    _, coefs, _ = celer_path(
        problem.columns(),
        problem.y,
        "lasso" if squared else "logreg",
        alphas=problem.strengths * size,
        l1_ratio=problem.l1_ratio,
        tol=tol,
        prune=True,
        use_PN=not squared,
        **_LIMITS,
    )
    return as_path(coefs.T, 0.0, problem)


def _group_path(problem: Problem, tol: float) -> Model:
    """Its groups have no weights by default."""
    count = problem.n_features // problem.block
    _, coefs, _ = celer_path(
        problem.columns(),
        problem.y,
        "grouplasso",
        alphas=problem.strengths,
        groups=problem.block,
        weights=np.full(count, np.sqrt(problem.block)),
        tol=tol,
        prune=True,
        **_LIMITS,
    )
    return as_path(coefs.T, 0.0, problem)


class _LassoCV(LassoCV):
    """celer's own, with a constructor that newer versions of scikit-learn accept."""

    def __init__(
        self,
        alphas: Any = 100,
        cv: Any = None,
        tol: float = 1e-4,
        max_iter: int = 100,
        n_jobs: int | None = None,
        fit_intercept: bool = True,
        precompute: str = "auto",
        positive: bool = False,
    ) -> None:
        self.alphas, self.cv, self.tol, self.max_iter = alphas, cv, tol, max_iter
        self.n_jobs, self.fit_intercept, self.precompute = n_jobs, fit_intercept, precompute
        self.positive, self.eps, self.copy_X, self.selection = positive, 1e-3, True, "cyclic"
        self.random_state, self.verbose, self.p0, self.prune = None, 0, 10, True
        self.max_epochs = _LIMITS["max_epochs"]


PEERS = [
    Peer("celer", "celer", _fit),
    Peer("celer path", "celer", _path, PATH_TOLS),
    Peer("celer group path", "celer", _group_path, PATH_TOLS),
    Peer("celer LassoCV", "celer", lasso_cv(_LassoCV, _LIMITS["max_iter"]), PATH_TOLS, pooled=True),
]
