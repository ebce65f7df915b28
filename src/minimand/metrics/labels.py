"""Scores of predicted classes: accuracy, precision, recall and F, by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import ArrayLike


def accuracy(true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None) -> float:
    """The share of samples whose predicted label is the true one.

    Parameters
    ----------
    true, predicted : array-like of shape (n_samples,)
        Labels.
    sample_weight : array-like of shape (n_samples,), optional

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.accuracy(["a", "b", "b", "c"], ["a", "b", "c", "c"])
    0.75
    """
    if sample_weight is None and _comparable(true, predicted):
        return float(np.mean(true == predicted))
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(true, predicted, sample_weight=sample_weight))


def _comparable(true: Any, predicted: Any) -> bool:
    """Whether these are vectors of whole numbers or of texts, which need no conversion.

    scikit-learn's checks take longer than a small fit, and its result is the same.
    """
    return (
        type(true) is type(predicted) is np.ndarray
        and true.dtype.kind == predicted.dtype.kind
        and true.dtype.kind in "iuU"
        and true.ndim == 1
        and true.shape == predicted.shape
        and true.size > 0
    )


def precision(
    true: ArrayLike,
    predicted: ArrayLike,
    positive: Any = None,
    average: str | None = None,
    sample_weight: ArrayLike = None,
) -> float:
    """Of the samples that are predicted to be positive, the share that is.

    Parameters
    ----------
    true, predicted : array-like of shape (n_samples,)
        Labels.
    positive : label, optional
        The positive class. With two classes it is by default the second in sorted order, as in
        ``classes_``; with more classes the scores of all classes are averaged.
    average : {"macro", "micro", "weighted"}, optional
        How to average over classes: all equally (the default with more than two), all samples
        together, or classes by their numbers of samples.
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    float
        0 if no sample is predicted to be positive.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.precision([0, 0, 1, 1], [0, 1, 1, 1])
    0.666...
    >>> mm.metrics.precision(["spam", "mail"], ["spam", "spam"], positive="spam")
    0.5
    """
    return _of_classes("precision", true, predicted, positive, average, sample_weight)


def recall(
    true: ArrayLike,
    predicted: ArrayLike,
    positive: Any = None,
    average: str | None = None,
    sample_weight: ArrayLike = None,
) -> float:
    """Of the samples that are positive, the share that is predicted to be.

    The arguments are those of `precision`.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.recall([0, 1, 1, 1], [0, 0, 1, 1])
    0.666...
    """
    return _of_classes("recall", true, predicted, positive, average, sample_weight)


def f_score(
    true: ArrayLike,
    predicted: ArrayLike,
    positive: Any = None,
    average: str | None = None,
    sample_weight: ArrayLike = None,
    beta: float = 1.0,
) -> float:
    r"""The weighted harmonic mean of precision P and recall R.

    .. math:: F_\beta = (1 + \beta^2) \, P R / (\beta^2 P + R)

    ``beta`` is how many times as much recall counts. The other arguments are those of `precision`.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.f_score([0, 0, 1, 1], [0, 1, 1, 1])
    0.8
    """
    return _of_classes("fbeta", true, predicted, positive, average, sample_weight, beta=beta)


def _of_classes(
    name: str,
    true: ArrayLike,
    predicted: ArrayLike,
    positive: Any,
    average: str | None,
    sample_weight: ArrayLike,
    **options: Any,
) -> float:
    """One of scikit-learn's scores of classes, of the positive class or averaged."""
    from sklearn import metrics

    score = getattr(metrics, f"{name}_score")
    options |= {"sample_weight": sample_weight, "zero_division": 0.0}
    known = np.union1d(np.unique(true), np.unique(predicted))
    if not known.size:
        raise ValueError("true and predicted are empty: pass the labels of at least one sample.")
    if positive is None and average is None and known.size <= 2:
        positive = known[-1]
    if positive is None:
        return float(score(true, predicted, average=average or "macro", **options))
    if average is not None:
        raise ValueError("positive names one class, and average asks for all: pass one of them.")
    if positive not in known:
        raise ValueError(
            f"positive={positive!r} is none of the labels {known.tolist()[:10]}: pass one of them."
        )
    return float(score(true, predicted, labels=[positive], average="macro", **options))
