"""Scores of rankings: top-k accuracy, NDCG and mean average precision, by scikit-learn.

Arguments are (true, predicted), as in scikit-learn. Rankings of items come in query groups; a query
whose items are all equally relevant says nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.typing import AnyArray, Array, ArrayLike

__all__ = ["mean_average_precision", "ndcg", "top_k_accuracy"]


def top_k_accuracy(
    true: ArrayLike, scores: ArrayLike, k: int = 5, labels: ArrayLike = None
) -> float:
    """The share of samples whose label is among the k classes with the largest scores.

    Parameters
    ----------
    true : array-like of shape (n_samples,)
        Labels.
    scores : array-like of shape (n_samples, n_classes)
        ``decision_function(X)`` of a classifier, one column per class.
    k : int, default=5
        How many guesses are allowed.
    labels : array-like of shape (n_classes,), optional
        The labels of the columns, in their order: ``classes_``. By default those in ``true``,
        sorted.

    Examples
    --------
    >>> import minimand as mm
    >>> scores = [[0.5, 0.2, 0.1], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]]
    >>> mm.metrics.top_k_accuracy([0, 1, 2, 2], scores, k=2)
    0.75
    """
    from sklearn.metrics import top_k_accuracy_score

    return float(top_k_accuracy_score(true, scores, k=k, labels=labels))


def ndcg(
    true: ArrayLike, scores: ArrayLike, groups: ArrayLike = None, k: int | None = None
) -> float:
    """Normalised discounted cumulative gain, the mean over queries.

    Parameters
    ----------
    true : array-like of shape (n_items,)
        Relevances, not negative.
    scores : array-like of shape (n_items,)
    groups : array-like of shape (n_items,), optional
        The query of every item; by default all items belong to one.
    k : int, optional
        Only the first k items of a ranking count.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.ndcg([3, 0, 1, 1, 0], [2.0, 1.0, 1.5, 0.3, 0.1], groups=[0, 0, 0, 1, 1])
    1.0
    """
    from sklearn.metrics import ndcg_score

    def of_query(relevance: Array, score: Array) -> float:
        return float(ndcg_score(relevance[None, :], score[None, :], k=k))

    return _mean_over_queries(of_query, true, scores, groups)


def mean_average_precision(true: ArrayLike, scores: ArrayLike, groups: ArrayLike = None) -> float:
    """Average precision of the relevant items (relevance above 0), the mean over queries.

    Parameters
    ----------
    true : array-like of shape (n_items,)
        Relevances; items of relevance 0 are not relevant.
    scores : array-like of shape (n_items,)
    groups : array-like of shape (n_items,), optional
        The query of every item; by default all items belong to one.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.mean_average_precision([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])
    0.833...
    """
    from sklearn.metrics import average_precision_score

    def of_query(relevance: Array, score: Array) -> float:
        return float(average_precision_score(relevance > 0, score))

    return _mean_over_queries(of_query, np.asarray(true) > 0, scores, groups)


def _mean_over_queries(
    of_query: Callable[[Array, Array], float], true: Any, scores: Any, groups: Any
) -> float:
    """The mean of a score over the queries that have items of different relevance."""
    relevance, score = np.asarray(true, dtype=float), np.asarray(scores, dtype=float)
    if relevance.ndim != 1 or relevance.shape != score.shape:
        raise ValueError("true and scores must be 1D, with one number for every item.")
    found = [
        of_query(relevance[rows], score[rows])
        for rows in rows_of_queries(groups, relevance.size)
        if np.ptp(relevance[rows]) > 0
    ]
    if not found:
        raise ValueError("no query has items of different relevance, so that none can be scored.")
    return float(np.mean(found))


def rows_of_queries(groups: ArrayLike, n_items: int) -> list[AnyArray]:
    """The rows of every query, in the order in which queries first appear."""
    if groups is None:
        return [np.arange(n_items)]
    labels = np.asarray(groups)
    if labels.shape != (n_items,):
        raise ValueError(
            f"groups must name the query of every item: expected {n_items} labels, got "
            f"{labels.shape[0] if labels.ndim else 1}."
        )
    missing = labels != labels  # NaN, None in a frame, NaT
    if labels.dtype == object:
        missing |= np.array([label is None for label in labels])
    if np.any(missing):
        raise ValueError(
            f"groups has a missing label (first at index {int(np.argmax(missing))}): drop such "
            "items, or give them a query of their own."
        )
    _, first, member = np.unique(labels, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[member]
    order = np.argsort(place, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(place[order])) + 1)
