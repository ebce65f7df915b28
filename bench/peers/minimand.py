"""minimand itself, as a user would call it."""

from __future__ import annotations

from typing import Any, NamedTuple

import minimand as mm

from ..judge import Model
from ..problem import Problem
from .base import as_model


def estimator(problem: Problem, tol: float) -> Any:
    """The estimator for a problem."""
    kind = mm.Regressor if problem.loss == "squared" else mm.Classifier
    return kind(problem.loss, problem.penalty, problem.alpha, intercept=problem.intercept, tol=tol)


class Fitted(NamedTuple):
    """The model, the relative gap on its own certificate, and the solver that was chosen."""

    model: Model
    relative: float
    solver: str


def fit(problem: Problem, tol: float) -> Fitted:
    """Fit as a user would."""
    fitted = estimator(problem, tol).fit(problem.X, problem.y)
    model = as_model(fitted.coef_, fitted.intercept_, problem)
    return Fitted(model, fitted.certificate_.relative, fitted.solver_)
