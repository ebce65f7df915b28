"""R's glmnet: coordinate descent along a path, for the squared and the logistic loss."""

from __future__ import annotations

from ..measures.judge import Model
from ..problems.base import Problem
from .base import Peer, decades
from .elsewhere import READ_IN_R, fit_elsewhere, require_r

_R = require_r("glmnet")

# Its gaussian family rescales y, so that its lambda means ours for the lasso alone.
_SCRIPT = (
    READ_IN_R
    + """
suppressPackageStartupMessages(library(glmnet))
glmnet.control(fdev = 0, devmax = 1, mnlam = length(alphas))
family <- given[3]
target <- if (family == "binomial") as.integer(y > 0) else y
found <- clock(function() glmnet(X, target, family = family, alpha = 1, lambda = alphas,
  standardize = FALSE, intercept = intercept, thresh = tol, maxit = 1e7))
reached <- ncol(found$beta)
columns <- pmin(seq_along(alphas), reached)
put(as.matrix(found$beta)[, columns], "coefs")
put(found$a0[columns], "intercepts")
"""
)
_FAMILIES = {"squared": "gaussian", "logistic": "binomial"}


def _path(problem: Problem, tol: float) -> Model:
    if problem.penalty != "l1":
        raise ValueError("its lambda has another meaning with an l2 part")
    return fit_elsewhere(problem, [_R, "-e", _SCRIPT], tol, _FAMILIES[problem.loss])


PEERS = [Peer("glmnet path", "glmnet (R)", _path, decades(-7, -16))]
