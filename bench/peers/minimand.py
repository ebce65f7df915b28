"""minimand itself, as a user would call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import minimand as mm

from ..measures.judge import Model
from ..problems.base import Array, Problem
from ..problems.tuning import Tuning, best_index
from .base import as_model, as_path

_FAMILIES = {
    "quantile": mm.Quantile,
    "epsilon_insensitive": mm.EpsilonInsensitive,
    "squared_epsilon_insensitive": mm.SquaredEpsilonInsensitive,
}


def estimator(problem: Problem, tol: float) -> Any:
    """The estimator for a problem."""
    kind: Any = mm.Classifier if problem.formulas.labels else mm.Regressor
    family = _FAMILIES.get(problem.loss)
    loss = problem.loss if family is None else family(problem.parameter)
    r = problem.l1_ratio
    penalty: Any = r * mm.L1() + (1 - r) * mm.L2() if 0 < r < 1 else problem.penalty
    if problem.penalty == "group_l2":
        penalty = mm.GroupL2(np.arange(problem.n_features) // problem.block)
    return kind(loss, penalty, problem.alpha, intercept=problem.intercept, tol=tol)


class Fitted(NamedTuple):
    """The result, the relative gap on its own certificate, and how it was found."""

    model: Any  # Model, or Tuning
    relative: float
    how: str
    multipliers: Callable[[], Array]  # dual points, which a user may never ask for

    @property
    def theta(self) -> Array:
        """Dual points as rows, one per score or alpha."""
        return self.multipliers()


def fit(problem: Problem, tol: float, max_seconds: float | None = None) -> Fitted:
    """Fit as a user would; `max_seconds` is for single fits."""
    if problem.folds is not None:
        return _tuned(problem, tol)
    if problem.special is not None:
        return _special(problem, problem.special.estimator(problem, tol), max_seconds)
    if problem.alphas is not None:
        return _path(problem, tol)
    fitted = estimator(problem, tol).set_params(max_seconds=max_seconds)
    fitted.fit(problem.X, problem.y)
    model = as_model(fitted.coef_, fitted.intercept_, problem)
    theta = np.asarray(fitted.certificate_.dual_point).reshape(problem.n_samples, -1).T
    return Fitted(model, fitted.certificate_.relative, fitted.solver_, lambda: theta)


def _special(problem: Problem, model: Any, max_seconds: float | None) -> Fitted:
    """Several outputs, or a path of them; dual points are (n_alphas, n, k)."""
    if problem.alphas is not None:
        found = mm.path(model, problem.X, problem.y, problem.alphas)
        coefs = found.coefs.reshape(-1, problem.n_features)
        worst = max(c.relative for c in found.certificates)
        theta = np.array([c.dual_point for c in found.certificates])
        return Fitted(Model(coefs, found.intercepts.ravel()), worst, "path", lambda: theta)
    queries = getattr(problem.special, "queries", None)
    model.set_params(max_seconds=max_seconds)
    if queries is None:
        model.fit(problem.X, problem.y)
    else:
        model.fit(problem.X, problem.y, groups=queries)
    coefs, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    theta = np.asarray(model.certificate_.dual_point)[None]
    return Fitted(Model(coefs, b), model.certificate_.relative, model.solver_, lambda: theta)


def _path(problem: Problem, tol: float) -> Fitted:
    """All alphas of a path; its certificate is the worst of theirs."""
    found = mm.path(estimator(problem, tol), problem.X, problem.y, problem.alphas)
    model = as_path(found.coefs, found.intercepts, problem)

    def theta() -> Array:
        return np.array([c.dual_point for c in found.certificates]).reshape(len(found), -1)

    return Fitted(model, max(c.relative for c in found.certificates), "path", theta)


def _tuned(problem: Problem, tol: float) -> Fitted:
    """Alpha by cross-validation; its certificate is the worst of all folds' and of the path's."""
    kind: Any = mm.Tuned  # type: ignore[attr-defined, unused-ignore]
    base = estimator(problem, tol)
    found = kind(base, problem.alphas, cv=problem.folds).fit(problem.X, problem.y)
    results, whole, best = found.cv_results_, found.path_, found.best_estimator_
    splits = [results[f"split{k}_test_score"] for k in range(len(problem.folds or []))]
    own = max(*results["max_relative_gap"], *(c.relative for c in whole.certificates))
    tuning = Tuning(
        errors=-2.0 * np.array(splits).T,  # scores are minus the mean of ½r²
        chosen=best_index(problem, found.alpha_),
        model=as_model(best.coef_, best.intercept_, problem),
        path=as_path(whole.coefs, whole.intercepts, problem),
    )
    return Fitted(tuning, float(own), "Tuned", lambda: np.empty((0, problem.n_samples)))
