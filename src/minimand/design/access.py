"""What a design can give: its rows, its columns, blocks of rows, and what reading them takes."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Reach(IntEnum):
    """What it takes to read some rows or columns of a design."""

    NONE = 0  # the design does not have them
    COPY = 1  # a pass over the data, and a copy
    CHEAP = 2  # they are contiguous in memory


class Access(NamedTuple):
    """What a design can give, read by the verdicts of solvers.

    Without ``columns`` (`Reach.NONE`) the design is a kernel, of shape (n, 0): it has `row_gram`,
    `cross`, `row_lengths` and `rows`, and no products with coefficients of columns.
    """

    columns: Reach = Reach.COPY
    rows: Reach = Reach.COPY
    blocks: Reach = Reach.CHEAP

    @property
    def only_blocks(self) -> bool:
        """Whether reading rows or columns needs a copy of the data."""
        return self.rows is not Reach.CHEAP and self.columns is not Reach.CHEAP
