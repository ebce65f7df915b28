"""The classes of a classifier drop-in, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .._base.typing import AnyArray, Array


def classes_of(model: Any, y: AnyArray, weights: Array | None) -> AnyArray:
    """All classes of y; at least two must have a positive weight."""
    check_classification_targets(y)
    check_classes(model, y, weights)
    return np.unique(y)


def check_classes(model: Any, y: AnyArray, weights: Array | None) -> None:
    """Refuse y unless at least two classes have a positive weight."""
    present = np.unique(y if weights is None else y[weights > 0]).tolist()
    if isinstance(model.class_weight, dict):
        present = [label for label in present if model.class_weight.get(label, 1) != 0]
    if len(present) < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but those with a weight "
            f"contain only one class: {present}."
        )
