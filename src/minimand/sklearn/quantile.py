"""QuantileRegressor."""

from __future__ import annotations

from typing import ClassVar

from sklearn import linear_model

from .base import Minimiser
from .predictions import PredictsNumbers

_EXACT = 1e-10  # relative gap; safeguard: in practice only a vertex of the program reaches it
# A vertex by the simplex method, or an interior-point method; for "highs" the solver is automatic.
_SOLVERS = {"highs-ds": "simplex", "revised simplex": "simplex", "highs-ipm": "primal_dual"}


class QuantileRegressor(Minimiser, PredictsNumbers, linear_model.QuantileRegressor):
    r"""Quantile regression, as `sklearn.linear_model.QuantileRegressor`, with a certificate.

    .. math:: \min_{w,b} \frac{\sum_i s_i \rho_q(y_i - x_i^T w - b)}{\sum_i s_i}
        + \alpha \|w\|_1, \quad \rho_q(r) = \max(q r, (q - 1) r)

    Like scikit-learn's class, which solves a linear program exactly, it has no ``tol``: the
    relative gap to reach is 1e-10, which is usually a vertex with exact zeros.

    Parameters
    ----------
    quantile : float, default=0.5
    alpha : float, default=1.0
    fit_intercept : bool, default=True
    solver : {"highs", "highs-ds", "highs-ipm", "revised simplex"}, default="highs"
        "highs-ds" and "revised simplex" use the simplex method, "highs-ipm" an interior-point
        method, and "highs" whichever suits the problem. The optimal value is the same; if there are
        several minimisers, solvers may return different ones.
    solver_options : dict, optional
        No effect: these are options of `scipy.optimize.linprog`, which is not called with them.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    certificate_ : Certificate
    n_iter_ : int

    Examples
    --------
    >>> from minimand.sklearn import QuantileRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuantileRegressor(quantile=0.9, alpha=0.01).fit(X, y)
    >>> model.certificate_.relative < 1e-10, round(float((y < model.predict(X)).mean()), 1)
    (True, 0.9)
    """

    _DOUBLE = True
    tol: ClassVar[float] = _EXACT

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.solver == "interior-point":
            raise ValueError(
                "Solver interior-point is not anymore available in SciPy >= 1.11.0. Take "
                "'highs-ipm'."
            )

    def _named_solver(self) -> str:
        """The minimand solver for scikit-learn's ``solver``."""
        return _SOLVERS.get(self.solver, "auto")
