"""How often each pair of a true and a predicted label occurs together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._base.typing import AnyArray, Array, ArrayLike, IntArray


class Contingency(NamedTuple):
    """The cells of the table of classes and clusters that are not zero.

    Cell i says that samples of weight ``mass[i]`` have the true label ``classes[row[i]]`` and the
    predicted label ``clusters[column[i]]``. Only these cells are kept, at most one per sample.
    """

    classes: AnyArray
    clusters: AnyArray
    row: IntArray
    column: IntArray
    mass: Array

    @property
    def total(self) -> float:
        """The weight of all samples."""
        return float(self.mass.sum())

    @property
    def of_classes(self) -> Array:
        """The weight of every true label."""
        return _summed(self.row, self.mass, len(self.classes))

    @property
    def of_clusters(self) -> Array:
        """The weight of every predicted label."""
        return _summed(self.column, self.mass, len(self.clusters))


def contingency(true: ArrayLike, predicted: ArrayLike, sample_weight: Any = None) -> Contingency:
    """The cells of two labelings of the same samples."""
    first, second = labels_of(true, "true"), labels_of(predicted, "predicted")
    if len(first) != len(second):
        raise ValueError(
            f"true and predicted must label the same samples, but they have {len(first)} and "
            f"{len(second)} labels."
        )
    weights = np.ones(len(first)) if sample_weight is None else _weights(sample_weight, len(first))
    used = weights > 0
    classes, row = np.unique(first[used], return_inverse=True)
    clusters, column = np.unique(second[used], return_inverse=True)
    pairs, cell = np.unique(row * len(clusters) + column, return_inverse=True)
    mass = _summed(cell, weights[used], len(pairs))
    return Contingency(classes, clusters, pairs // len(clusters), pairs % len(clusters), mass)


def labels_of(labels: ArrayLike, name: str) -> AnyArray:
    """Labels as a vector; refused if there are none, or if some are missing."""
    found = np.asarray(labels)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1 or found.size == 0:
        raise ValueError(
            f"{name} must be 1D and not empty, one label per sample, but it has shape "
            f"{found.shape}."
        )
    if found.dtype == object:
        missing = np.array([value is None or bool(value != value) for value in found])
    else:
        missing = found != found
    if missing.any():
        raise ValueError(
            f"{name} has a missing label (first at index {int(np.argmax(missing))}): drop such "
            "samples, or give them a label of their own."
        )
    return found


def _weights(sample_weight: ArrayLike, n_samples: int) -> Array:
    found = np.asarray(sample_weight, dtype=float)
    if found.shape != (n_samples,) or not (found >= 0).all() or not 0 < found.sum() < np.inf:
        raise ValueError(
            f"sample_weight must hold a number ≥ 0 for each of {n_samples} samples, at least one "
            "of them positive."
        )
    return found


def _summed(places: IntArray, weights: Array, count: int) -> Array:
    """The sum of the weights at every place."""
    return np.asarray(np.bincount(places, weights, minlength=count), dtype=float)
