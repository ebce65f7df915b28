"""LinearRegression, Ridge and RidgeClassifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import linear_model
from sklearn.utils.validation import column_or_1d

from .._base.typing import AnyArray, Array
from ..audit.foreign.objectives import Problem
from ..problem.objective import Objective, Point
from ..problem.row_space import Spectrum
from .base import Fit, Minimiser, own_tolerance
from .classes import binarizer_of
from .least_norm import of_least_norm, shortest_starts, spectrum_of
from .predictions import PredictsLabels, PredictsNumbers


class LinearRegression(Minimiser, PredictsNumbers, linear_model.LinearRegression):
    r"""Least squares, as `sklearn.linear_model.LinearRegression`, with a certificate.

    .. math:: \min_{w,b} \tfrac{1}{2} \sum_i s_i (x_i^T w + b - y_i)^2 / \sum_i s_i

    Among several minimisers (more features than samples, collinear columns) the one of least norm
    is returned, as scikit-learn does.

    Parameters
    ----------
    fit_intercept : bool, default=True
    copy_X : bool, default=True
        No effect: X is never modified.
    tol : float, default=1e-6
        The certified relative gap to reach.
    n_jobs : int, optional
        No effect on the optimum.
    positive : bool, default=False
        Force coefficients to be non-negative.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    rank_, singular_ : int, ndarray
        Of the centred, weighted X; for dense X only.
    certificate_ : Certificate

    Examples
    --------
    >>> from minimand.sklearn import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([2.]), 1.0)
    """

    _MANY = True
    __init__ = own_tolerance(linear_model.LinearRegression)

    def _fit_problem(self, X: Any, y: AnyArray, weights: Array | None) -> Fit:
        fit = super()._fit_problem(X, y, weights)
        if not issparse(X):
            spectrum = spectrum_of(fit)
            self.rank_ = spectrum.rank
            self.singular_ = _as_weighted(spectrum, fit, X, weights)
        return fit if self.positive else of_least_norm(fit)

    def _starts(self, problem: Problem) -> list[Point | None]:
        """The shortest minimisers, where they are found by iterations."""
        if self.positive:
            return super()._starts(problem)
        return shortest_starts(problem.objectives, self.tol)

    def _store(self, fit: Fit, X: Any, y: AnyArray) -> None:
        self.coef_ = fit.coef if y.ndim == 2 else fit.coef[0]
        self.intercept_ = self._intercept(fit, y)


def _as_weighted(spectrum: Spectrum, fit: Fit, X: Any, weights: Array | None) -> AnyArray:
    """Singular values of the centred √s·X with all its rows; rows of weight 0 add zeros."""
    total = X.shape[0] if weights is None else float(weights.sum())
    values = np.zeros(min(X.shape), dtype=fit.dtype)
    kept = fit.problem.objectives[0].n_samples
    values[: spectrum.values.size] = spectrum.values * np.sqrt(total / kept)
    return values


class _Ridge(Minimiser):
    """What ridge regression has in common for numbers and for labels."""

    _MANY = True

    def _store(self: Any, fit: Fit, X: Any, y: AnyArray) -> None:
        self.coef_ = fit.coef if len(fit.solutions) > 1 else fit.coef[0]
        self.intercept_ = self._intercept(fit, y)
        # scikit-learn has iterations for these solvers and None for the others.
        counted = self.solver in ("lsqr", "sag", "saga")
        self.n_iter_ = np.array(fit.iterations, dtype=np.int32) if counted else None
        self.solver_ = fit.solutions[0].solver


class Ridge(_Ridge, PredictsNumbers, linear_model.Ridge):
    r"""Ridge regression, as `sklearn.linear_model.Ridge`, with a certificate.

    .. math:: \min_{w,b} \sum_i s_i (x_i^T w + b - y_i)^2 + \alpha \|w\|_2^2

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        One strength for all targets, or one for each.
    fit_intercept : bool, default=True
    copy_X, solver, random_state
        No effect on the optimum: X is never modified, and the problem determines the solver.
    max_iter : int, optional
        Most iterations.
    tol : float, default=1e-6
        The certified relative gap to reach.
    positive : bool, default=False
        Force coefficients to be non-negative.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    certificate_ : Certificate
    n_iter_ : ndarray of shape (n_targets,), or None
        As in scikit-learn, None unless ``solver`` is "lsqr", "sag" or "saga".
    solver_ : str
        The minimand solver that ran.

    Examples
    --------
    >>> from minimand.sklearn import Ridge
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> Ridge(alpha=0.5).fit(X, y).certificate_.relative < 1e-6
    True
    """

    __init__ = own_tolerance(linear_model.Ridge)
    _sibling: Objective | None = None  # another problem of the same data, whose facts hold here

    def _problem(self, X: Any, y: AnyArray, weights: Array | None) -> Problem:
        problem, same = super()._problem(X, y, weights), self._sibling
        if same is None:
            return problem
        data: dict[str, Any] = {"design": same.design, "mass": same.mass, "known": same.facts}
        return replace(problem, objectives=[replace(o, **data) for o in problem.objectives])

    def _fit_problem(self, X: Any, y: AnyArray, weights: Array | None) -> Fit:
        fit = super()._fit_problem(X, y, weights)
        if np.all(self.alpha) or self.positive:
            return fit
        return of_least_norm(fit)


class RidgeClassifier(_Ridge, PredictsLabels, linear_model.RidgeClassifier):
    r"""Ridge regression of the labels ±1, as `sklearn.linear_model.RidgeClassifier`.

    .. math:: \min_{w,b} \sum_i s_i (x_i^T w + b - y_i)^2 + \alpha \|w\|_2^2, \quad y_i = \pm 1

    With k > 2 classes, or several labels per sample, there is one such problem for each.

    Parameters
    ----------
    alpha : float, default=1.0
    fit_intercept : bool, default=True
    copy_X, solver, random_state
        No effect on the optimum.
    max_iter : int, optional
    tol : float, default=1e-6
        The certified relative gap to reach.
    class_weight : dict or "balanced", optional
    positive : bool, default=False

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    certificate_ : Certificate
    n_iter_ : ndarray of shape (1,) or (n_classes,), or None
        None unless ``solver`` is "lsqr", "sag" or "saga".
    solver_ : str

    Examples
    --------
    >>> from minimand.sklearn import RidgeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(RidgeClassifier().fit(X, y).score(X, y), 2)
    0.85
    """

    _NUMERIC = False
    __init__ = own_tolerance(linear_model.RidgeClassifier)

    def _read_target(self, y: AnyArray, weights: Array | None) -> AnyArray:
        # predict uses the binarizer to see whether samples have one label or several.
        self._label_binarizer = binarizer_of(y)
        self.classes_ = self._label_binarizer.classes_
        several = self._label_binarizer.y_type_.startswith("multilabel")
        return (
            y if several or (type(y) is np.ndarray and y.ndim == 1) else column_or_1d(y, warn=True)
        )

    def _intercept(self, fit: Fit, y: AnyArray) -> Any:
        """An array with one entry per score, also for a single score."""
        return fit.intercept if self.fit_intercept else 0.0
