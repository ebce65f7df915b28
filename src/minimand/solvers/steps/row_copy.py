"""What a solver that goes from row to row says where rows do not lie together in memory."""

from __future__ import annotations

from ...problem.objective import Objective
from ..base import Control, Verdict


def row_copy_counted(objective: Objective, control: Control, verdict: Verdict) -> Verdict:
    """The verdict, with the copy of the rows: refused if it exceeds `memory`, else named.

    A matrix in the other order is copied as well, and counted; what needs words is that data
    which come in blocks, from a disk perhaps, must all fit into memory.
    """
    design = objective.design
    if not verdict.ok or not design.row_copy_bytes:
        return verdict
    if design.row_copy_bytes > control.memory:
        words = "rows must lie together in memory, and `memory` allows no copy"
        return Verdict(False, words)
    if design.access.only_blocks:
        size = f"{design.row_copy_bytes / 1e6:.3g} MB"
        return verdict._replace(reason=f"{verdict.reason}; copies all rows into memory ({size})")
    return verdict
