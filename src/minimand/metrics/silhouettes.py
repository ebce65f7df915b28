r"""Silhouettes: how much nearer a sample is to its own cluster than to the next one.

.. math:: s = \frac{b - a}{\max(a, b)}

where a is the mean distance to the other samples of its own cluster and b the least mean distance
to the samples of another cluster; 0 for a sample that is alone in its cluster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike
from .contingency import labels_of


def silhouette(
    X: ArrayLike, labels: ArrayLike, distance: Any = "euclidean", kernel: Any = None
) -> float:
    """The mean silhouette of all samples, between −1 and 1.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Whatever ``distance`` or ``kernel`` takes.
    labels : array-like of shape (n_samples,)
        Clusters: at least two, and fewer than samples.
    distance : str or callable, default="euclidean"
        A name that scipy knows, "manhattan", "precomputed" (X holds the distances of all pairs), or
        a function of two rows.
    kernel : Kernel or str, optional
        Distances of the features of a kernel, √(k(x,x) + k(z,z) − 2k(x,z)).

    Notes
    -----
    Distances of all pairs are computed, some rows at a time, so memory does not grow with n².

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    0.899...
    """
    return float(silhouette_samples(X, labels, distance, kernel).mean())


def silhouette_samples(
    X: ArrayLike, labels: ArrayLike, distance: Any = "euclidean", kernel: Any = None
) -> Array:
    """The silhouette of every sample; the arguments are those of `silhouette`.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.metrics.silhouette_samples([[0.0], [1.0], [10.0]], [0, 0, 1]).round(2)
    array([0.9 , 0.89, 0.  ])
    """
    from ..kernels.dissimilarity import dissimilarity_of  # most users of this package need none

    return of_fitted(dissimilarity_of(distance, kernel).fit(X), labels)


def of_fitted(pairs: Any, labels: ArrayLike) -> Array:
    """The silhouettes of the training rows of a `Dissimilarity`."""
    names, member = np.unique(labels_of(labels, "labels"), return_inverse=True)
    n, k = pairs.n_samples, len(names)
    if len(member) != n:
        raise ValueError(f"labels must hold one label per sample: expected {n}, got {len(member)}.")
    if not 2 <= k < n:
        raise ValueError(
            f"silhouettes need at least two clusters and fewer than samples, but labels has {k} "
            f"of {n} samples."
        )
    sizes = np.bincount(member)
    indicator = np.zeros((n, k))
    indicator[np.arange(n), member] = 1.0
    found = np.empty(n)
    for some, distances in pairs.own_blocks():
        sums = distances @ indicator
        rows, own = np.arange(len(sums)), member[some]
        alone = sizes[own] == 1
        a = sums[rows, own] / np.maximum(sizes[own] - 1, 1)
        means = sums / sizes
        means[rows, own] = np.inf
        b = means.min(axis=1)
        largest = np.maximum(a, b)
        found[some] = np.where(alone | (largest == 0), 0.0, (b - a) / np.maximum(largest, 1e-300))
    return found
