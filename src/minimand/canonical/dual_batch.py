"""Several duals over the same rows, one per class, ascended together by one compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .. import _core
from .._base.typing import AnyArray, Array
from ..design import kernel_for
from .row_dual import RowDual

MOST_CLASSES = 16  # of one kernel call: four vectors of four numbers; safeguard
_STEP = 4  # classes are padded to a multiple of this; definition, as in the kernel
_LINE = 64  # bytes of a cache line, to which w is aligned; definition


class BatchAscent(NamedTuple):
    """The result of a run."""

    gaps: Array  # an estimate by class
    sweeps: float
    worthwhile: bool  # whether enough classes were active in the rows to go on together


class DualBatch:
    """The duals of some classes, packed side by side: a row's scores come from one reading of it.

    The classes have the same rows, ψ and l2. What they differ in is kept by row and class, so that
    a class may have its own signs, masses and shifts. `unpack` hands the state back to every dual.
    """

    def __init__(self, forms: Sequence[RowDual]) -> None:
        self.forms, first = forms, forms[0]
        n, d = first.design.shape
        self.width = -(-len(forms) // _STEP) * _STEP
        self.pull = self._packed([form.mass * form.loss.sign for form in forms], n)
        shifts = [form.loss.shift for form in forms]
        moved = any(shift.any() for shift in shifts)
        self.shift = self._packed(shifts, n) if moved else np.zeros(self.width)
        self.v = self._packed([form.v for form in forms], n)
        self.w = _aligned(d, self.width)
        for c, form in enumerate(forms):
            if form.w.any():
                self.w[:, c] = form.w
        self.active = (self.pull != 0).view(np.uint8)
        self.clock = np.zeros((4, self.width))  # intercepts, their steps, thresholds, gaps
        for c, form in enumerate(forms):
            self.clock[:2, c] = form.b, form.step
        self.clock[2:] = np.inf

    def _packed(self, columns: list[Array], n: int) -> Array:
        packed = np.zeros((n, self.width))
        for c, column in enumerate(columns):
            packed[:, c] = column
        return packed

    def ascend(self, epochs: int, targets: Array) -> BatchAscent:
        """Coordinate ascent of all classes, until each has reached its target."""
        first = self.forms[0]
        first.seed += 1
        lines = first.design.row_lines
        kernel = kernel_for(lines, _core.dual_batch, _core.dual_batch_dense)
        reach = np.array([form.reach for form in self.forms])
        sweeps, worthwhile = kernel(
            lines,
            first.loss.psi.parts,
            (self.pull.reshape(-1), self.shift.reshape(-1), first.squares),
            first.inverse,
            (reach, targets, first.intercept),
            self.v.reshape(-1),
            self.w.reshape(-1),
            self.clock.reshape(-1),
            self.active.reshape(-1),
            epochs,
            first.seed,
        )
        return BatchAscent(self.clock[3, : len(self.forms)].copy(), sweeps, worthwhile)

    def unpack(self) -> None:
        """Hand slopes, coefficients and intercepts back to the duals."""
        for c, form in enumerate(self.forms):
            form.v = np.ascontiguousarray(self.v[:, c])
            form.w = np.ascontiguousarray(self.w[:, c])
            b, step, threshold, _ = self.clock[:, c].tolist()
            form.resume(b, step, self.active[:, c] != 0, threshold)


def _aligned(d: int, width: int) -> Array:
    """Zeros (d, width) that begin at a cache line, so that the classes of a column share few."""
    memory: AnyArray = np.zeros(d * width * 8 + _LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + d * width * 8].view(np.float64).reshape(d, width)
