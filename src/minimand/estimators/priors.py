"""Other shares of the classes than those of the sample: a shift of the intercepts."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from .._base.typing import AnyArray, Array
from ..losses import CrossEntropy, Logistic, Multinomial
from .classifier import Classifier


def with_priors(model: Any, priors: Any, sampled: Any) -> Any:
    r"""A copy of a classifier for a population in which the classes have other shares.

    A case-control sample holds more of a rare class than the population does. If rows were drawn by
    their class alone, then the log-odds of the population differ from those of the sample by a
    number for each class, and only the intercepts need to be moved:

    .. math:: b_c \leftarrow b_c + \log\frac{\text{prior}_c}{\text{sampled}_c}

    The coefficients stay. Unlike ``class_weight``, which changes the fit, no row counts for less.

    Parameters
    ----------
    model : a fitted `Classifier` with `Multinomial`, or of two classes with `Logistic` or
        `CrossEntropy`; or scikit-learn's LogisticRegression or its drop-in
    priors : dict by class, or array-like of shape (n_classes,)
        Shares of the classes in the population, in any unit: they are divided by their sum.
    sampled : the same, or the labels y of the sample
        Shares of the classes in the data of the fit. If these had weights, they are shares of the
        weight.

    Returns
    -------
    A copy of the model with other intercepts. Its ``certificate_`` is that of the fit, and says so.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)          # 37 % of the tumours are malignant
    >>> model = mm.Classifier("logistic", alpha=0.01).fit(X, y)
    >>> screening = mm.with_priors(model, {0: 0.01, 1: 0.99}, y)
    >>> model.predict_proba(X)[:, 0].mean().round(2), screening.predict_proba(X)[:, 0].mean() < 0.3
    (np.float64(0.37), np.True_)
    """
    classes, loss = _checked(model)
    change = np.log(_shares(priors, classes, "priors"))
    change = change - np.log(_sampled(sampled, classes))
    shifted = copy.copy(model)
    shifted.intercept_ = np.asarray(model.intercept_, dtype=float) + _by_score(change, loss)
    if hasattr(model, "certificate_"):
        words = f"{model.certificate_.objective}; then the intercepts were shifted to other priors"
        shifted.certificate_ = replace(model.certificate_, objective=words)
    return shifted


def _checked(model: Any) -> tuple[AnyArray, Any]:
    """The classes and the loss of a model whose scores are log-odds."""
    check_is_fitted(model)
    if isinstance(model, LogisticRegression):
        return model.classes_, Multinomial() if len(model.classes_) > 2 else Logistic()
    if not isinstance(model, Classifier):
        raise TypeError(
            f"with_priors takes a fitted minimand.Classifier or LogisticRegression, not "
            f"{type(model).__name__}."
        )
    loss, scores = model._fitted.output.loss, model._fitted.output.scores
    single = isinstance(loss, Logistic | CrossEntropy) and scores == 1
    if not (single or isinstance(loss, Multinomial)) or np.ndim(model.classes_) != 1:
        raise ValueError(
            f"with_priors needs scores that are log-odds of all classes, which loss={loss!r} with "
            f"{len(model.classes_)} classes does not give: take Multinomial()."
        )
    if not model._fitted.settings.intercept:
        raise ValueError("with_priors moves intercepts, but the model has none: fit it with one.")
    return model.classes_, loss


def _by_score(change: Array, loss: Any) -> Array:
    """The change of every intercept, from that of every class."""
    if not isinstance(loss, Multinomial):
        return np.array([change[1] - change[0]])
    if loss.reference is None:
        return change - change.mean()
    return np.delete(change - change[loss.reference], loss.reference)


def _sampled(given: Any, classes: AnyArray) -> Array:
    """Shares as they are given, or counted from labels."""
    if isinstance(given, Mapping) or np.shape(given) == classes.shape:
        return _shares(given, classes, "sampled")
    labels = np.asarray(given)
    if labels.ndim != 1 or not np.isin(labels, classes).all():
        raise ValueError(
            "sampled must hold the labels of the sample, or one share for each of the classes "
            f"{classes.tolist()}."
        )
    return _shares([np.sum(labels == label) for label in classes], classes, "sampled")


def _shares(given: Any, classes: AnyArray, name: str) -> Array:
    """One positive share per class; they sum to 1."""
    if isinstance(given, Mapping):
        if set(given) != set(classes.tolist()):
            raise ValueError(
                f"{name} must have the classes {classes.tolist()} as keys, not {list(given)}."
            )
        given = [given[label] for label in classes.tolist()]
    try:
        shares = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, one per class.") from error
    if shares.shape != classes.shape or not np.isfinite(shares).all() or (shares <= 0).any():
        raise ValueError(
            f"{name} must be {len(classes)} positive numbers, one for each of the classes "
            f"{classes.tolist()}."
        )
    return shares / shares.sum()
