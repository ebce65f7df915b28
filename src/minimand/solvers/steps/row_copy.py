"""The words of a solver that reads rows one by one, where rows are not contiguous in memory."""

from __future__ import annotations

from ...problem.objective import Objective
from ..base import Control, Verdict


def row_copy_counted(objective: Objective, control: Control, verdict: Verdict) -> Verdict:
    """The verdict with the copy of rows that it needs: a refusal if that exceeds `memory`.

    A matrix in the other order is copied and counted too. Data that come in blocks, perhaps from a
    disk, must then fit into memory as a whole, which is added to the reason.
    """
    design = objective.design
    if not verdict.ok:
        return verdict
    if design.reading > 1.0:
        words = "rows must lie in memory, which has no room for them: they are computed on demand"
        return Verdict(False, words)
    if design.row_copy_bytes > control.memory:
        words = "rows must lie together in memory, and `memory` allows no copy"
        return Verdict(False, words)
    if design.access.only_blocks:
        size = f"{design.row_copy_bytes / 1e6:.3g} MB"
        return verdict._replace(reason=f"{verdict.reason}; copies all rows into memory ({size})")
    return verdict
