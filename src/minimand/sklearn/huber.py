"""HuberRegressor: coefficients and the scale of the residuals, together."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import linear_model

from .._base.typing import AnyArray, Array
from ..problem.objective import Objective, Point
from ..solvers import Control, Solution, Solver
from ..solvers.nested.joint_scale import Scaled
from ..solvers.nested.scale_search import minimise_jointly
from .base import Fit, Minimiser, own_tolerance
from .predictions import PredictsNumbers


class HuberRegressor(Minimiser, PredictsNumbers, linear_model.HuberRegressor):
    r"""Robust regression, as `sklearn.linear_model.HuberRegressor`, with a certificate.

    .. math:: \min_{w,b,\sigma} \sum_i s_i \left(\sigma
        + \sigma H_\epsilon\!\left(\frac{x_i^T w + b - y_i}{\sigma}\right)\right)
        + \alpha \|w\|_2^2, \qquad H_\epsilon(t) = \begin{cases} t^2 & |t| \le \epsilon \\
        2 \epsilon |t| - \epsilon^2 & |t| > \epsilon \end{cases}

    The scale σ > 0 is part of the problem, which is jointly convex in w, b and σ, and the
    certificate covers all three: no coefficients and scale are better by more than its gap. If most
    samples can be fitted exactly, the best scale is 0; then, as in scikit-learn, ``scale_`` is
    positive, and so small that it hardly changes the objective.

    In `minimand.Regressor` with ``Huber(delta)`` the scale is fixed by ``delta``.

    Parameters
    ----------
    epsilon : float, default=1.35
        Residuals beyond ``epsilon * scale_`` are outliers; at least 1.
    max_iter : int, default=100
        The largest number of rounds. The first finds coefficients and scale together, by Newton's
        method; if a gap is left, each further one solves a problem with a fixed scale.
    alpha : float, default=0.0001
    warm_start : bool, default=False
        Start from the last fit's coefficients.
    fit_intercept : bool, default=True
    tol : float, default=1e-6
        The certified relative gap to reach.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    scale_ : float
    outliers_ : ndarray of shape (n_samples,)
        True for residuals that are larger than ``epsilon * scale_``.
    certificate_ : Certificate
    n_iter_ : int
        Rounds, usually one.

    Examples
    --------
    >>> import numpy as np
    >>> from minimand.sklearn import HuberRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3 * X[:, 0] + np.sin(X[:, 0])
    >>> y[4] = 500.0
    >>> model = HuberRegressor().fit(X, y)
    >>> np.flatnonzero(model.outliers_ & (y > 100)).tolist(), model.certificate_.relative < 1e-6
    ([4], True)
    """

    _DOUBLE = True
    __init__ = own_tolerance(linear_model.HuberRegressor)

    def _read_target(self, y: AnyArray, weights: Array | None) -> AnyArray:
        self.scale_ = 1.0  # the problem is stated in this unit; fitted below
        return y

    def _store(self, fit: Fit, X: Any, y: AnyArray) -> None:
        super()._store(fit, X, y)
        self.n_iter_ = fit.solutions[0].certificate.iterations
        self.outliers_ = np.abs(y - X @ self.coef_ - self.intercept_) > self.epsilon * self.scale_

    def _solve(
        self, objective: Objective, solver: str | Solver, control: Control, start: Point | None
    ) -> Solution:
        """Search the scale; a warm start also uses the bound of the last fit."""
        scaled = Scaled(objective, self.scale_)
        old = None if start is None else self.certificate_.dual_point
        evidence = [] if old is None or old.shape != objective.y.shape else [old]
        self.scale_, solution = minimise_jointly(scaled, control, start, evidence)
        return solution
