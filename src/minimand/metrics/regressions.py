"""Errors of predicted numbers, on one set of samples or on training and test samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike
from .table import Table

_NAMES = ("mean squared", "root mean squared", "mean absolute", "largest", "R²")


def regression_errors(
    true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None
) -> dict[str, float]:
    """Errors of predicted numbers, by name.

    Parameters
    ----------
    true, predicted : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Several outputs are averaged.
    sample_weight : array-like of shape (n_samples,), optional
        Of the means and of R²; the largest error has none.

    Returns
    -------
    dict
        "mean squared", "root mean squared", "mean absolute" and "largest" error, and "R²".

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.regression_errors([1.0, 2.0, 3.0], [1.0, 2.0, 5.0])["mean absolute"]
    0.666...
    """
    from sklearn.metrics import mean_absolute_error, mean_squared_error

    weights = {"sample_weight": sample_weight}
    squared = float(mean_squared_error(true, predicted, **weights))
    several = len(np.unique(np.asarray(true), axis=0)) > 1  # R² of one value is not defined
    numbers = (
        squared,
        float(np.sqrt(squared)),
        float(mean_absolute_error(true, predicted, **weights)),
        float(np.abs(np.asarray(true, dtype=float) - np.asarray(predicted, dtype=float)).max()),
        determination(true, predicted, sample_weight) if several else float("nan"),
    )
    return dict(zip(_NAMES, numbers))


def determination(true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None) -> float:
    """R² = 1 − Σ(y − ŷ)²/Σ(y − ȳ)², as scikit-learn's ``r2_score`` defines it.

    For vectors of numbers, the sums are formed without its conversions, which take longer than a
    small fit. Sums that are 0 or not finite are special cases, which are left to it.
    """
    if sample_weight is None and _comparable(true, predicted):
        y, found = np.reshape(true, (-1, 1)), np.reshape(predicted, (-1, 1))
        with np.errstate(all="ignore"):
            left = float(((y - found) ** 2).sum(axis=0)[0])
            total = float(((y - y.mean(axis=0)) ** 2).sum(axis=0)[0])
        if 0.0 < left < np.inf and 0.0 < total < np.inf:
            return 1.0 - left / total
    from sklearn.metrics import r2_score

    return float(r2_score(true, predicted, sample_weight=sample_weight))


def _comparable(true: Any, predicted: Any) -> bool:
    """Whether these are equally long vectors in double precision, of two samples at least."""
    return (
        type(true) is type(predicted) is np.ndarray
        and true.dtype == predicted.dtype == np.float64
        and true.ndim == 1
        and true.shape == predicted.shape
        and true.size > 1
    )


def train_test_errors(
    model: Any, X_train: ArrayLike, y_train: ArrayLike, X_test: ArrayLike, y_test: ArrayLike
) -> Table:
    """The errors of a fitted regression on the samples that it has seen, and on others.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> parts = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    >>> X_train, X_test, y_train, y_test = parts
    >>> model = mm.Regressor("squared", "l1", alpha=0.1).fit(X_train, y_train)
    >>> errors = mm.metrics.train_test_errors(model, X_train, y_train, X_test, y_test)
    >>> errors["train"]["R²"] > errors["test"]["R²"]
    True
    """
    if not hasattr(model, "predict"):
        raise TypeError(f"model must be a fitted estimator with predict, not {model!r}.")
    both = [
        regression_errors(y, model.predict(X)) for X, y in ((X_train, y_train), (X_test, y_test))
    ]
    values: Array = np.array([list(errors.values()) for errors in both])
    return Table(("train", "test"), _NAMES, values)
