"""SVR, NuSVR and OneClassSVM: one machine on all samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import svm

from ..._base.typing import AnyArray, Array
from ...design import KernelDesign
from ...losses import EpsilonInsensitive
from ...solvers import Control
from ...solvers.kernel import tasks
from ..base import own_tolerance
from .machine import KernelMachine
from .on_columns import start_on_columns


class OfNumbers(KernelMachine):
    """One machine, whose targets are numbers."""

    def _validate_targets(self: Any, y: AnyArray) -> Array:
        """Scikit-learn's fit has checked a vector of numbers before."""
        if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind == "f":
            return y.astype(np.float64, copy=False)
        found: Array = super()._validate_targets(y)
        return found


class SVR(OfNumbers, svm.SVR):
    r"""Kernel support vector regression, as `sklearn.svm.SVR`, with a certificate.

    .. math:: \min_{f,b} \tfrac{1}{2} \|f\|_H^2
        + C \sum_i s_i \max(0, |y_i - f(x_i) - b| - \varepsilon)

    Parameters
    ----------
    kernel, degree, gamma, coef0, shrinking, cache_size, verbose, max_iter
        As in `SVC`.
    tol : float, default=1e-6
        The certified relative gap to reach.
    C : float, default=1.0
        ``inf`` stands for 1e10.
    epsilon : float, default=0.1
        Errors up to epsilon cost nothing.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn.
    certificate_ : Certificate

    Examples
    --------
    >>> from minimand.sklearn import SVR
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SVR(C=100.0).fit(X, y).certificate_.relative <= 1e-6
    True
    """

    __init__ = own_tolerance(svm.SVR)

    def _task(self, y: Array, weights: Array, lengths: Array) -> tasks.BoxTask:
        return tasks.regression(y, self._bounds(weights), float(self.epsilon))

    def _begin(self, design: KernelDesign, task: tasks.BoxTask, control: Control) -> Array | None:
        loss, y = EpsilonInsensitive(float(self.epsilon)), 0.5 * (task.box.above + task.box.below)
        return start_on_columns(loss, design, y, task, control)


class NuSVR(OfNumbers, svm.NuSVR):
    r"""Regression with a given share of support vectors, as `sklearn.svm.NuSVR`.

    .. math:: \min_{f,b,\varepsilon} \tfrac{1}{2} \|f\|_H^2
        + C \sum_i s_i (\nu \varepsilon + \max(0, |y_i - f(x_i) - b| - \varepsilon))

    Parameters
    ----------
    nu : float, default=0.5
        At most this share of the samples lies outside the tube.
    C, kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in `SVR`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn.
    certificate_ : Certificate

    Examples
    --------
    >>> from minimand.sklearn import NuSVR
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> NuSVR(C=100.0).fit(X, y).certificate_.relative <= 1e-6
    True
    """

    __init__ = own_tolerance(svm.NuSVR)

    def _task(self, y: Array, weights: Array, lengths: Array) -> tasks.BoxTask:
        return tasks.nu_regression(y, self._bounds(weights), float(self.nu))

    def _model(self, a: Array, levels: Array) -> tuple[Array, float]:
        first, second = np.split(a, 2)
        return first + second, float(levels.mean())


class OneClassSVM(OfNumbers, svm.OneClassSVM):
    r"""Outliers by a half-space of features, as `sklearn.svm.OneClassSVM`, with a certificate.

    .. math:: \min_{f,\rho} \tfrac{1}{2} \|f\|_H^2 - \nu \rho \sum_i s_i
        + \sum_i s_i \max(0, \rho - f(x_i))

    The gap is relative to the distance of f = 0 from the optimum.

    Parameters
    ----------
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in `SVC`.
    nu : float, default=0.5
        At most this share of the training samples is called an outlier.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, offset_, coef_
        As in scikit-learn.
    certificate_ : Certificate

    Examples
    --------
    >>> from minimand.sklearn import OneClassSVM
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> bool((model.predict(X) == -1).mean() <= 0.12), model.certificate_.relative <= 1e-6
    (True, True)
    """

    __init__ = own_tolerance(svm.OneClassSVM)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model; y is ignored.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        return super().fit(X, y, sample_weight)

    def _task(self, y: Array, weights: Array, lengths: Array) -> tasks.BoxTask:
        return tasks.one_class(weights, float(self.nu), lengths)

    def _dense_predict(self, X: Any) -> AnyArray:
        return np.where(super()._dense_predict(X) >= 0, 1.0, -1.0)

    def _sparse_predict(self, X: Any) -> AnyArray:
        return np.where(super()._sparse_predict(X) >= 0, 1.0, -1.0)
