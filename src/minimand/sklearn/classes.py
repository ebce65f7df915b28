"""The classes of a classifier drop-in, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets

from .._base.typing import AnyArray, Array
from ..estimators.inputs.data import few_labels


def classes_of(model: Any, y: AnyArray, weights: Array | None) -> AnyArray:
    """All classes of y; at least two must have a positive weight."""
    known = few_labels(y)
    if known is not None and known.size > 1 and weights is None and model.class_weight is None:
        return known
    check_classification_targets(y)
    check_classes(model, y, weights)
    return np.unique(y)


def binarizer_of(y: AnyArray) -> LabelBinarizer:
    """scikit-learn's coding of the labels as ±1, fitted."""
    found, known = LabelBinarizer(pos_label=1, neg_label=-1), few_labels(y)
    if known is None:
        return found.fit(y)
    found.y_type_ = "binary" if known.size <= 2 else "multiclass"
    found.sparse_input_, found.classes_ = False, known
    return found


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
