"""Units of a loss, each of which has one value: a row, a run of rows, or all rows together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._base import row_blocks
from .._base.typing import IntArray
from ..losses import Loss
from ..losses.base import runs_of


def offsets(loss: Loss, n_rows: int) -> IntArray | None:
    """Offsets of the units of a loss among the rows; None if every row is a unit."""
    if loss.unit == "row":
        return None
    if loss.unit == "set":
        return np.array([0, n_rows])
    units = runs_of(loss)
    if units[-1] != n_rows:
        raise ValueError(f"the runs of {loss!r} end at row {units[-1]}, but there are {n_rows}.")
    return units


def on_rows(loss: Loss, units: IntArray | None, rows: Any) -> tuple[Loss, Any]:
    """The loss on some rows (increasing), and the index of their units, which must be whole."""
    if units is None:
        return loss, rows
    if loss.unit == "set":
        return loss, slice(None)  # some of the rows are a set, too
    unit = np.searchsorted(units, np.arange(units[-1])[rows], side="right") - 1
    kept, sizes = np.unique(unit, return_counts=True)
    if not np.array_equal(sizes, np.diff(units)[kept]):
        raise ValueError(f"rows of one run cannot be parted: {loss!r} is a loss over runs.")
    return loss.bind(np.append(0, np.cumsum(sizes))), kept


def thinned(loss: Loss, units: IntArray | None, every: int) -> Any:
    """Every k-th row; if units are runs, the rows of every k-th unit."""
    if units is None or loss.unit == "set":
        return slice(None, None, every)
    chosen = np.arange(units.size - 1) % every == 0
    return np.flatnonzero(np.repeat(chosen, np.diff(units)))


def in_blocks(
    loss: Loss, units: IntArray | None, n_rows: int
) -> Iterator[tuple[Loss, slice, slice]]:
    """Blocks of whole units: the loss on them, their rows, and their positions."""
    most = row_blocks.ROWS
    if n_rows <= most or loss.unit == "set":
        yield loss, slice(0, n_rows), slice(None)
    elif units is None:
        for start in range(0, n_rows, most):
            rows = slice(start, start + most)
            yield loss, rows, rows
    else:
        first = 0
        while first < units.size - 1:
            end = int(np.searchsorted(units, units[first] + most, side="right")) - 1
            last = max(end, first + 1)
            rows = slice(int(units[first]), int(units[last]))
            yield loss.bind(units[first : last + 1] - units[first]), rows, slice(first, last)
            first = last
