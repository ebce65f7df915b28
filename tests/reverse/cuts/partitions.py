"""All partitions of a few rows, and the objectives of clusterings by their definitions."""

import numpy as np


def partitions(n, k):
    """Labels of all partitions of n rows into exactly k clusters, each once."""

    def grow(labels, used):
        if len(labels) == n:
            if used == k:
                yield np.array(labels)
            return
        if used + n - len(labels) < k:
            return
        for label in range(min(used + 1, k)):
            yield from grow([*labels, label], max(used, label + 1))

    yield from grow([0], 1)


def scatter(K, labels, weights=None):
    """Σ s‖φ(x) − centre‖², from inner products by the definition of a weighted mean."""
    s = np.ones(len(K)) if weights is None else np.asarray(weights, dtype=float)
    total = float(s @ np.diag(K))
    for label in np.unique(labels):
        c = s * (labels == label)
        if c.sum() > 0:
            total -= float(c @ K @ c) / c.sum()
    return total


def cut(K, labels, weights=None):
    """Σ cut(j, others)/vol(j), edge by edge."""
    s = np.ones(len(K)) if weights is None else np.asarray(weights, dtype=float)
    graph = K * np.outer(s, s)
    found = 0.0
    for label in np.unique(labels):
        inside = labels == label
        volume = graph[inside].sum()
        if volume > 0:
            found += graph[np.ix_(inside, ~inside)].sum() / volume
    return found


def same_partition(a, b):
    """Whether two labellings are one partition."""
    pairs = set(zip(np.asarray(a).tolist(), np.asarray(b).tolist()))
    return len(pairs) == len(set(np.asarray(a).tolist())) == len(set(np.asarray(b).tolist()))
