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
from .estimators.class_weights import weighted_by_class
from .estimators.prepare import prepare
from .estimators.problem import build
from .estimators.settings import Settings
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
        Ridge, Lasso, ElasticNet, LogisticRegression (two classes), PoissonRegressor,
        GammaRegressor or TweedieRegressor.
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
        objective, w, b = _foreign(model, X, y, sample_weight, offset)
        objectives, coefs, intercepts = [objective], w[None, :], np.array([b])
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
    return _summary(objectives, parts)


def _summary(objectives: list[Objective], parts: list[Judgement]) -> Certificate:
    whole = combined(
        [part.certificate(objective) for part, objective in zip(parts, objectives)],
        [objective.scale for objective in objectives],
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
) -> tuple[Objective, Array, float]:
    """The objective of a scikit-learn model, and its coefficients as a point of it."""
    adapters.check_known(model)
    check_is_fitted(model)
    X, y = data.check_xy(model, X, y, fitted=True)
    weights = data.check_weights(sample_weight, X.shape[0])
    weights = weighted_by_class(getattr(model, "class_weight", None), y, weights)
    reading = adapters.read(model, lambda: float(X.shape[0] if weights is None else weights.sum()))
    w, b = _coefficients(model, X.shape[1])
    intercept = reading.intercept
    if reading.constant:
        X = adapters.with_constant_column(X, reading.constant)
        w, b, intercept = np.append(w, b / reading.constant), 0.0, False
    target = adapters.as_target(model, y if reading.labels else data.check_numbers(y), reading)
    reading.loss.check_target(target)
    settings = Settings(reading.loss, reading.penalty, reading.alpha)
    shift = data.check_offset(offset, X.shape[0])
    objective = build(settings, X, target, weights, shift, intercept)
    if reading.constant:
        note = " (the intercept is a penalised column of X, as liblinear has it)"
        objective = replace(objective, words=objective.words + note)
    return objective, w, b


def _coefficients(model: Any, n_features: int) -> tuple[Array, float]:
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    w = np.asarray(coef, dtype=float).ravel()
    if w.shape != (n_features,):
        raise ValueError(
            f"the model has coefficients of shape {np.shape(coef)}, but X has {n_features} "
            "features: one output at a time."
        )
    return w, float(np.ravel(model.intercept_)[0])
