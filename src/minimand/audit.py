"""Certify any model on any data: ours, or one that another library fitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import adapters
from ._typing import Array, ArrayLike
from .certificate import Certificate, Judgement, judge
from .estimators import data
from .estimators.base import Estimator, combined
from .estimators.prepare import prepare
from .objective import Objective


def certify(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
    against: Any = None,
) -> Certificate:
    """Bound how far a fitted model is from the optimum of the objective it was meant to minimise.

    Parameters
    ----------
    model : a fitted `Regressor` or `Classifier`, or a fitted scikit-learn LinearRegression,
        Ridge, RidgeCV, RidgeClassifier, Lasso, ElasticNet, LassoCV, ElasticNetCV, LassoLarsIC,
        LogisticRegression, LogisticRegressionCV (both of two classes), PoissonRegressor,
        GammaRegressor, TweedieRegressor, SGDClassifier or SGDRegressor, or one of their drop-ins
        in `minimand.sklearn`.
    X, y, sample_weight, offset
        The data it was fitted on.
    against : a fitted minimand estimator or a Certificate, optional
        Its dual point competes with the ones found here, which makes the bound tight: with a
        converged minimand fit of the same problem the gap is the model's true suboptimality.

    Returns
    -------
    Certificate
        With `by_sample` and `by_feature`, and the objective in words.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> certificate = mm.certify(Lasso(alpha=0.1).fit(X, y), X, y)
    >>> certificate.objective
    'mean squared(z, y) + 0.1·‖w‖₁, z = X w + b'
    >>> certificate.relative < 1e-3
    True
    """
    if isinstance(model, Estimator):
        check_is_fitted(model)
        objectives = prepare(model, X, y, sample_weight, offset, fitted=True)
        coefs = np.atleast_2d(model.coef_)
        intercepts = np.atleast_1d(model.intercept_)
        expected = (len(objectives), objectives[0].n_features)
        if coefs.shape != expected or intercepts.shape != expected[:1]:
            raise ValueError(
                f"coef_ has shape {np.shape(model.coef_)}, but these data need {expected} and one "
                "intercept_ per row: the model was changed after its fit."
            )
    else:
        objectives, coefs, intercepts = _foreign(model, X, y, sample_weight, offset)
    duals = _dual_points(against, len(objectives), objectives[0].n_samples)
    parts = []
    for i, objective in enumerate(objectives):
        if not objective.intercept and intercepts[i] != 0:
            raise ValueError(
                f"{type(model).__name__} has intercept_={intercepts[i]:g}, but its parameters say "
                "that it was fitted without one: certify it with the parameters it was fitted with."
            )
        point = objective.point(np.ascontiguousarray(coefs[i], dtype=float), float(intercepts[i]))
        parts.append(judge(objective, point, duals[i], thorough=True))
    return _summary(objectives, parts, "classes" if isinstance(model, Estimator) else "outputs")


def _summary(objectives: list[Objective], parts: list[Judgement], what: str) -> Certificate:
    whole = combined(
        [part.certificate(objective) for part, objective in zip(parts, objectives)],
        [objective.scale for objective in objectives],
        what,
    )
    return replace(
        whole,
        by_sample=np.sum([part.by_sample for part in parts], axis=0),
        by_feature=np.sum([part.by_feature for part in parts], axis=0),
    )


def _dual_points(against: Any, n_scores: int, n_samples: int) -> list[list[Array]]:
    """The multipliers of another certificate, one list per score."""
    if against is None:
        return [[] for _ in range(n_scores)]
    certificate = (
        against if isinstance(against, Certificate) else getattr(against, "certificate_", None)
    )
    if certificate is None or certificate.dual_point is None:
        raise TypeError("against must be a fitted minimand estimator or a Certificate.")
    points = certificate.dual_point.reshape(certificate.dual_point.shape[0], -1)
    if points.shape != (n_samples, n_scores):
        raise ValueError(
            "against was fitted on other data: its dual point has shape "
            f"{points.shape}, but this problem has {(n_samples, n_scores)}."
        )
    return [[np.ascontiguousarray(points[:, i])] for i in range(n_scores)]


def _foreign(
    model: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, offset: ArrayLike
) -> tuple[list[Objective], Array, Array]:
    """The objectives of a scikit-learn model, one per output, and its point of each."""
    adapters.check_known(model)
    check_is_fitted(model)
    X, y = data.check_xy(model, X, y, fitted=True, many=True)
    weights = data.check_weights(sample_weight, X.shape[0])
    shift = data.check_offset(offset, X.shape[0])
    problem = adapters.problem_of(model, X, y, weights, shift)
    shape = (1, *np.shape(model.coef_))[-2:]
    if shape != (len(problem.objectives), X.shape[1]):
        raise ValueError(
            f"the model has coefficients of shape {np.shape(model.coef_)}, but X has {X.shape[1]} "
            f"features and y {len(problem.objectives)} output(s): pass the data it was fitted on."
        )
    coefs, intercepts = problem.points(model.coef_, model.intercept_)
    return problem.objectives, coefs, intercepts
