"""Some rows of a kernel's design, which are not copied as long as nobody compares all of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .._base.typing import Array, IntArray
from .kernel import KernelDesign


class PartDesign(KernelDesign):
    """Some rows of a `KernelDesign`, such as the two classes of a pair.

    Parameters
    ----------
    whole : KernelDesign
    taken : ndarray of int
        The numbers of the rows.
    """

    def __init__(self, whole: KernelDesign, taken: IntArray) -> None:
        self.whole, self.taken = whole, taken
        self.kernel = whole.kernel
        self.shape = (taken.size, 0)

    @cached_property
    def inputs(self) -> Any:
        """The rows that the kernel compares, a copy."""
        return self.whole.inputs[self.taken]

    @cached_property
    def row_lengths(self) -> Array:
        """k(xᵢ, xᵢ)."""
        return self.whole.row_lengths[self.taken]

    def row_scores(self, rows: IntArray, used: IntArray, a: Array) -> Array:
        """Σⱼ k(xᵢ, xⱼ)·aⱼ of some rows i, over some rows j."""
        return self.whole.row_scores(self.taken[rows], self.taken[used], a)

    def rows(self, rows: IntArray) -> PartDesign:
        """The given rows."""
        return PartDesign(self.whole, self.taken[rows])

    def doubt(self, unit: float) -> tuple[float, float]:
        """The doubt of values among all rows, which is no less than among these."""
        return self.whole.doubt(unit)
