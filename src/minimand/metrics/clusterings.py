r"""Scores of clusterings against known classes: by a mapping of labels, and by entropies.

A clustering has no names of its clusters, so accuracy needs a mapping of clusters to classes:
one-to-one, by a greedy choice or the best one, or many-to-one, each cluster to its most frequent
class. Always greedy ≤ optimal ≤ optimistic. With the entropies H of classes C and clusters K,

.. math:: \text{homogeneity} = 1 - H(C \mid K)/H(C), \qquad
    \text{completeness} = 1 - H(K \mid C)/H(K),

each of which is 1 where the entropy that it divides by is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike, IntArray
from .contingency import Contingency, contingency

_LARGEST = 25_000_000  # cells of the table of an optimal mapping; safeguard: 200 MB


def greedy_accuracy(
    true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None
) -> float:
    """Accuracy after a greedy one-to-one mapping of clusters to classes.

    The class and the cluster that have most samples in common are mapped to each other and set
    aside, then the next, and so on. Samples of clusters that are left without a class count as
    errors.

    Parameters
    ----------
    true : array-like of shape (n_samples,)
        Classes.
    predicted : array-like of shape (n_samples,)
        Clusters, of any names.
    sample_weight : array-like of shape (n_samples,), optional

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.greedy_accuracy(["a", "a", "a", "b", "b"], [1, 1, 0, 0, 0])
    0.8
    """
    return share_of_mapped(contingency(true, predicted, sample_weight), "greedy")


def optimal_accuracy(
    true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None
) -> float:
    """Accuracy after the best one-to-one mapping of clusters to classes.

    It is an assignment problem, which is solved exactly. The arguments are those of
    `greedy_accuracy`.

    Examples
    --------
    >>> import minimand as mm
    >>> true, clusters = [0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0, 0]
    >>> mm.metrics.greedy_accuracy(true, clusters), mm.metrics.optimal_accuracy(true, clusters)
    (0.428..., 0.571...)
    """
    return share_of_mapped(contingency(true, predicted, sample_weight), "optimal")


def optimistic_accuracy(
    true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None
) -> float:
    """Accuracy after mapping every cluster to its most frequent class, also called purity.

    Several clusters may share a class, so it is 1 if every sample is a cluster of its own. The
    arguments are those of `greedy_accuracy`.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.optimistic_accuracy(["a", "a", "a", "b", "b"], [1, 1, 2, 0, 0])
    1.0
    """
    return share_of_mapped(contingency(true, predicted, sample_weight), "optimistic")


def cluster_mapping(true: ArrayLike, predicted: ArrayLike, how: str = "optimal") -> dict[Any, Any]:
    """The class of every cluster, by the mapping behind an accuracy.

    Parameters
    ----------
    true, predicted : array-like of shape (n_samples,)
        Classes and clusters.
    how : {"optimal", "greedy", "optimistic"}, default="optimal"
        One-to-one mappings leave clusters without a class if there are more clusters than classes.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.cluster_mapping(["a", "a", "b", "b"], [7, 7, 3, 3])
    {3: 'b', 7: 'a'}
    """
    table = contingency(true, predicted)
    cells = np.sort(_mapped(table, how))
    found = dict(zip(table.clusters[table.column[cells]].tolist(), table.row[cells]))
    return {cluster: table.classes[found[cluster]].tolist() for cluster in sorted(found)}


def homogeneity(true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None) -> float:
    """1 − H(C|K)/H(C): 1 if every cluster holds samples of one class only.

    Parameters
    ----------
    true : array-like of shape (n_samples,)
        Classes.
    predicted : array-like of shape (n_samples,)
        Clusters.
    sample_weight : array-like of shape (n_samples,), optional

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.homogeneity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    return homogeneity_completeness(contingency(true, predicted, sample_weight))[0]


