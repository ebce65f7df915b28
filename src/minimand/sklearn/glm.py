"""Generalised linear models: PoissonRegressor, GammaRegressor, TweedieRegressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import linear_model

from .._base.typing import AnyArray, Array, ArrayLike
from ..estimators.inputs.matrix import all_finite, is_plain
from .base import Minimiser, own_tolerance
from .predictions import in_order


class _Glm(Minimiser):
    """What the generalised linear models share; scikit-learn's class is the next base."""

    def _read_target(self: Any, y: AnyArray, weights: Array | None) -> AnyArray:
        self._base_loss = self._get_loss()  # predict and score need it
        return y

    def _linear_predictor(self: Any, X: ArrayLike) -> AnyArray:
        if in_order(self, X):
            found: AnyArray = X @ self.coef_ + self.intercept_
            return found
        return super()._linear_predictor(X)

    def score(self: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> float:
        """D², the share of the deviance that is explained."""
        plain = sample_weight is None and is_plain(y) and y.ndim == 1 and y.flags.c_contiguous
        loss = self._base_loss
        if not (plain and y.dtype == np.float64 and all_finite(y) and loss.in_y_true_range(y)):
            return super().score(X, y, sample_weight)
        scores = self._linear_predictor(X)
        if scores.dtype != y.dtype or scores.shape != y.shape:
            return super().score(X, y)
        least = loss.constant_to_optimal_zero(y_true=y).mean()
        null = np.full_like(y, loss.link.link(y.mean()))
        found, of_null = (loss(y_true=y, raw_prediction=z) + least for z in (scores, null))
        return float(1 - found / of_null)


class PoissonRegressor(_Glm, linear_model.PoissonRegressor):
    r"""Poisson regression, as `sklearn.linear_model.PoissonRegressor`, with a certificate.

    .. math:: \min_{w,b} \frac{\sum_i s_i (e^{z_i} - y_i z_i)}{\sum_i s_i}
        + \tfrac{1}{2}\alpha \|w\|_2^2, \quad z_i = x_i^T w + b

    Parameters
    ----------
    alpha : float, default=1.0
    fit_intercept : bool, default=True
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        No effect on the optimum.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-6
        The certified relative gap to reach.
    warm_start : bool, default=False
        Start from the last fit's coefficients.
    verbose : int, default=0
        Show a progress bar with the gap.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    certificate_ : Certificate
    n_iter_ : int

    Examples
    --------
    >>> from minimand.sklearn import PoissonRegressor
    >>> X, y = [[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21]
    >>> round(PoissonRegressor().fit(X, y).score(X, y), 2)
    0.99
    """

    __init__ = own_tolerance(linear_model.PoissonRegressor)


class GammaRegressor(_Glm, linear_model.GammaRegressor):
    r"""Gamma regression, as `sklearn.linear_model.GammaRegressor`, with a certificate.

    .. math:: \min_{w,b} \frac{\sum_i s_i (y_i e^{-z_i} + z_i)}{\sum_i s_i}
        + \tfrac{1}{2}\alpha \|w\|_2^2, \quad z_i = x_i^T w + b

    Parameters and attributes are those of `PoissonRegressor`.

    Examples
    --------
    >>> from minimand.sklearn import GammaRegressor
    >>> X, y = [[1, 2], [2, 3], [3, 4], [4, 3]], [19, 26, 33, 30]
    >>> round(GammaRegressor().fit(X, y).score(X, y), 2)
    0.77
    """

    __init__ = own_tolerance(linear_model.GammaRegressor)


class TweedieRegressor(_Glm, linear_model.TweedieRegressor):
    r"""Tweedie regression, as `sklearn.linear_model.TweedieRegressor`, with a certificate.

    The loss is half the deviance of ``power``. It is convex, and so can be certified, for powers
    from 1 to 2 with the log link and for power 0 with the identity link; others are refused.

    Parameters
    ----------
    power : float, default=0.0
    link : {"auto", "identity", "log"}, default="auto"
    alpha, fit_intercept, solver, max_iter, tol, warm_start, verbose
        As in `PoissonRegressor`.

    Examples
    --------
    >>> from minimand.sklearn import TweedieRegressor
    >>> X, y = [[1, 2], [2, 3], [3, 4], [4, 3]], [2, 3.5, 5, 5.5]
    >>> TweedieRegressor(power=1.5).fit(X, y).certificate_.relative < 1e-6
    True
    """

    __init__ = own_tolerance(linear_model.TweedieRegressor)
