"""The classes of a drop-in that tells classes apart, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .._base.typing import AnyArray, Array


def classes_of(model: Any, y: AnyArray, weights: Array | None) -> AnyArray:
    """All classes of y; at least two of them must weigh something."""
    check_classification_targets(y)
    check_classes(model, y, weights)
    return np.unique(y)


def check_classes(model: Any, y: AnyArray, weights: Array | None) -> None:
    """At least two classes must be there and weigh something."""
    present = np.unique(y if weights is None else y[weights > 0]).tolist()
    if isinstance(model.class_weight, dict):
        present = [label for label in present if model.class_weight.get(label, 1) != 0]
    if len(present) < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but those with a weight "
            f"contain only one class: {present}."
        )