def completeness(true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None) -> float:
    """1 − H(K|C)/H(K): 1 if all samples of a class are in one cluster.

    The arguments are those of `homogeneity`.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.completeness([0, 0, 1, 1], [0, 1, 2, 3])
    0.5
    """
    return homogeneity_completeness(contingency(true, predicted, sample_weight))[1]


def v_measure(
    true: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike = None, beta: float = 1.0
) -> float:
    r"""The weighted harmonic mean of homogeneity h and completeness c.

    .. math:: V_\beta = (1 + \beta) \, h c / (\beta h + c)

    ``beta`` is how many times as much completeness counts. The other arguments are those of
    `homogeneity`.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.v_measure([0, 0, 1, 1], [0, 1, 2, 3])
    0.666...
    """
    if not np.isfinite(beta) or beta < 0:
        raise ValueError(f"beta must be a finite number ≥ 0, not {beta!r}.")
    h, c = homogeneity_completeness(contingency(true, predicted, sample_weight))
    return (1.0 + beta) * h * c / (beta * h + c) if h + c > 0 else 0.0


def share_of_mapped(table: Contingency, how: str) -> float:
    """The share of the weight that lies in the cells of a mapping."""
    return float(table.mass[_mapped(table, how)].sum() / table.total)


def _mapped(table: Contingency, how: str) -> IntArray:
    """The cells of a mapping of clusters to classes."""
    if how == "greedy":
        return _greedy(table)
    if how == "optimal":
        return _optimal(table)
    if how == "optimistic":
        order = np.lexsort((table.row, -table.mass, table.column))
        first = np.diff(table.column[order], prepend=-1) > 0
        return order[first]
    raise ValueError(f"how must be 'optimal', 'greedy' or 'optimistic', not {how!r}.")


def _greedy(table: Contingency) -> IntArray:
    """The largest cell whose class and cluster are both free, again and again."""
    free_class = np.ones(len(table.classes), dtype=bool)
    free_cluster = np.ones(len(table.clusters), dtype=bool)
    chosen = []
    for cell in np.argsort(-table.mass, kind="stable"):
        row, column = table.row[cell], table.column[cell]
        if free_class[row] and free_cluster[column]:
            free_class[row] = free_cluster[column] = False
            chosen.append(cell)
    return np.array(chosen)


def _optimal(table: Contingency) -> IntArray:
    """The assignment with the largest weight."""
    from scipy.optimize import linear_sum_assignment

    shape = len(table.classes), len(table.clusters)
    if shape[0] * shape[1] > _LARGEST:
        raise ValueError(
            f"an optimal mapping of {shape[1]} clusters to {shape[0]} classes takes more than "
            f"{_LARGEST} cells: use the greedy one."
        )
    full = np.zeros(shape)
    full[table.row, table.column] = table.mass
    rows, columns = linear_sum_assignment(full, maximize=True)
    matched = np.full(shape[0], -1)
    matched[rows] = columns
    return np.flatnonzero(matched[table.row] == table.column)


def homogeneity_completeness(table: Contingency) -> tuple[float, float]:
    """Homogeneity and completeness."""
    share = table.mass / table.total
    of_class, of_cluster = table.of_classes / table.total, table.of_clusters / table.total
    # H(C|K) = −Σ p(c, k)·log(p(c, k)/p(k)), a sum of terms that are not negative
    given_clusters = _sum_of_logs(share, of_cluster[table.column] / share)
    given_classes = _sum_of_logs(share, of_class[table.row] / share)
    entropy, entropy_of_clusters = (_sum_of_logs(p, 1.0 / p) for p in (of_class, of_cluster))
    h = 1.0 - given_clusters / entropy if len(table.classes) > 1 else 1.0
    c = 1.0 - given_classes / entropy_of_clusters if len(table.clusters) > 1 else 1.0
    return min(max(h, 0.0), 1.0), min(max(c, 0.0), 1.0)


def _sum_of_logs(weights: Array, values: Array) -> float:
    return float(np.sum(weights * np.log(np.maximum(values, 1.0))))
