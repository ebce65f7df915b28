"""Rows some at a time, so that nothing as long as the data is made on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .typing import Array

ROWS = 1 << 17  # rows whose terms stay in a cache while they are worked on


def in_parts(*rowwise: Array) -> Iterable[tuple[Array, ...]]:
    """Views of some rows after others, of arrays of one length; all at once where they are few."""
    return (rowwise,) if 0 < len(rowwise[0]) <= ROWS else _blocks(rowwise)


def _blocks(rowwise: tuple[Array, ...]) -> Iterator[tuple[Array, ...]]:
    for start in range(0, len(rowwise[0]), ROWS):
        yield tuple(array[start : start + ROWS] for array in rowwise)
