"""LassoLarsIC: alpha by an information criterion along a certified path."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import linear_model

from .._base.typing import AnyArray, Array, ArrayLike
from ..audit.foreign.scikit_learn import net_penalty
from ..estimators import Regressor
from ..estimators.callbacks import with_callbacks
from ..estimators.stopping import as_far_as_it_came, stoppable
from ..selection import alpha_max, path
from .base import TOL, DropIn
from .elastic_net import Lasso
from .least_squares import LinearRegression

_COUNT, _DEPTH = 100, 1e-4  # of the grid, above alpha = 0
_ROUNDS, _NEAR = 2, 20  # refinements between the neighbours of the best


class LassoLarsIC(DropIn, linear_model.LassoLarsIC):
    r"""The lasso, as `sklearn.linear_model.LassoLarsIC`: alpha by Akaike's or Bayes' criterion.

    .. math:: n \log(2 \pi \sigma^2) + \|X w + b - y\|^2 / \sigma^2 + c \,\|w\|_0, \quad
              c = 2 \text{ (AIC)}, \log n \text{ (BIC)}

    scikit-learn's ``alphas_`` are the knots of the path. Here they are a grid, each model certified
    to 1e-6, which is refined where the criterion is least, from the empty model down to alpha = 0
    (1e-4 of the largest where features outnumber samples). So the criterion is within a little of
    that at the best knot, and of knots that are all but equal another one may be chosen.

    Parameters
    ----------
    criterion : {"aic", "bic"}, default="aic"
    fit_intercept : bool, default=True
    verbose, precompute, eps, copy_X
        No effect on the optimum.
    max_iter : int, default=500
        Most iterations at an alpha.
    positive : bool, default=False
    noise_variance : float, optional
        σ²; by default that of least squares, if samples outnumber features.

    Attributes
    ----------
    alpha_ : float
    alphas_, criterion_ : ndarray of shape (n_alphas,)
    noise_variance_ : float
    n_iter_ : int
        Of the final fit.
    coef_, intercept_, certificate_

    Examples
    --------
    >>> from minimand.sklearn import LassoLarsIC
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoLarsIC("bic").fit(X, y)
    >>> int((model.coef_ != 0).sum()), model.certificate_.relative < 1e-6
    (7, True)
    """

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, copy_X: bool | None = None) -> Self:
        """Choose alpha and fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        copy_X : bool, optional
            No effect: X is never written to.
        """
        self._check_parameters()
        X, y, _ = self._check_data(X, y, None)
        with stoppable(self) as watch:
            self.noise_variance_ = self._variance(X, y)
            model = Regressor(
                "squared",
                net_penalty(self, 1.0),
                intercept=bool(self.fit_intercept),
                tol=TOL,
                max_iter=self.max_iter,
            )
            top = alpha_max(model, X, y) or 1.0
            grid = np.geomspace(top, _DEPTH * top, _COUNT)
            if X.shape[0] > X.shape[1]:
                grid = np.append(grid, 0.0)
            self.alphas_, self.criterion_ = self._criterion(model, X, y, grid)
            for _ in range(_ROUNDS):
                if not watch.interrupted:
                    self._refine(model, X, y)
            self.alpha_ = float(self.alphas_[np.argmin(self.criterion_)])
            self._fit_chosen(X, y)
        return self

    def _refine(self, model: Regressor, X: Any, y: AnyArray) -> None:
        """More alphas between the neighbours of the best: the criterion jumps at the knots."""
        best = int(np.argmin(self.criterion_))
        high = self.alphas_[max(best - 1, 0)]
        low = self.alphas_[min(best + 1, self.alphas_.size - 1)]
        new = np.setdiff1d(np.linspace(high, low, _NEAR), self.alphas_)[::-1]
        if not new.size:
            return
        new, more = self._criterion(model, X, y, new)
        alphas, values = np.append(self.alphas_, new), np.append(self.criterion_, more)
        order = np.argsort(-alphas, kind="stable")
        self.alphas_, self.criterion_ = alphas[order], values[order]

    def _criterion(
        self, model: Regressor, X: Any, y: AnyArray, alphas: Array
    ) -> tuple[Array, Array]:
        """The alphas that a path came to, and one value for each.

        The degrees of freedom of a lasso are its nonzeros.
        """
        found = as_far_as_it_came(path, model, X, y, alphas)
        n = X.shape[0]
        residuals = y[:, None] - np.asarray(X @ found.coefs.T) - found.intercepts
        factor = 2.0 if self.criterion == "aic" else np.log(n)
        # Where y is explained without error, any error at all counts more than nonzeros.
        floor = np.finfo(float).eps * (float(np.mean(np.square(y, dtype=float))) or 1.0)
        variance = max(float(self.noise_variance_), floor)
        values = (
            n * np.log(2 * np.pi * variance)
            + (residuals**2).sum(axis=0) / variance
            + factor * found.n_nonzero
        )
        return found.alphas, values

    def _variance(self, X: Any, y: AnyArray) -> float:
        """σ² as given, or the unbiased estimate of least squares."""
        if self.noise_variance is not None:
            return self.noise_variance
        n, d = X.shape
        if n <= d + self.fit_intercept:
            raise ValueError(
                f"You are using {type(self).__name__} in the case where the number of samples is "
                "smaller than the number of features. In this setting, getting a good estimate "
                "for the variance of the noise is not possible. Provide an estimate of the noise "
                f"variance in the constructor. (n_samples={n}, n_features={d})"
            )
        model = LinearRegression(fit_intercept=self.fit_intercept, positive=self.positive)
        left = y - as_far_as_it_came(model.fit, X, y).predict(X)
        return float(np.sum(left**2) / (n - d - self.fit_intercept))

    def _fit_chosen(self, X: Any, y: AnyArray) -> None:
        """The model at alpha_, by the drop-in of the lasso."""
        model = Lasso(
            self.alpha_,
            fit_intercept=self.fit_intercept,
            positive=self.positive,
            max_iter=self.max_iter,
        )
        as_far_as_it_came(model.fit, X, y)
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        self.certificate_, self.n_iter_ = model.certificate_, model.n_iter_
