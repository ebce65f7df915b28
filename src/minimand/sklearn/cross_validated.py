"""LassoCV and ElasticNetCV: alpha by cross-validation over certified paths."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn import linear_model
from sklearn.model_selection import check_cv

from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import as_far_as_it_came, chosen_so_far
from ..audit.foreign.scikit_learn import net_penalty
from ..estimators import Regressor
from ..selection import Tuned, alpha_max
from .base import own_tolerance
from .elastic_net import ElasticNet, Lasso
from .tuned_base import TunedDropIn, check_alphas

_FOUND = ("coef_", "intercept_", "dual_gap_", "n_iter_", "certificate_")


class NetCV(TunedDropIn):
    """What elastic nets with CV share, for one target or several."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.alphas, numbers.Integral):
            check_alphas(self.alphas)

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        return super()._routed(sample_weight, params) if params else None

    def _choose(
        self, X: Any, y: AnyArray, weights: Array | None, params: dict[str, Any], extra: Any
    ) -> None:
        # All l1_ratios have the same folds.
        folds = list(check_cv(self.cv).split(X, y, **(extra.splitter.split if extra else {})))
        ratios = np.atleast_1d(getattr(self, "l1_ratio", 1.0))
        found = [self._errors(float(ratio), X, y, weights, folds) for ratio in ratios]
        grids, errors = (np.stack(part) for part in list(zip(*found))[:2])
        # Ties go to the first, in the order of l1_ratio and of decreasing alpha.
        means = errors.mean(axis=2)  # nan where Ctrl-C came first
        means = np.where(np.isnan(means), np.inf, means)
        best, index = np.unravel_index(np.argmin(means), means.shape)
        self.alpha_ = grids[best, index]
        self.mse_path_ = np.squeeze(errors)
        self._course = chosen_so_far(int(np.isfinite(means).sum()), means.size)
        shared = len(ratios) == 1 or not isinstance(self.alphas, numbers.Integral)
        self.alphas_ = grids[0] if shared else grids
        self._fit_best(X, y, weights, ratios[best], found[best][2])

    def _errors(
        self, l1_ratio: float, X: Any, y: AnyArray, weights: Array | None, folds: Any
    ) -> tuple[Array, Array, tuple[Array, Any] | None]:
        """Decreasing alphas, (n_alphas, n_folds) mean squared errors of one l1_ratio, and a start.

        The start is for a fit at the best alpha; None if there is none.
        """
        model = Regressor(
            "squared",
            net_penalty(self, l1_ratio),
            intercept=bool(self.fit_intercept),
            tol=self.tol,
            max_iter=self.max_iter,
        )
        alphas = self.alphas
        if isinstance(alphas, numbers.Integral):
            if l1_ratio == 0:
                raise ValueError(
                    "Automatic alpha grid generation is not supported for l1_ratio=0. Please "
                    "supply a grid by providing your estimator with the appropriate `alphas=` "
                    "argument."
                )
            alphas = _grid(alpha_max(model, X, y, sample_weight=weights), self.eps, int(alphas))
        alphas = np.sort(np.asarray(alphas, dtype=float))[::-1]
        tuned = Tuned(
            model, alphas, folds, refit=False, n_jobs=self.n_jobs, verbose=bool(self.verbose)
        )
        with warnings.catch_warnings():  # of the edge of the grid, which scikit-learn does not give
            warnings.filterwarnings("ignore", "Tuned: the best alpha is the smallest")
            as_far_as_it_came(tuned.fit, X, y, weights)
        # Alphas that are given twice are solved once.
        place = np.searchsorted(-tuned.alphas_, -alphas)
        return alphas, _mean_squared_errors(tuned, len(folds), y)[place], tuned._start

    def _fit_best(
        self,
        X: Any,
        y: AnyArray,
        weights: Array | None,
        l1_ratio: float,
        start: tuple[Array, Any] | None,
    ) -> None:
        """The model on all data, by the drop-in without CV."""
        model = self._get_estimator()
        own = self.get_params()
        shared = {name: own[name] for name in own if name in model.get_params()}
        if isinstance(shared.get("precompute"), str):  # "auto", which models without CV do not take
            shared["precompute"] = False
        model.set_params(**shared, alpha=self.alpha_)
        if "l1_ratio" in shared:
            self.l1_ratio_ = l1_ratio
            model.set_params(l1_ratio=l1_ratio)
        if start is not None:
            model.set_params(warm_start=True)
            model.coef_, model.intercept_ = start
        as_far_as_it_came(model.fit, X, y, weights)
        for name in _FOUND:
            setattr(self, name, getattr(model, name))

    def _get_estimator(self) -> Any:
        """The drop-in without CV."""
        raise NotImplementedError(f"{type(self).__name__} must define _get_estimator")


