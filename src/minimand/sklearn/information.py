"""LassoLarsIC: alpha by an information criterion at the knots of the lasso path."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import as_far_as_it_came, stoppable
from ..audit.foreign.objectives import Problem, problem_of
from ..certificate.least_squares import Models, free_squares_at
from ..estimators.callbacks import with_callbacks
from ..penalties import Separable
from ..problem.objective import EPS
from ..selection.path import penalties_of
from ..solvers import Control, Solution
from ..solvers.paths.certified_models import certify_models
from ..solvers.paths.lasso_knots import Knots, lasso_knots
from .base import TOL, DropIn, Fit, in_single
from .elastic_net import Lasso
from .least_squares import LinearRegression

_NUMBERS = 1 << 22  # scores held at a time, 32 MB; safeguard


class LassoLarsIC(DropIn, linear_model.LassoLarsIC):
    r"""The lasso, as `sklearn.linear_model.LassoLarsIC`: alpha by Akaike's or Bayes' criterion.

    .. math:: n \log(2 \pi \sigma^2) + \|X w + b - y\|^2 / \sigma^2 + c \,\|w\|_0, \quad
              c = 2 \text{ (AIC)}, \log n \text{ (BIC)}

    The candidates are the knots of the path, where a coefficient enters or leaves, from the empty
    model down to alpha = 0, and the model of each is certified. At a knot the coefficient that
    enters is zero, and does not count as a nonzero. For ``positive=True``, scikit-learn's last
    model, at alpha = 0, is not optimal, because its last step is shortened; here it is optimal.

    Parameters
    ----------
    criterion : {"aic", "bic"}, default="aic"
    fit_intercept : bool, default=True
    verbose, precompute, eps, copy_X
        No effect on the optimum.
    max_iter : int, default=500
        The largest number of knots after the first.
    positive : bool, default=False
    noise_variance : float, optional
        σ²; by default that of least squares, if samples outnumber features.

    Attributes
    ----------
    alpha_ : float
    alphas_, criterion_ : ndarray of shape (n_iter_ + 1,)
        The knots, decreasing, and the criterion at each.
    noise_variance_ : float
    n_iter_ : int
        Steps from knot to knot.
    coef_, intercept_
        Of the best knot.
    certificate_ : Certificate

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
        self._check_rows(X)
        with stoppable(self):
            model = Lasso(1.0, fit_intercept=self.fit_intercept, positive=self.positive)
            problem = problem_of(model, X, y, None)
            knots = lasso_knots(problem.objectives[0], self.max_iter, bool(self.positive))
            judged = _Judged(problem, knots)
            self.noise_variance_ = self._variance(X, y, judged)
            self.alphas_, self.n_iter_ = knots.alphas, knots.alphas.size - 1
            self.criterion_ = self._criterion(y, judged)
            best = int(np.argmin(self.criterion_))
            self.alpha_ = float(self.alphas_[best])
            self._store(problem, judged.solution(best), X.dtype)
        short = [s.certificate.relative for s in judged.solved.values() if not s.converged]
        if short:
            warnings.warn(
                f"{type(self).__name__}: {len(short)} of {knots.alphas.size} knots have relative "
                f"gaps above {TOL:g}, up to {max(short):.1e}; the model is valid within its own.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _criterion(self, y: AnyArray, judged: _Judged) -> Array:
        """One value for each knot; the degrees of freedom of a lasso are its nonzeros."""
        factor = 2.0 if self.criterion == "aic" else np.log(y.size)
        variance = float(self.noise_variance_)
        if self.noise_variance is None:
            # A floor for σ²: if y is explained exactly, errors count more than nonzeros.
            variance = max(variance, _least_variance(y, centred=self.fit_intercept))
        return (
            y.size * np.log(2 * np.pi * variance) + judged.left / variance + factor * judged.nonzero
        )

    def _store(self, problem: Problem, best: Solution, dtype: Any) -> None:
        """The model at alpha_, in the precision of X."""
        objective = penalties_of(problem.settings, problem.objectives[0])(
            problem.objectives[0], self.alpha_
        )
        if dtype == np.float32:
            best = in_single(objective, best)
        fit = Fit(replace(problem, objectives=[objective]), [best], dtype)
        self.coef_ = fit.coef[0]
        self.intercept_ = fit.intercept[0] if self.fit_intercept else 0.0
        self.certificate_ = fit.certificate

    def _variance(self, X: Any, y: AnyArray, judged: _Judged) -> float:
        """σ² as given, or the unbiased estimate of least squares: the model at alpha = 0."""
        if self.noise_variance is not None:
            return self.noise_variance
        n, d = X.shape
        left = float(judged.left[-1])
        if judged.knots.alphas[-1] > 0:  # there are more knots than max_iter
            model = LinearRegression(fit_intercept=self.fit_intercept, positive=self.positive)
            rest = y - as_far_as_it_came(model.fit, X, y).predict(X)
            left = float(np.sum(rest**2))
        return left / (n - d - self.fit_intercept)

    def _check_rows(self, X: Any) -> None:
        """Whether σ² can be estimated, if it is not given."""
        if self.noise_variance is not None:
            return
        n, d = X.shape
        if n <= d + self.fit_intercept:
            raise ValueError(
                f"You are using {type(self).__name__} in the case where the number of samples is "
                "smaller than the number of features. In this setting, getting a good estimate "
                "for the variance of the noise is not possible. Provide an estimate of the noise "
                f"variance in the constructor. (n_samples={n}, n_features={d})"
            )


class _Judged:
    """The models of all knots: their residuals and nonzeros, and certificates where it matters.

    A knot whose gap is below the tolerance needs no more than this number; the others are solved.
    """

    def __init__(self, problem: Problem, knots: Knots) -> None:
        self.knots, self._base = knots, problem.objectives[0]
        _ = self._base.root_spread, self._base.scale  # cached now: the problems of all share them
        self._at = penalties_of(problem.settings, self._base)
        self._control = Control(tol=TOL)
        self.solved: dict[int, Solution] = {}
        self.left = np.empty(knots.alphas.size)  # Σ(z − y)² of each model
        size = max(1, _NUMBERS // max(self._base.design.shape))
        unit = self._base.bound(problem.settings.penalty, 1.0).sum_over_features
        for start in range(0, knots.alphas.size, size):
            self._judge(range(start, min(start + size, knots.alphas.size)), unit)
        coefs = [self.solved[i].w if i in self.solved else w for i, w in enumerate(knots.coefs)]
        self.nonzero = np.array([np.count_nonzero(w) for w in coefs])

    def _judge(self, some: range, unit: Separable | None) -> None:
        base, y = self._base, self._base.y
        coefs = self.knots.coefs[some.start : some.stop]
        models = Models(base, coefs, np.zeros(len(some)))
        base.meter.passes += 2.0
        for i, w, point in zip(some, coefs, models.points):
            alpha, gap = float(self.knots.alphas[i]), np.inf
            if unit is not None and not unit.has_constraints:
                if alpha > 0:
                    gap = models.gap(i - some.start, alpha * unit.l1, unit.l2)
                else:  # the slopes must vanish
                    gap = free_squares_at(base, w, point.b).gap
            z = point.z if gap <= TOL * base.scale else self.solution(i).point.z
            self.left[i] = np.sum((z - y) ** 2)

    def solution(self, i: int) -> Solution:
        """The model of one knot, with its certificate."""
        if i not in self.solved:
            problem = self._at(self._base, float(self.knots.alphas[i]))
            found = [("homotopy", i, "rounding")]
            coefs, nothing = self.knots.coefs[i : i + 1], np.zeros(1)
            given = [problem], coefs, nothing, self._control, found
            (self.solved[i],) = certify_models(self._base, *given)
        return self.solved[i]


def _least_variance(y: AnyArray, *, centred: bool) -> float:
    """What rounding leaves of a y that is explained exactly: ε of its variance, and of y itself."""
    y = np.asarray(y, dtype=float)
    around = y - y.mean() if centred else y
    rounding = EPS * float(np.abs(y).max())
    return EPS * float(np.mean(np.square(around))) + 16.0 * rounding * rounding or EPS
