"""A small table of numbers with names of rows and columns, which prints itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from .._base.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Table(Mapping[str, dict[str, float]]):
    """Numbers by row and column; ``table[row][column]`` is one of them.

    Attributes
    ----------
    rows, columns : tuple of str
    numbers : ndarray of shape (n_rows, n_columns)
        NaN where a number does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> from minimand.metrics import Table
    >>> table = Table(("train", "test"), ("error",), np.array([[0.25], [0.5]]))
    >>> table
           error
    train  0.25
    test   0.5
    >>> table["test"]["error"]
    0.5
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: Array

    def __getitem__(self, row: str) -> dict[str, float]:
        if row not in self.rows:
            raise KeyError(f"{row!r} is no row of this table, whose rows are {list(self.rows)}")
        return dict(zip(self.columns, self.numbers[self.rows.index(row)].tolist()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        cells = [["", *self.columns]]
        for name, row in zip(self.rows, self.numbers):
            cells.append([name, *("–" if np.isnan(v) else f"{v:.4g}" for v in row)])
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in cells)
        return "\n".join(lines)
