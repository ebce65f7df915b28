"""The classes of a stream, which ``partial_fit`` may be told before it has seen them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.typing import AnyArray, ArrayLike
from .kinds import as_labels, refuse_mixed, unmasked

_HOW = "declare them all in the first call, as partial_fit(X, y, classes=…)"


def stream_classes(
    model: Any, classes: ArrayLike, y: AnyArray, *, from_first_batch: bool = True
) -> AnyArray:
    """The classes of ``partial_fit``, sorted; those of the first call, or of ``fit``, hold for all.

    If none are passed, they are those of the first batch, which is allowed only if
    ``from_first_batch``. A batch with labels that are not among them is refused.
    """
    found = _classes_of(model, classes, y if from_first_batch else None)
    _check_labels_known(found, y)
    return found


def _classes_of(model: Any, classes: ArrayLike, first: AnyArray | None) -> AnyArray:
    known = getattr(model, "classes_", None)
    if classes is not None:
        labels = _labels(classes)
        if known is not None and not np.array_equal(known, labels):
            raise ValueError(
                f"classes={labels.tolist()} is not the same as on last call to partial_fit, was: "
                f"{known.tolist()}; leave it out, or call fit to begin anew."
            )
        return labels
    if known is not None:
        return known
    if first is None:
        raise ValueError(f"classes must be passed on the first call to partial_fit: {_HOW}.")
    found = np.unique(first)
    if found.size < 2:
        raise ValueError(
            f"the first batch holds one class only ({found.tolist()}): a classifier needs at least "
            f"2 classes, so {_HOW}."
        )
    return found


def _labels(classes: Any) -> AnyArray:
    """The classes that were passed, sorted: at least two labels of one kind."""
    try:
        given = as_labels(unmasked(classes, "classes"))
    except ValueError as error:
        if isinstance(classes, np.ndarray):
            raise
        raise ValueError(f"classes must be a list of labels, not {classes!r}.") from error
    refuse_mixed(given, "classes")
    labels = np.unique(given)
    if np.ndim(classes) != 1 or labels.size < 2:
        raise ValueError(f"classes must hold at least 2 labels, in one list, not {classes!r}.")
    return labels


def _check_labels_known(classes: AnyArray, y: AnyArray) -> None:
    """Refuse labels that are not among the classes."""
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y holds the class {unknown.tolist()[0]!r}, which is not among {classes.tolist()}, "
            f"the classes that are known: {_HOW}."
        )
