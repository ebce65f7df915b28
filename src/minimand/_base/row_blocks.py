"""Blocks of rows, so that temporaries need not be as long as the data."""

from __future__ import annotations

from collections.abc import Iterator

from .typing import Array

ROWS = 1 << 17  # rows of a block, 1 MB per vector; safeguard: temporaries stay in a cache


def in_parts(*rowwise: Array) -> Iterator[tuple[Array, ...]]:
    """Views of arrays of one length, `ROWS` rows at a time."""
    for start in range(0, len(rowwise[0]), ROWS):
        yield tuple(array[start : start + ROWS] for array in rowwise)
