"""Classes that ``partial_fit`` is told of before it has seen them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, ArrayLike


def declared(model: Any, classes: ArrayLike) -> AnyArray:
    """The classes of ``partial_fit``, sorted; those of the first call hold for all."""
    known = getattr(model, "classes_", None)
    if classes is None:
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return known
    labels = np.unique(np.asarray(classes))
    if known is not None and not np.array_equal(known, labels):
        raise ValueError(
            f"classes={labels.tolist()} is not the same as in the last call to partial_fit, "
            f"{known.tolist()}: leave it out, or call fit to begin anew."
        )
    if labels.size < 2:
        raise ValueError(f"classes must hold at least 2 labels, not {labels.tolist()}.")
    return labels


def places(classes: AnyArray, y: AnyArray) -> AnyArray:
    """The place of every label among the classes."""
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y holds {unknown[:5].tolist()}, not among the classes {classes.tolist()} that were "
            "declared in the first call to partial_fit: declare all of them there."
        )
    return np.searchsorted(classes, y)
