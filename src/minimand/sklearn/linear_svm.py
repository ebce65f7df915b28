"""LinearSVC and LinearSVR: C·Σ loss + penalty, with a penalised intercept as in liblinear."""

from __future__ import annotations

from typing import Any

from sklearn import svm

from .._base.typing import AnyArray, Array
from .base import Fit, Minimiser, own_tolerance
from .classes import classes_of
from .predictions import PredictsLabels, PredictsNumbers


class _Liblinear(Minimiser):
    """What both share: float64, and an intercept that is the weight of a constant column."""

    _DOUBLE = True

    def _store(self: Any, fit: Fit, X: Any, y: AnyArray) -> None:
        self.coef_ = fit.coef
        self.intercept_ = fit.intercept if self.fit_intercept else 0.0
        self.n_iter_ = max(fit.iterations)


class LinearSVC(_Liblinear, PredictsLabels, svm.LinearSVC):
    r"""A linear support vector classifier, as `sklearn.svm.LinearSVC`, with a certificate.

    .. math:: \min_{w,b} C \sum_i s_i \max(0, 1 - y_i (x_i^T w + b))^p
        + \tfrac{1}{2} \|w\|_2^2 + \tfrac{1}{2} (b/c)^2, \quad y_i = \pm 1

    p = 1 for the hinge and 2 for its square; c is ``intercept_scaling``: like liblinear, the model
    has a constant column of that value, whose weight is penalised like all others. With
    ``penalty="l1"`` it is :math:`\|w\|_1 + |b/c|`. More than two classes are one versus rest. With
    ``multi_class="crammer_singer"`` they are one problem: the right class should beat all others,

    .. math:: \min_{W,b} C \sum_i s_i \max_c ([c \ne y_i] + z_{ic} - z_{iy_i})
        + \tfrac{1}{2} \|W\|_F^2 + \tfrac{1}{2} \|b/c\|_2^2, \quad z_{ic} = x_i^T w_c + b_c

    `minimand.Classifier` with ``Hinge()`` does not penalise the intercept, and has the support
    vectors as attributes.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        The hinge goes with "l2" only, as in scikit-learn.
    dual, random_state
        No effect on the optimum. In liblinear they select an algorithm; combinations for which it
        has none (the hinge with dual=False, "l1" with dual=True) are fitted here.
    tol : float, default=1e-6
        The certified relative gap to reach.
    C : float, default=1.0
        Inverse strength of the penalty.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        With "crammer_singer", ``penalty`` and ``loss`` have no effect, as in scikit-learn.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1
        The value of the penalised constant column.
    class_weight : dict or "balanced", optional
    verbose : int, default=0
        Show a progress bar with the gap.
    max_iter : int, default=1000
        Most iterations.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,); 0.0 without an intercept
    certificate_ : Certificate
    n_iter_ : int
        The largest number of iterations of a class.

    Examples
    --------
    >>> from minimand.sklearn import LinearSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge").fit(X, y)
    >>> model.coef_.shape, model.certificate_.relative < 1e-6
    ((3, 4), True)
    """

    _NUMERIC = False
    __init__ = own_tolerance(svm.LinearSVC)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_combination(self)

    def _read_target(self, y: AnyArray, weights: Array | None) -> AnyArray:
        self.classes_ = classes_of(self, y, weights)
        return y


class LinearSVR(_Liblinear, PredictsNumbers, svm.LinearSVR):
    r"""Linear support vector regression, as `sklearn.svm.LinearSVR`, with a certificate.

    .. math:: \min_{w,b} C \sum_i s_i \max(0, |x_i^T w + b - y_i| - \varepsilon)^p
        + \tfrac{1}{2} \|w\|_2^2 + \tfrac{1}{2} (b/c)^2

    p = 1, or 2 for ``loss="squared_epsilon_insensitive"``; c is ``intercept_scaling``: like
    liblinear, the model has a constant column of that value, whose weight is penalised.

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to epsilon cost nothing.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    dual, random_state
        No effect on the optimum; every value can be used with every loss.
    tol, C, fit_intercept, intercept_scaling, verbose, max_iter
        As in `LinearSVC`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,); 0.0 without an intercept
    certificate_ : Certificate
    n_iter_ : int

    Examples
    --------
    >>> from minimand.sklearn import LinearSVR
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LinearSVR(epsilon=5.0, C=10.0).fit(X, y).certificate_.relative < 1e-6
    True
    """

    __init__ = own_tolerance(svm.LinearSVR)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.epsilon < 0:
            raise ValueError(f"epsilon must be a number ≥ 0, not {self.epsilon!r}.")

    def _store(self, fit: Fit, X: Any, y: AnyArray) -> None:
        super()._store(fit, X, y)
        self.coef_ = fit.coef[0]


def _check_combination(model: Any) -> None:
    """Refuse a combination that scikit-learn does not define."""
    if model.multi_class == "ovr" and model.penalty == "l1" and model.loss == "hinge":
        raise ValueError(
            "Unsupported set of arguments: The combination of penalty='l1' and loss='hinge' is not "
            f"supported, Parameters: penalty='l1', loss='hinge', dual={model.dual}; take "
            "loss='squared_hinge', or minimand.Classifier, whose intercept is free."
        )
