"""Multi-task elastic nets and lassos: a feature is used for all targets or for none."""

from __future__ import annotations

from typing import Any

from sklearn import linear_model

from .._base.typing import AnyArray, Array, ArrayLike
from .base import DropIn, Fit, Minimiser, own_tolerance
from .cross_validated import NetCV


class _SeveralTargets(DropIn):
    """What the four classes share: y has two dimensions."""

    _MANY = True

    def _check_data(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike
    ) -> tuple[Any, AnyArray, Array | None]:
        X, y, weights = super()._check_data(X, y, sample_weight)
        if y.ndim == 1:
            single = type(self).__name__.removeprefix("MultiTask")
            raise ValueError(f"For mono-task outputs, use {single}")
        return X, y, weights


class MultiTaskElasticNet(_SeveralTargets, Minimiser, linear_model.MultiTaskElasticNet):
    r"""The elastic net on the rows of W, as `sklearn.linear_model.MultiTaskElasticNet`.

    .. math:: \min_{W,b} \frac{\sum_i s_i \|W^T x_i + b - y_i\|_2^2}{2 \sum_i s_i}
        + \alpha\rho \sum_j \|W_j\|_2 + \tfrac{1}{2}\alpha(1-\rho) \|W\|_F^2,
        \quad \rho = \text{l1\_ratio}

    :math:`W_j` is row j of W: the coefficients of one feature for all targets.

    Parameters
    ----------
    alpha : float, default=1.0
    l1_ratio : float, default=0.5
    fit_intercept : bool, default=True
    copy_X, random_state, selection
        No effect on the optimum: X is never modified, and the order of rows follows from the gap.
    max_iter : int, default=1000
        Most iterations.
    tol : float, default=1e-6
        The certified relative gap to reach.
    warm_start : bool, default=False
        Start from the last fit's coefficients.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        The transpose of W.
    sparse_coef_ : sparse matrix
    intercept_ : ndarray of shape (n_targets,)
    certificate_ : Certificate
    dual_gap_, eps_ : float
        The certified gap, and the gap that ``tol`` asks for.
    n_iter_ : int

    Examples
    --------
    >>> from minimand.sklearn import MultiTaskElasticNet
    >>> from sklearn.datasets import load_linnerud
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = MultiTaskElasticNet(alpha=10.0).fit(X, Y)
    >>> model.coef_.shape, model.certificate_.relative < 1e-6
    ((3, 3), True)
    """

    __init__ = own_tolerance(linear_model.MultiTaskElasticNet)

    def _store(self, fit: Fit, X: Any, y: AnyArray) -> None:
        self.coef_, self.intercept_ = fit.coef, self._intercept(fit, y)
        self.dual_gap_ = sum(s.certificate.gap for s in fit.solutions)
        self.eps_ = self.tol * sum(o.scale for o in fit.problem.objectives)
        self.n_iter_ = max(fit.iterations)


class MultiTaskLasso(MultiTaskElasticNet, linear_model.MultiTaskLasso):
    r"""The lasso on the rows of W, as `sklearn.linear_model.MultiTaskLasso`, with a certificate.

    .. math:: \min_{W,b} \frac{\sum_i s_i \|W^T x_i + b - y_i\|_2^2}{2 \sum_i s_i}
        + \alpha \sum_j \|W_j\|_2

    Parameters and attributes are those of `MultiTaskElasticNet`, without ``l1_ratio``.

    Examples
    --------
    >>> from minimand.sklearn import MultiTaskLasso
    >>> from sklearn.datasets import load_linnerud
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = MultiTaskLasso(alpha=20.0).fit(X, Y)
    >>> (model.coef_ != 0).all(axis=0).tolist(), model.certificate_.relative < 1e-6
    ([False, True, True], True)
    """

    __init__ = own_tolerance(linear_model.MultiTaskLasso)


class MultiTaskElasticNetCV(_SeveralTargets, NetCV, linear_model.MultiTaskElasticNetCV):
    r"""`MultiTaskElasticNet` with alpha and l1_ratio by CV, as scikit-learn's of this name.

    .. math:: \mathrm{MSE}(\alpha, \rho) = \tfrac1K \sum_k \frac{\sum_{i \in k} s_i
              \|W^{(-k)T} x_i + b^{(-k)} - y_i\|_2^2}{n_{\text{targets}} \sum_{i \in k} s_i}

    Every model of every fold is certified to ``tol``.

    Parameters
    ----------
    l1_ratio, eps, alphas, cv, n_jobs
        As in `ElasticNetCV`.
    fit_intercept, max_iter, tol, copy_X, verbose, random_state, selection
        As in `MultiTaskElasticNet`.

    Attributes
    ----------
    alpha_, l1_ratio_, alphas_, mse_path_
        As in `ElasticNetCV`.
    coef_, intercept_, dual_gap_, n_iter_, certificate_
        Of the model on all data, as in `MultiTaskElasticNet`.

    Examples
    --------
    >>> from minimand.sklearn import MultiTaskElasticNetCV
    >>> from sklearn.datasets import load_linnerud
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = MultiTaskElasticNetCV(l1_ratio=[0.5, 0.9], alphas=10, cv=3).fit(X, Y)
    >>> model.mse_path_.shape, model.certificate_.relative < 1e-6
    ((2, 10, 3), True)
    """

    __init__ = own_tolerance(linear_model.MultiTaskElasticNetCV)

    def _get_estimator(self) -> Any:
        return MultiTaskElasticNet()


class MultiTaskLassoCV(_SeveralTargets, NetCV, linear_model.MultiTaskLassoCV):
    r"""`MultiTaskLasso` with alpha by cross-validation, as `sklearn.linear_model.MultiTaskLassoCV`.

    Parameters and attributes are those of `MultiTaskElasticNetCV`, without ``l1_ratio``.

    Examples
    --------
    >>> from minimand.sklearn import MultiTaskLassoCV
    >>> from sklearn.datasets import load_linnerud
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = MultiTaskLassoCV(alphas=10, cv=3).fit(X, Y)
    >>> model.mse_path_.shape, model.certificate_.relative < 1e-6
    ((10, 3), True)
    """

    __init__ = own_tolerance(linear_model.MultiTaskLassoCV)

    def _get_estimator(self) -> Any:
        return MultiTaskLasso()
