"""RidgeCV: alpha by exact leave-one-out, or by folds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config, linear_model
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV

from .._base.typing import AnyArray, Array
from .._base.watch import Interrupted, as_far_as_it_came
from ..audit.foreign.objectives import problem_of
from ..problem.objective import Objective
from ..selection.leave_one_out import residuals_of_sum
from ..solvers.smooth.closed_form import ridge_path
from .least_squares import Ridge
from .tuned_base import TunedDropIn, check_alphas


class RidgeCV(TunedDropIn, linear_model.RidgeCV):
    r"""Ridge regression, as `sklearn.linear_model.RidgeCV`: with alpha by cross-validation.

    Without ``cv``, alpha is found by leaving out every sample once, which needs no refitting:

    .. math:: \mathrm{score}(\alpha) = -\tfrac1n \sum_i s_i (x_i^T w^{(-i)} + b^{(-i)} - y_i)^2

    Parameters
    ----------
    alphas : float or array-like, default=(0.1, 1.0, 10.0)
        The values to choose from; positive without ``cv``.
    fit_intercept : bool, default=True
    scoring : str or callable, optional
        A scorer; by default minus the mean squared error without ``cv``, R² with it.
    cv : int, splitter or iterable, optional
        By default, every sample is left out once.
    gcv_mode : {"auto", "svd", "eigen"}, optional
        No effect: the smaller of XᵀX and XXᵀ is decomposed.
    store_cv_results : bool, default=False
    alpha_per_target : bool, default=False
        Choose one alpha for every column of y; without ``cv`` only.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
    best_score_ : float or ndarray of shape (n_targets,)
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        If ``store_cv_results``: squared errors times weights, or with a scorer the predictions.
    coef_, intercept_, certificate_
        Of the model on all data, certified to 1e-6.

    Examples
    --------
    >>> from minimand.sklearn import RidgeCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1.0]).fit(X, y)
    >>> float(model.alpha_), model.certificate_.relative < 1e-6
    (0.01, True)
    """

    _MANY = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_alphas(self.alphas, "neither" if self.cv is None else "left")
        for name in ("store_cv_results", "alpha_per_target"):
            if self.cv is not None and getattr(self, name):
                raise ValueError(f"cv!=None and {name}=True are incompatible")

    def _choose(
        self, X: Any, y: AnyArray, weights: Array | None, params: dict[str, Any], extra: Any
    ) -> None:
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=float))
        if self.cv is None:
            heard = extra.scorer.score if extra else _given(weights)
            model = Ridge(1.0, fit_intercept=self.fit_intercept)
            # At alpha = 1, so that alphas multiply the penalties of these problems.
            problems = problem_of(model, X, y, weights).objectives
            self._leave_one_out(_Samples(X, y, weights, problems), alphas, heard)
            model.alpha, model._sibling = self.alpha_, problems[0]
            as_far_as_it_came(model._minimise_checked, X, y, weights)
        else:
            model = self._search(alphas, X, y, {**_given(weights), **params})
        for name in ("coef_", "intercept_", "certificate_"):
            setattr(self, name, getattr(model, name))

    def _leave_one_out(self, samples: _Samples, alphas: Array, heard: dict[str, Any]) -> None:
        """alpha_, best_score_ and cv_results_; ties go to the first alpha."""
        left, y, weights = samples.left_out(alphas), samples.y, samples.weights
        if self.scoring is None:
            values = left**2 if weights is None else weights * left**2
            by_target = -values.mean(axis=2)
            scores = by_target if self.alpha_per_target else by_target.mean(axis=0)
        else:
            values = samples.columns.T[:, None] - left
            scores = self._scored(values, y, heard)
        best = np.argmax(scores, axis=-1)
        if scores.ndim == 2 and len(scores) > 1:
            self.alpha_ = alphas[best]
            self.best_score_ = scores[np.arange(len(scores)), best]
        else:
            self.alpha_ = float(alphas[best.item()])
            self.best_score_ = scores.ravel()[best.item()]
        if self.store_cv_results:
            table = np.moveaxis(values, 2, 0)  # (n_samples, n_targets, n_alphas)
            table = table[:, 0] if y.ndim == 1 else table
            self.cv_results_ = np.ascontiguousarray(table, dtype=samples.X.dtype)

    def _scored(self, predictions: Array, y: AnyArray, heard: dict[str, Any]) -> Array:
        """The scorer's value for every alpha, and for every target if ``alpha_per_target``."""
        scorer = self._get_scorer()
        told = [np.ascontiguousarray(p) for p in np.moveaxis(predictions, 0, 2)]
        if self.alpha_per_target and y.ndim == 2:
            targets = range(y.shape[1])
            return np.array(
                [[scorer(_Told(), p[:, k], y[:, k], **heard) for p in told] for k in targets]
            )
        return np.array([scorer(_Told(), p[:, 0] if y.ndim == 1 else p, y, **heard) for p in told])

    def _search(self, alphas: Array, X: Any, y: AnyArray, params: dict[str, Any]) -> Ridge:
        """The best of a grid search over scikit-learn's folds."""
        model = Ridge(fit_intercept=self.fit_intercept)
        if get_config()["enable_metadata_routing"]:
            model.set_fit_request(sample_weight=True)
        search = GridSearchCV(model, {"alpha": alphas}, cv=self.cv, scoring=self._get_scorer())
        try:
            search.fit(X, y, **params)
        except Interrupted:  # before the fit on all data, which will stop at once
            self.alpha_, self.best_score_ = float(alphas[0]), np.nan
            model.set_params(alpha=self.alpha_)
            return as_far_as_it_came(model.fit, X, y, params.get("sample_weight"))
        self.alpha_, self.best_score_ = search.best_estimator_.alpha, search.best_score_
        return search.best_estimator_


class _Samples(NamedTuple):
    """All samples, those of weight 0 included, and the problem of every target at alpha = 1."""

    X: Any
    y: AnyArray
    weights: Array | None
    problems: list[Objective]

    @property
    def columns(self) -> AnyArray:
        """The targets as columns."""
        return self.y.reshape(self.X.shape[0], -1)

    def left_out(self, alphas: Array) -> Array:
        """y − prediction without the sample: (n_targets, n_alphas, n_samples)."""
        n, fitted = self.X.shape[0], self.problems[0].n_samples
        if fitted < 2:
            raise ValueError(
                "leaving one out needs two samples of positive weight, but there is one sample "
                "(n_samples=1): pass more data."
            )
        if fitted == n:
            return residuals_of_sum(self.problems, alphas)
        # A sample of weight 0 is in no fit: the model of all others predicts it.
        assert self.weights is not None
        there = self.weights > 0
        left = np.empty((len(self.problems), len(alphas), n))
        left[:, :, there] = residuals_of_sum(self.problems, alphas)
        for k, column in enumerate(self.columns.T):
            coefs, intercepts = ridge_path(self.problems[k], alphas)
            z = np.asarray(self.X[~there] @ coefs.T) + intercepts
            left[k][:, ~there] = (column[~there, None] - z).T
        return left


class _Told(RegressorMixin, BaseEstimator):
    """A regressor for scorers whose X already holds the predictions."""

    def predict(self, X: AnyArray) -> AnyArray:
        return X


def _given(weights: Array | None) -> dict[str, Any]:
    return {} if weights is None else {"sample_weight": weights}
