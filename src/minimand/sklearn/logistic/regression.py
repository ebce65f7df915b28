"""LogisticRegression."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn import linear_model

from ..._base.typing import AnyArray, Array
from ...audit.foreign.objectives import Problem
from ..base import Fit, Minimiser, own_tolerance
from ..classes import classes_of
from ..predictions import PredictsLabels
from .absent_classes import in_all_classes, of_present_classes

_DEFAULTS = {
    name: parameter.default
    for name, parameter in signature(linear_model.LogisticRegression).parameters.items()
}


class LogisticRegression(Minimiser, PredictsLabels, linear_model.LogisticRegression):
    r"""Logistic regression, as `sklearn.linear_model.LogisticRegression`, with a certificate.

    .. math:: \min_{w,b} C \sum_i s_i \log(1 + e^{-y_i (x_i^T w + b)})
        + \rho \|w\|_1 + \tfrac{1}{2}(1-\rho) \|w\|_2^2, \quad \rho = \text{l1\_ratio}

    More than two classes have one multinomial model, with a score for each class and the softmax of
    the scores as probabilities:

    .. math:: \min_{W,b} C \sum_i s_i \Big(\log \sum_c e^{x_i^T w_c + b_c}
        - x_i^T w_{y_i} - b_{y_i}\Big) + \rho \|W\|_1 + \tfrac{1}{2}(1-\rho) \|W\|_F^2

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet"} or None
        Deprecated by scikit-learn: use ``l1_ratio`` and ``C=np.inf``.
    C : float, default=1.0
        Inverse strength of the penalty; ``np.inf`` means none.
    l1_ratio : float, default=0.0
    dual, random_state, n_jobs
        No effect on the optimum.
    tol : float, default=1e-6
        The certified relative gap to reach.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1
        With ``solver="liblinear"``, the value of the penalised constant column.
    class_weight : dict or "balanced", optional
    solver : str, default="lbfgs"
        ``"liblinear"`` penalises the intercept and takes two classes only, as in scikit-learn. The
        others have no effect on the optimum, and each of them can be used with every penalty.
    max_iter : int, default=100
        Most iterations.
    verbose : int, default=0
        Show a progress bar with the gap.
    warm_start : bool, default=False
        Start from the last fit's coefficients.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,); 0.0 with ``solver="liblinear"`` and no
        intercept
    certificate_ : Certificate
    n_iter_ : ndarray of shape (1,)

    Examples
    --------
    >>> from minimand.sklearn import LogisticRegression
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)     # unscaled columns are fine
    >>> model = LogisticRegression(C=0.1, l1_ratio=1.0).fit(X, y)
    >>> model.certificate_.relative < 1e-6
    True
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)              # three classes
    >>> model = LogisticRegression(C=0.1).fit(X, y)
    >>> model.predict_proba(X).shape, model.certificate_.relative < 1e-6
    ((178, 3), True)
    """

    _NUMERIC = False
    __init__ = own_tolerance(linear_model.LogisticRegression)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _warn_of_old_parameters(self)

    def _read_target(self, y: AnyArray, weights: Array | None) -> AnyArray:
        self.classes_ = classes_of(self, y, weights)
        return y

    def _problem(self, X: Any, y: AnyArray, weights: Array | None) -> Problem:
        return of_present_classes(super()._problem(X, y, weights))

    def _fit_problem(self, X: Any, y: AnyArray, weights: Array | None) -> Fit:
        return in_all_classes(super()._fit_problem(X, y, weights))

    def _store(self, fit: Fit, X: Any, y: AnyArray) -> None:
        self.coef_, self.intercept_ = fit.coef, fit.intercept
        if self.solver == "liblinear" and not self.fit_intercept:
            self.intercept_ = 0.0  # as in scikit-learn with liblinear
        self.n_iter_ = np.array(fit.iterations, dtype=np.int32)

    def _precision(self, X: Any) -> Any:
        """float64 with solver="liblinear", as in scikit-learn."""
        return np.dtype(np.float64) if self.solver == "liblinear" else X.dtype

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn callbacks; they work with every ``solver``."""
        return super(linear_model.LogisticRegression, self).set_callbacks(*callbacks)


def _warn_of_old_parameters(model: Any) -> None:
    """Warn of deprecated parameters as the installed scikit-learn does."""
    if _DEFAULTS.get("penalty") == "deprecated":
        _warn_of_penalty(model)
    if model.n_jobs is not None and _DEFAULTS.get("penalty") == "deprecated":
        warnings.warn(
            "'n_jobs' has no effect since 1.8 and will be removed in 1.10. You provided "
            f"'n_jobs={model.n_jobs}', please leave it unspecified.",
            FutureWarning,
            stacklevel=6,
        )
    if getattr(model, "multi_class", "deprecated") not in ("deprecated", "auto"):
        warnings.warn(
            "'multi_class' was deprecated in version 1.5 and will be removed in 1.8: leave it out; "
            f"a OneVsRestClassifier fits one model per class (got {model.multi_class!r}).",
            FutureWarning,
            stacklevel=6,
        )


def _warn_of_penalty(model: Any) -> None:
    penalty, ratio = model.penalty, model.l1_ratio
    if penalty == "deprecated":
        if ratio is None:
            _future(
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. "
                "Use 0<=l1_ratio<=1 instead."
            )
        return
    _future(
        "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this "
        "warning, leave 'penalty' set to its default value and use 'l1_ratio' or 'C' instead. Use "
        "l1_ratio=0 instead of penalty='l2', l1_ratio=1 instead of penalty='l1', l1_ratio set to a "
        "float between 0 and 1 instead of penalty='elasticnet', and C=np.inf instead of "
        "penalty=None."
    )
    if penalty != "elasticnet" and ratio is not None and 0 < ratio < 1:
        _user(
            f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})"
        )
    if (penalty == "l2" and ratio != 0) or (penalty == "l1" and ratio != 1):
        _user(
            f"Inconsistent values: penalty={penalty} with l1_ratio={ratio}. penalty is deprecated. "
            "Please use l1_ratio only."
        )
    if penalty == "elasticnet" and ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    if penalty is None and model.C != 1.0:
        _user("Setting penalty=None will ignore the C and l1_ratio parameters")


def _future(text: str) -> None:
    warnings.warn(text, FutureWarning, stacklevel=8)


def _user(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=8)
