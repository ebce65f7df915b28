"""PassiveAggressiveClassifier and PassiveAggressiveRegressor."""

from __future__ import annotations

from typing import Any

from sklearn import linear_model

from ..canonical.row_steps import Rule
from ..losses import EpsilonInsensitive, Hinge
from .epochs.online import OnlineClassifier, OnlineRegressor
from .epochs.passes import OnlineRule, online_steps


class PassiveAggressiveClassifier(OnlineClassifier, linear_model.PassiveAggressiveClassifier):
    r"""As `sklearn.linear_model.PassiveAggressiveClassifier`, with its warning of deprecation.

    Every sample moves w and b by τ·y·(x, 1), with the loss ℓ = max(0, 1 − y·z) and

    .. math:: \tau = \min(C, \ell / \|x\|^2) \text{ (PA-I)}, \qquad
        \tau = \ell / (\|x\|^2 + 1/(2C)) \text{ (PA-II)}

    the smallest change of w that makes the loss zero, limited by C. Parameters, attributes and the
    meaning of ``tol`` are scikit-learn's. There is no certificate, since no objective is minimised.
    ``partial_fit`` over batches is one pass over all of them, averaged or not.

    Parameters
    ----------
    C : float, default=1.0
    loss : {"hinge", "squared_hinge"}, default="hinge"
        PA-I or PA-II.
    average : bool or int, default=False
        Whether ``coef_`` is the mean of all models, from that step on.
    n_jobs : int, optional
        No effect: the classes are learnt one after the other.
    fit_intercept, max_iter, tol, shuffle, verbose, random_state, early_stopping
        As in `Perceptron`.
    validation_fraction, n_iter_no_change, class_weight, warm_start
        As in `Perceptron`.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, t_
        As in `Perceptron`.
    """

    def _rule(self, X: Any) -> OnlineRule:
        rule = Rule.PA1 if self.loss == "hinge" else Rule.PA2
        return OnlineRule(Hinge(), online_steps(self, X, rule, self.C, int(self.average)))


class PassiveAggressiveRegressor(OnlineRegressor, linear_model.PassiveAggressiveRegressor):
    r"""As `sklearn.linear_model.PassiveAggressiveRegressor`, with its warning of deprecation.

    Every sample moves w and b by ±τ·(x, 1) towards y, τ as in `PassiveAggressiveClassifier`
    with the loss ℓ = max(0, |y − z| − ε).

    Parameters
    ----------
    C : float, default=1.0
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        PA-I or PA-II.
    epsilon : float, default=0.1
    average : bool or int, default=False
        Whether ``coef_`` is the mean of all models, from that step on.
    fit_intercept, max_iter, tol, shuffle, verbose, random_state, early_stopping
        As in `Perceptron`.
    validation_fraction, n_iter_no_change, warm_start
        As in `Perceptron`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,)
    n_iter_ : int
    t_ : float
    """

    def _rule(self, X: Any) -> OnlineRule:
        rule = Rule.PA1 if self.loss == "epsilon_insensitive" else Rule.PA2
        steps = online_steps(self, X, rule, self.C, int(self.average))
        return OnlineRule(EpsilonInsensitive(float(self.epsilon)), steps)
