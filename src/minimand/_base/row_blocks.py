"""Blocks of rows, so that temporaries need not be as long as the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .typing import Array

ROWS = 1 << 17  # rows of a block, 1 MB per vector; safeguard: temporaries stay in a cache


def in_parts(*rowwise: Array) -> Iterable[tuple[Array, ...]]:
    """Views of arrays of one length, `ROWS` rows at a time; all rows at once if they are few."""
    return (rowwise,) if 0 < len(rowwise[0]) <= ROWS else _blocks(rowwise)


def _blocks(rowwise: tuple[Array, ...]) -> Iterator[tuple[Array, ...]]:
    for start in range(0, len(rowwise[0]), ROWS):
        yield tuple(array[start : start + ROWS] for array in rowwise)
