"""Lasso and ElasticNet."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import linear_model

from .._base.typing import AnyArray, ArrayLike
from ..estimators.callbacks import with_callbacks
from ..problem.objective import Objective
from .base import Fit, Minimiser, own_tolerance
from .predictions import PredictsNumbers


class ElasticNet(Minimiser, PredictsNumbers, linear_model.ElasticNet):
    r"""The elastic net, as `sklearn.linear_model.ElasticNet`, with a certificate.

    .. math:: \min_{w,b} \frac{\sum_i s_i (x_i^T w + b - y_i)^2}{2 \sum_i s_i}
        + \alpha\rho \|w\|_1 + \tfrac{1}{2}\alpha(1-\rho) \|w\|_2^2, \quad \rho = \text{l1\_ratio}

    Parameters
    ----------
    alpha : float, default=1.0
    l1_ratio : float, default=0.5
    fit_intercept : bool, default=True
    precompute : bool or array-like of shape (n_features, n_features), default=False
        No effect on the optimum; a Gram matrix that is not X's is refused.
    max_iter : int, default=1000
        Most iterations.
    copy_X, random_state, selection
        No effect on the optimum: X is never modified, and the order of columns follows from the
        gap.
    tol : float, default=1e-6
        The certified relative gap to reach.
    warm_start : bool, default=False
        Start from the last fit's coefficients.
    positive : bool, default=False
        Force coefficients to be non-negative.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    sparse_coef_ : sparse matrix
    intercept_ : float or ndarray of shape (n_targets,)
    certificate_ : Certificate
    dual_gap_ : float or ndarray of shape (n_targets,)
        The certified gap of every target.
    n_iter_ : int or list of int

    Examples
    --------
    >>> from minimand.sklearn import ElasticNet
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01, l1_ratio=0.7).fit(X, y)
    >>> model.certificate_.relative < 1e-6
    True
    """

    _MANY = True
    __init__ = own_tolerance(linear_model.ElasticNet)

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, check_input: bool = True
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : float or array-like of shape (n_samples,), optional
        check_input : bool, default=True
            No effect: input is always checked.
        """
        return self._minimise(X, y, sample_weight)

    def _store(self, fit: Fit, X: Any, y: AnyArray) -> None:
        if hasattr(self.precompute, "__array__") and not sparse.issparse(X):
            _check_gram(self.precompute, fit.problem.objectives[0])
        gaps = np.array([s.certificate.gap for s in fit.solutions], dtype=fit.dtype)
        one = len(fit.solutions) == 1
        self.coef_ = fit.coef[0] if one else fit.coef
        self.intercept_ = self._intercept(fit, y)
        self.dual_gap_ = gaps[0] if one else gaps
        self.n_iter_ = fit.iterations[0] if one else fit.iterations


class Lasso(ElasticNet, linear_model.Lasso):
    r"""The lasso, as `sklearn.linear_model.Lasso`, with a certificate.

    .. math:: \min_{w,b} \frac{\sum_i s_i (x_i^T w + b - y_i)^2}{2 \sum_i s_i} + \alpha \|w\|_1

    Parameters and attributes are those of `ElasticNet`, without ``l1_ratio``.

    Examples
    --------
    >>> from minimand.sklearn import Lasso
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=0.5).fit(X, y)
    >>> int((model.coef_ != 0).sum()), model.certificate_.relative < 1e-6
    (4, True)
    """

    __init__ = own_tolerance(linear_model.Lasso)


def _check_gram(precompute: Any, objective: Objective) -> None:
    """Refuse a Gram matrix that is not XᵀX, by comparing products with one vector."""
    n, d = objective.design.shape
    gram = np.asarray(precompute, dtype=float)
    if gram.shape != (d, d):
        raise ValueError(
            f"precompute has shape {gram.shape}, but X has {d} features: pass XᵀX, True or False."
        )
    direction = np.cos(np.arange(1.0, d + 1.0))
    mass = n * objective.mass
    expected, _ = objective.design.curvature_product(direction, 0.0, mass)
    if objective.intercept:
        mean = objective.column_means
        if not np.allclose(mean, 0.0):
            warnings.warn(
                "Gram matrix was provided but X was centered to fit intercept: recomputing Gram "
                "matrix.",
                UserWarning,
                stacklevel=6,
            )
            return
    size = np.sqrt(np.diag(gram) @ direction**2 * np.diag(gram))
    single = np.asarray(precompute).dtype == np.float32
    # Shares of the entries, and an absolute part; safeguards: rounding of a Gram in float32 or 64.
    if (np.abs(gram @ direction - expected) > (1e-3 if single else 1e-6) * size + 1e-5).any():
        raise ValueError(
            "Gram matrix passed in via 'precompute' parameter did not pass validation when its "
            "product with a vector was checked: pass XᵀX of the weighted, centred X, or True."
        )
