"""Refuses entries that are no numbers or labels: dates, masked or missing ones, mixed types."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..._base.typing import AnyArray

_MISSING = ("NAType", "NaTType")  # pandas' types, compared by name so that pandas is not imported


def unmasked(x: Any, name: str) -> Any:
    """A masked array as a plain one; refused if an entry is masked."""
    if not isinstance(x, np.ma.MaskedArray):
        return x
    masked = int(np.ma.getmaskarray(x).sum())
    if masked:
        raise ValueError(
            f"{name} is a masked array in which {masked} of {x.size} entries are masked: fill or "
            "drop them first."
        )
    return np.asarray(x.data)


def refuse_dates(x: Any, name: str) -> None:
    """Refuse dates and times: the user has to choose their zero and their unit."""
    kind = getattr(getattr(x, "dtype", None), "kind", "")
    where = "" if kind not in tuple("mM") else f"{name} holds dates or times ({x.dtype})"
    if not where and hasattr(x, "columns"):
        import narwhals as nw

        frame = nw.from_native(x, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            dated = [column for column, kind in frame.schema.items() if kind.is_temporal()]
            where = f"column {dated[0]!r} of {name} holds dates or times" if dated else ""
    if where:
        raise ValueError(
            f"{where}: turn them into numbers first, such as the days since the first of them."
        )


def refuse_texts(x: Any, name: str) -> None:
    """Refuse arrays and lists of texts, also where every text reads as a number.

    A data frame with such a column is left to its conversion.
    """
    if isinstance(x, list | tuple):
        try:
            x = np.asarray(x)
        except ValueError:  # rows of different lengths, which another check refuses
            return
    dtype = getattr(x, "dtype", None)
    if getattr(dtype, "kind", "") in tuple("US"):
        raise ValueError(
            f"{name} must hold numbers, but it holds text ({dtype}): convert it first, as "
            f"{name}.astype(float) does."
        )


def refuse_mixed(labels: Any, name: str) -> None:
    """Refuse labels that cannot be sorted: some are missing, or their types differ."""
    values = np.asarray(labels, dtype=object).ravel()
    for place, value in enumerate(values):
        if is_missing(value):
            raise ValueError(
                f"{name} holds a missing label ({value!r}, first at index {place}): drop it, or "
                "give it a label of its own."
            )
    kinds = {_kind(value) for value in values}
    if len(kinds) > 1:
        types = sorted({type(value).__name__ for value in values})
        raise ValueError(
            f"{name} holds labels of several types ({', '.join(types)}), so that it holds no class "
            "labels that can be sorted: make them all strings, or all numbers."
        )


def as_labels(values: Any) -> AnyArray:
    """A list as an array in which mixed numbers, strings, None and NaN keep their types."""
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        as_given = np.asarray(values, dtype=object)
        if any(not isinstance(value, str | bytes) for value in as_given.ravel()):
            return as_given
    return array


def is_missing(value: Any) -> bool:
    """Whether a label is None, NaN or one of pandas' missing values."""
    if value is None or type(value).__name__ in _MISSING:
        return True
    return isinstance(value, numbers.Real) and bool(value != value)


def _kind(value: Any) -> Any:
    """The kind of a label; labels of one kind can be sorted. Numbers and booleans are one kind."""
    return numbers.Number if isinstance(value, numbers.Number | np.bool_) else type(value)
