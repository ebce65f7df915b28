"""Rows of the kernel matrix of a design, in an order of the samples that changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.typing import AnyArray, Array, IntArray
from ..._base.watch import look
from ...design import Design, GramDesign, KernelDesign, PartDesign
from ...kernels.rows import Parts
from .active_rows import RowSource

_SLAB = 1 << 24  # values between two looks at the watch, 64 MB of float32; safeguard


class VectorRows:
    """Rows of a kernel of vectors; a copy of the vectors is kept in the order of the positions.

    In float32 a product takes half the time; what is lost by it is made good when f = K a is
    computed anew in float64.
    """

    def __init__(self, design: KernelDesign, dtype: Any) -> None:
        self.dtype = dtype
        self._kernel = design.kernel
        if isinstance(design, PartDesign):
            narrow = design.whole.memo.get(dtype)
            if narrow is None:
                narrow = design.whole.memo[dtype] = _narrow(design.whole.inputs, dtype)
            self._x: Any = narrow[design.taken]
        else:
            self._x = _narrow(design.inputs, dtype)

    def swap(self, one: IntArray, other: IntArray) -> None:
        """Exchange vectors, and what is known of them."""
        for part in _arrays(self._x):
            part[one], part[other] = part[other], part[one]

    def fill(self, first: int, last: int, out: AnyArray) -> None:
        """Values of some vectors with all."""
        step = max(_SLAB // max(out.shape[1], 1), 16)
        for start in range(first, last, step):
            look()
            end = min(start + step, last)
            self._kernel.fill(self._x[start:end], self._x, out[start - first : end - first])


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


def source_of(design: Design, dtype: Any) -> RowSource | Array:
    """The fastest source of rows for a design; the matrix itself if it is in memory."""
    if isinstance(design, GramDesign):
        return design.matrix
    whole = design.whole if isinstance(design, PartDesign) else design
    if isinstance(design, KernelDesign) and _is_vectors(getattr(whole, "inputs", None)):
        return VectorRows(design, dtype)
    return AnyRows(design, dtype)


def _narrow(inputs: Any, dtype: Any) -> Any:
    """A copy of the vectors in another precision.

    What comes with the vectors stays in float64, as their squares do.
    """
    vectors, *others = _arrays(inputs)
    copies = np.array(vectors, dtype=dtype, order="C"), *map(np.array, others)
    return Parts(*copies) if others else copies[0]


def _arrays(inputs: Any) -> tuple[AnyArray, ...]:
    """The parts of the inputs of a kernel."""
    return tuple(inputs) if isinstance(inputs, Parts) else (inputs,)


def _is_vectors(inputs: Any) -> bool:
    """Whether they are dense vectors, with a number for each or nothing else."""
    first, *others = _arrays(inputs)
    numbers = all(isinstance(part, np.ndarray) and part.dtype == float for part in others)
    return isinstance(first, np.ndarray) and numbers
