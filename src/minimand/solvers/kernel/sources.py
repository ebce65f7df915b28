"""Rows of the kernel matrix of a design, in an order of the samples that changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.typing import AnyArray, IntArray
from ..._base.watch import look
from ...design import Design, KernelDesign
from .active_rows import RowSource

_SLAB = 1 << 22  # values between two looks at the watch, 16 MB of float32; safeguard


class VectorRows:
    """Rows of a kernel of vectors; a copy of the vectors is kept in the order of the positions.

    In float32 a product takes half the time; what is lost by it is made good when f = K a is
    computed anew in float64.
    """

    def __init__(self, design: KernelDesign, dtype: Any) -> None:
        self.dtype = dtype
        self._kernel = design.kernel
        self._x: AnyArray = np.array(design.inputs, dtype=dtype, order="C")

    def swap(self, one: IntArray, other: IntArray) -> None:
        """Exchange vectors."""
        self._x[one], self._x[other] = self._x[other], self._x[one]

    def fill(self, first: int, last: int, out: AnyArray) -> None:
        """Values of some vectors with all."""
        step = max(_SLAB // max(out.shape[1], 1), 16)
        for start in range(first, last, step):
            look()
            end = min(start + step, last)
            out[start - first : end - first] = self._kernel.block(self._x[start:end], self._x)


class AnyRows:
    """Rows of any design without columns, computed in the order of the samples."""

    def __init__(self, design: Design, dtype: Any) -> None:
        self.dtype = dtype
        self._design = design
        self._order = np.arange(design.shape[0])

    def swap(self, one: IntArray, other: IntArray) -> None:
        """Exchange numbers of samples."""
        self._order[one], self._order[other] = self._order[other], self._order[one]

    def fill(self, first: int, last: int, out: AnyArray) -> None:
        """Values of some samples with all, put into the order of the positions."""
        step = max(_SLAB // max(out.shape[1], 1), 1)
        for start in range(first, last, step):
            look()
            end = min(start + step, last)
            some = self._design.rows(self._order[start:end])
            out[start - first : end - first] = self._design.cross(some)[:, self._order]


def source_of(design: Design, dtype: Any) -> RowSource:
    """The fastest source of rows for a design."""
    if isinstance(design, KernelDesign) and isinstance(design.inputs, np.ndarray):
        return VectorRows(design, dtype)
    return AnyRows(design, dtype)
