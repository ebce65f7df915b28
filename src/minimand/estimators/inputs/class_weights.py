"""class_weight as factors of the sample weights."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..._base.typing import AnyArray, Array


def weighted_by_class(
    class_weight: Any, y: AnyArray, weights: Array | None, classes: AnyArray | None = None
) -> Array | None:
    """The sample weights times the factor of each sample's class; None if all are equal.

    ``classes`` are those of the model; a batch need not contain all of them.
    """
    if class_weight is None or y.ndim > 1:  # several labels: see `label_factors`
        return weights
    weights = np.ones(y.shape[0]) if weights is None else weights
    classes = np.unique(y) if classes is None else np.union1d(classes, y)
    index = np.searchsorted(classes, y)
    if isinstance(class_weight, str) and class_weight == "balanced":
        factors = _balanced(np.bincount(index, weights, classes.size).astype(np.float64))
    elif isinstance(class_weight, dict):
        factors = _from_dict(class_weight, classes)
    else:
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict by class, not {class_weight!r}."
        )
    weights = weights * factors[index]
    if not weights.any():
        raise ValueError("class_weight is zero for every sample: give at least two classes one.")
    return weights


def label_factors(class_weight: Any, y: AnyArray, weights: Array | None) -> Array:
    """For every label of a table y the factors of the samples without it and with it, (2, k).

    ``class_weight`` is "balanced", a dict by 0 and 1 for all labels, or a list of these.
    """
    k = y.shape[1]
    given = class_weight if isinstance(class_weight, list | tuple) else [class_weight] * k
    if len(given) != k:
        raise ValueError(
            f"class_weight must hold one dict per label: there are {k} labels, but it has "
            f"{len(given)} entries."
        )
    mass = np.ones(y.shape[0]) if weights is None else weights
    found = np.ones((2, k))
    for c, (label, column) in enumerate(zip(given, y.T)):
        if isinstance(label, str) and label == "balanced":
            present = float(mass @ (column == 1))
            found[:, c] = _balanced(np.array([mass.sum() - present, present]))
        elif isinstance(label, dict):
            found[:, c] = _from_dict(label, np.array([0, 1]))
        elif label is not None:
            raise ValueError(
                "class_weight must be 'balanced' or a dict by 0 and 1, or a list of these with one "
                f"entry per label, not {class_weight!r}."
            )
    if not found.all():
        raise ValueError(
            "class_weight of a label must be above 0 for samples with it and without it."
        )
    return found


def _balanced(totals: Array) -> Array:
    """Σs / (k·Σ_c s): every class weighs the same, whether rows are weighted or repeated."""
    present = totals > 0
    even = totals.sum() / present.sum()
    return np.where(present, even / np.where(present, totals, 1.0), 0.0)


def _from_dict(class_weight: dict[Any, Any], classes: AnyArray) -> Array:
    """The factor of every class, 1 for one that is not mentioned."""
    labels = classes.tolist()
    complete = all(label in class_weight for label in labels)
    for label, factor in class_weight.items():
        # A fold may lack a class. But if a class of the data has no factor, the label is misspelt.
        if label not in labels and not complete:
            raise ValueError(f"class_weight names the class {label!r}, but y has only {labels}.")
        is_number = isinstance(factor, numbers.Real) and not isinstance(factor, bool)
        if not is_number or not 0 <= factor < np.inf:
            raise ValueError(
                f"class_weight of {label!r} must be a finite number ≥ 0, not {factor!r}."
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])
