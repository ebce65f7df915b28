"""All scores of one or several clusterings, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import AnyArray, ArrayLike
from .clusterings import homogeneity_completeness, share_of_mapped
from .contingency import contingency, labels_of
from .silhouettes import silhouette
from .table import Table

_COLUMNS = ("clusters", "greedy", "optimal", "optimistic", "homogeneity", "completeness", "V")


def compare_clusterings(
    true: ArrayLike, *predicted: Any, X: ArrayLike = None, names: Any = None, **by_name: Any
) -> Table:
    """Every score of one or several clusterings against known classes.

    Parameters
    ----------
    true : array-like of shape (n_samples,) or None
        Classes; None if they are not known, which leaves the number of clusters and silhouettes.
    *predicted : labels of shape (n_samples,), or fitted models with ``labels_``
        The clusterings.
    X : array-like of shape (n_samples, n_features), optional
        Adds the mean silhouette, with Euclidean distances.
    names : sequence of str, optional
        The names of the clusterings; by default those of the classes of models.
    **by_name : the same as ``predicted``, by name

    Returns
    -------
    Table
        A row for each clustering: the number of clusters, `greedy_accuracy`, `optimal_accuracy`,
        `optimistic_accuracy`, `homogeneity`, `completeness`, `v_measure`, and `silhouette` if there
        is an X.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.compare_clusterings([0, 0, 1, 1], fine=[0, 1, 2, 3], swapped=[1, 1, 0, 0])
             clusters  greedy  optimal  optimistic  homogeneity  completeness  V
    fine     4         0.5     0.5      1           1            0.5           0.6667
    swapped  2         1       1        1           1            1             1
    """
    found = dict(zip(_names(predicted, names), predicted)) | by_name
    if not found:
        raise ValueError("compare_clusterings needs at least one clustering: labels or a model.")
    if true is None and X is None:
        raise ValueError("true is None, so X is needed: silhouettes are all that can be compared.")
    labels = {name: _labels(item, name) for name, item in found.items()}
    columns: tuple[str, ...] = _COLUMNS if true is not None else _COLUMNS[:1]
    columns += ("silhouette",) if X is not None else ()
    rows = [_scores(true, clusters, X) for clusters in labels.values()]
    return Table(tuple(labels), columns, np.array(rows))


def _scores(true: ArrayLike, clusters: AnyArray, X: Any) -> list[float]:
    """The scores of one clustering, in the order of the columns."""
    count = len(np.unique(clusters))
    row = [float(count)]
    if true is not None:
        table = contingency(true, clusters)
        row += [share_of_mapped(table, how) for how in ("greedy", "optimal", "optimistic")]
        h, c = homogeneity_completeness(table)
        row += [h, c, 2 * h * c / (h + c) if h + c > 0 else 0.0]
    if X is not None:
        row.append(silhouette(X, clusters) if 2 <= count < len(clusters) else np.nan)
    return row


def _names(items: tuple[Any, ...], names: Any) -> list[str]:
    """A name for each clustering; no two are equal."""
    if names is not None:
        if isinstance(names, str) or len(names) != len(items):
            raise ValueError(f"names must hold one name per clustering: {len(items)} are needed.")
        return [str(name) for name in names]
    plain = [
        type(item).__name__ if hasattr(item, "labels_") else f"labels {i + 1}"
        for i, item in enumerate(items)
    ]
    return [
        name if plain.count(name) == 1 else f"{name} {plain[: i + 1].count(name)}"
        for i, name in enumerate(plain)
    ]


def _labels(item: Any, name: str) -> AnyArray:
    if hasattr(item, "fit") and not hasattr(item, "labels_"):
        raise ValueError(
            f"{item!r} has no labels_: fit it first, or pass the labels that it predicts."
        )
    return labels_of(item.labels_ if hasattr(item, "labels_") else item, name)
