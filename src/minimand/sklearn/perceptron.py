"""Perceptron."""

from __future__ import annotations

from typing import Any

from sklearn import linear_model

from ..canonical.row_steps import Rule
from ..losses import PerceptronLoss
from .epochs.online import OnlineClassifier
from .epochs.passes import OnlineRule, online_steps, penalties


class Perceptron(OnlineClassifier, linear_model.Perceptron):
    r"""The perceptron as `sklearn.linear_model.Perceptron`: stochastic steps on max(0, −y·z).

    .. math:: \text{if } y_i (x_i^T w + b) \le 0: \quad w \leftarrow w + \eta_0 s_i y_i x_i,
        \quad b \leftarrow b + \eta_0 s_i y_i

    Parameters, attributes, updates and the meaning of ``tol`` are scikit-learn's: training stops
    when ``n_iter_no_change`` passes did not lower the mean loss and penalty by ``tol``. There is no
    certificate, because the objective has the trivial minimiser w = 0. `minimand.Perceptron` stops
    at a plane that separates the classes or when it cycles, and reports what that proves.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, optional
    alpha : float, default=0.0001
    l1_ratio : float, default=0.15
    fit_intercept : bool, default=True
    max_iter : int, default=1000
    tol : float or None, default=1e-3
    shuffle : bool, default=True
    verbose : int, default=0
    eta0 : float, default=1
    n_jobs : int, optional
        No effect: the classes are learnt one after the other.
    random_state : int, RandomState or None, default=0
    early_stopping : bool, default=False
    validation_fraction : float, default=0.1
    n_iter_no_change : int, default=5
    class_weight : dict or "balanced", optional
    warm_start : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : int
    t_ : float

    Examples
    --------
    >>> from minimand.sklearn import Perceptron
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> Perceptron().fit(X, y).score(X, y) > 0.9
    True
    """

    def _rule(self, X: Any) -> OnlineRule:
        steps = online_steps(self, X, Rule.PERCEPTRON, self.eta0)
        return OnlineRule(PerceptronLoss(), steps, *penalties(self))
