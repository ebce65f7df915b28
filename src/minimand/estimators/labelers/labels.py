"""Labels of tokens: any hashable values, coded as numbers 0, 1, 2, … in their sorted order."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._base.typing import AnyArray, ArrayLike, IntArray
from ..inputs.kinds import is_missing
from .tokens import SEQUENCE, Unit, check_list


def label_lists(y: Any, lengths: IntArray, unit: Unit = SEQUENCE) -> list[list[Any]]:
    """One list of labels for each sequence; refused in one sentence unless every token has one."""
    if y is None:
        raise ValueError("a labeler requires y to be passed, but the target y is None.")
    check_list("y", y, "labels", len(lengths), unit)
    found = []
    for place, (own, length) in enumerate(zip(y, lengths)):
        if isinstance(own, str | bytes | dict) or not hasattr(own, "__len__"):
            hint = f": pass list(y[{place}]) if its characters are labels" * isinstance(own, str)
            raise TypeError(
                f"y[{place}] must be a list with a label for each {unit.part}, not "
                f"{own!r:.50}{hint}."
            )
        if getattr(own, "ndim", 1) != 1:
            raise ValueError(
                f"y[{place}] must be 1D, a label for each {unit.part}, not {own.ndim}D."
            )
        labels = own.tolist() if hasattr(own, "tolist") else list(own)
        if len(labels) != length:
            raise ValueError(
                f"X[{place}] has {length} {unit.part}s and y[{place}] has {len(labels)} labels: "
                f"every {unit.part} needs one label."
            )
        found.append(labels)
    return found


def distinct_labels(y: list[list[Any]]) -> AnyArray:
    """The labels that occur, sorted; those of types that cannot be compared by type and name."""
    found: dict[Any, None] = {}
    with _hashed(y):
        for labels in y:
            found.update(dict.fromkeys(labels))
    labels = [label.item() if isinstance(label, np.generic) else label for label in found]
    for label in labels:
        if is_missing(label):
            raise ValueError(
                f"y holds a missing label ({label!r}): drop it, or give such entries a label of "
                "their own."
            )
    try:
        labels = sorted(labels)
    except TypeError:
        labels = sorted(labels, key=lambda label: (type(label).__name__, repr(label)))
    return as_classes(labels)


def refuse_single(classes: AnyArray) -> None:
    """Refuse a single label, of which nothing can be learnt."""
    if classes.size < 2:
        raise ValueError(
            f"y holds one label only ({classes.tolist()[0]!r}): a labeler needs at least 2."
        )


def first_classes(labels: list[list[Any]], classes: ArrayLike) -> AnyArray:
    """The labels of a stream: those declared, or those of its first batch."""
    known = distinct_labels(labels if classes is None else [_listed(classes)])
    if known.size < 2:
        raise ValueError(
            f"the first batch holds one label only ({known.tolist()}): declare all of them in the "
            "first call, as partial_fit(X, y, classes=…)."
        )
    return known


def refuse_other_classes(classes: ArrayLike, known: AnyArray) -> None:
    """Refuse other labels than those of the first call."""
    if classes is not None and not np.array_equal(distinct_labels([_listed(classes)]), known):
        raise ValueError(f"classes must be those of the first call, {known.tolist()}.")


def _listed(classes: ArrayLike) -> list[Any]:
    return classes.tolist() if hasattr(classes, "tolist") else list(classes)


def as_classes(labels: list[Any]) -> AnyArray:
    """An array of labels: of numbers or texts if all are of one such type, else of objects."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds <= {str, int, bool, float}:
        return np.array(labels)
    classes = np.empty(len(labels), dtype=object)
    classes[:] = labels
    return classes


def encode(y: list[list[Any]], classes: AnyArray) -> AnyArray:
    """The numbers of all labels, one behind the other; −1 for labels that are not known."""
    code = {label: number for number, label in enumerate(classes.tolist())}
    with _hashed(y):
        flat = [code.get(label, -1) for labels in y for label in labels]
    return np.array(flat, dtype=np.int64)


@contextmanager
def _hashed(y: list[list[Any]]) -> Iterator[None]:
    """Refuse labels that cannot be hashed, in one sentence."""
    try:
        yield
    except TypeError as error:
        bad = next((i for i, own in enumerate(y) if not all(map(_is_hashable, own))), None)
        if bad is None:
            raise
        raise TypeError(
            f"y[{bad}] holds a label that cannot be hashed ({error}): labels are texts, numbers, "
            "tuples or other hashable values."
        ) from error


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def refuse_unknown(y: list[list[Any]], codes: AnyArray, classes: AnyArray) -> None:
    """Refuse labels that the model does not know."""
    if (codes < 0).any():
        raise ValueError(
            f"y holds the label {_first_unknown(y, codes)!r}, which is not among the "
            f"{len(classes)} labels of the fit (classes_): no probability is known for it."
        )


def warn_of_unknown(y: list[list[Any]], codes: AnyArray) -> None:
    """Say that labels which the model does not know count as errors."""
    if (codes < 0).any():
        warnings.warn(
            f"y holds the label {_first_unknown(y, codes)!r}, which the fit has not seen: it "
            "counts as an error everywhere.",
            UserWarning,
            stacklevel=3,
        )


def _first_unknown(y: list[list[Any]], codes: AnyArray) -> Any:
    flat = (label for labels in y for label in labels)
    return next(label for label, code in zip(flat, codes) if code < 0)


def split(flat: Any, offsets: IntArray) -> list[Any]:
    """The parts of an array that belong to every sequence."""
    return [flat[a:b] for a, b in itertools.pairwise(offsets)]