class ElasticNetCV(NetCV, linear_model.ElasticNetCV):
    r"""The elastic net, as `sklearn.linear_model.ElasticNetCV`: with alpha and l1_ratio by CV.

    .. math:: \mathrm{MSE}(\alpha, \rho) = \tfrac1K \sum_k \frac{\sum_{i \in k} s_i
              (x_i^T w^{(-k)} + b^{(-k)} - y_i)^2}{\sum_{i \in k} s_i}

    Every model of every fold is certified to ``tol``.

    Parameters
    ----------
    l1_ratio : float or array-like, default=0.5
        One value, or several to choose from.
    eps : float, default=1e-3
        The smallest alpha divided by the largest.
    alphas : int or array-like, default=100
        Their number or values.
    cv : int, splitter or iterable, optional
    n_jobs : int, optional
        Number of folds that run at the same time, in threads.
    fit_intercept, precompute, max_iter, tol, copy_X, verbose, positive, random_state, selection
        As in `ElasticNet`.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The best values.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
    mse_path_ : ndarray of shape (n_alphas, n_folds) or (n_l1_ratio, n_alphas, n_folds)
    coef_, intercept_, dual_gap_, n_iter_, certificate_
        Of the model on all data.

    Examples
    --------
    >>> from minimand.sklearn import ElasticNetCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9], alphas=20).fit(X, y)
    >>> model.mse_path_.shape, model.certificate_.relative < 1e-6
    ((2, 20, 5), True)
    """

    __init__ = own_tolerance(linear_model.ElasticNetCV)

    def _check_data(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike
    ) -> tuple[Any, AnyArray, Array | None]:
        _refuse_columns(self, y)
        return super()._check_data(X, y, sample_weight)

    def _get_estimator(self) -> Any:
        return ElasticNet()


class LassoCV(ElasticNetCV, linear_model.LassoCV):
    r"""The lasso, as `sklearn.linear_model.LassoCV`: with alpha by cross-validation.

    Parameters and attributes are those of `ElasticNetCV`, without ``l1_ratio``.

    Examples
    --------
    >>> from minimand.sklearn import LassoCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> model.mse_path_.shape, model.certificate_.relative < 1e-6
    ((100, 5), True)
    """

    __init__ = own_tolerance(linear_model.LassoCV)

    def _get_estimator(self) -> Any:
        return Lasso()


def _refuse_columns(model: Any, y: Any) -> None:
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1:
        name = type(model).__name__
        raise ValueError(
            f"For multi-task outputs, use MultiTask{name}, or {name} on one column of y at a time."
        )


def _grid(top: float, eps: float, count: int) -> Array:
    """scikit-learn's alphas: evenly spaced on a log scale from the one that empties the model."""
    least = np.finfo(float).resolution
    return np.full(count, least) if top <= least else np.geomspace(top, top * eps, num=count)


def _mean_squared_errors(tuned: Tuned, n_folds: int, y: AnyArray) -> Array:
    """(n_alphas, n_folds): scores are minus half of them, added up over the columns of y."""
    scores = [tuned.cv_results_[f"split{k}_test_score"] for k in range(n_folds)]
    n_targets = 1 if y.ndim == 1 else y.shape[1]
    return -2.0 / n_targets * np.stack(scores, axis=1)
