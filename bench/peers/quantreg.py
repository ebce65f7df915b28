"""R's quantreg: interior points for quantiles with an l1 part."""

from __future__ import annotations

from ..measures.judge import Model
from ..problems.base import Problem
from .base import Peer, decades
from .elsewhere import READ_IN_R, fit_elsewhere, require_r

_R = require_r("quantreg")

# Its lasso adds a row of lambda to the data for every column, under the loss of the median, which
# halves it; the first is that of the intercept.
_SCRIPT = (
    READ_IN_R
    + """
suppressPackageStartupMessages(library(quantreg))
tau <- as.numeric(given[3]); factor <- as.numeric(given[4])
if (intercept) X <- cbind(1, X)
lambda <- rep(2 * n * alphas[1] / factor, ncol(X))
if (intercept) lambda[1] <- 0
found <- clock(function() rq.fit.lasso(X, y, tau = tau, lambda = lambda, eps = tol))
coefs <- found$coefficients
put(if (intercept) coefs[-1] else coefs, "coefs")
put(if (intercept) coefs[1] else 0, "intercepts")
"""
)


def _lasso(problem: Problem, tol: float) -> Model:
    """|r| is twice the loss of the median."""
    absolute = problem.loss == "absolute"
    tau, factor = (0.5, 2.0) if absolute else (problem.parameter, 1.0)
    return fit_elsewhere(problem, [_R, "-e", _SCRIPT], tol, tau, factor)


PEERS = [Peer("quantreg lasso", "quantreg (R)", _lasso, decades(-3, -12))]
