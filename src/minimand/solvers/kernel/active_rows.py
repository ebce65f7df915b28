"""The rows of a kernel matrix that a solver works on, generated when they are needed.

Positions are samples in an order of their own: the active ones, whose rows of K are kept, come
first, so that the columns of K among active samples are contiguous and no second copy is needed.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..._base.typing import AnyArray, Array, IntArray
from ...canonical import Box, BoxBatch, BoxSteps

_FEW_BLOCKS = 3  # blocks of a call on few rows; safeguard: each may take 100 steps a row
_PER_BLOCK = 40  # rows for which a call may take another block; measured at 12000×30
_BLOCK = 256  # positions of a block, whose matrix fits a cache; measured at 12000×30
AT_ONCE = 2000  # positions of a problem whose steps look at all of them; measured at 900 to 2000
# rows: half or twice as many change the time by a tenth at most, but ν-SVC without a margin takes
# three times as long at half
_SLAB = 64  # rows whose copy is in float64 at a time; safeguard
_LEAST_ROWS = 64  # rows kept whatever the memory; safeguard
_ENLARGED = 1.01  # factor of a sum in float32; safeguard: its rounding is a thousandth


class RowSource(Protocol):
    """Gives rows of K in an order of the samples that may change."""

    dtype: Any

    def swap(self, one: IntArray, other: IntArray) -> None:
        """Exchange the samples at some positions."""

    def fill(self, first: int, last: int, out: AnyArray) -> None:
        """Write the rows of the positions from first to last, all columns, to ``out``."""


class ActiveRows:
    """A box problem whose first `count` positions have their rows of K in memory.

    Parameters
    ----------
    box : Box
        The problem, in the order of the samples.
    a, f : arrays of shape (n,)
        A point in the box, and K a.
    source : RowSource or ndarray of shape (n, n)
        In the order of the samples; a matrix has all rows, and they are active from the start.
    memory : float
        Bytes for rows.
    """

    def __init__(
        self, box: Box, a: Array, f: Array, source: RowSource | Array, memory: float
    ) -> None:
        n = a.size
        self.box, self.a, self.f = box.taken(np.arange(n)), a.copy(), f.copy()
        self.order = np.arange(n)  # the sample at every position
        self._rows: AnyArray
        self.given = isinstance(source, np.ndarray)  # whether all rows were there at first
        if isinstance(source, np.ndarray):
            self.count, self.most, self._rows = n, n, source
            return
        self._source, self._dismissed = source, False
        fitting = memory / (np.dtype(source.dtype).itemsize * max(n, 1))
        self.count, self.most = 0, int(min(n, max(fitting, _LEAST_ROWS)))
        # Pages that are never written take no memory.
        self._rows = np.empty((self.most, n), source.dtype)

    @property
    def precision(self) -> float:
        """One ulp of the rows of K."""
        return float(np.finfo(self._rows.dtype).eps)

    @property
    def room(self) -> int:
        """How many more rows can be kept."""
        return self.most - self.count

    def steps(self, goal: float) -> BoxSteps:
        """Move the active positions until they violate optimality by at most goal.

        It may take several calls, as each does a limited number of blocks.
        """
        most = _FEW_BLOCKS + self.count // _PER_BLOCK
        rows = self._rows[: self.count]
        return self.box.steps(rows, self.a, self.f, goal, block=_BLOCK, most=most)

    def work_of(self, steps: BoxSteps) -> float:
        """Element operations of `steps`, about: within blocks, and of all scores that follow."""
        return float(_BLOCK * (steps.steps + steps.blocks * self.a.size))

    def settle(self, goal: float) -> float:
        """Minimise a problem of a small matrix to a gap of goal, and compute f anew; the gap."""
        found = BoxBatch([self.order], [self.box]).settled(self._rows, self.a, np.array([goal]))
        self.a[:], self.f[:] = found.a, found.f
        return float(found.gap[0])

    def sizes(self) -> Array | None:
        """Σⱼ |aⱼ|·Kᵢⱼ of every position, a little enlarged; None if some rows are not in memory.

        It bounds what rounding of K has done to f, if no value of K is negative.
        """
        if self.given or self._dismissed or self.a[self.count :].any():
            return None
        weights = np.abs(self.a[: self.count]).astype(self._rows.dtype)
        return np.asarray(_ENLARGED * (weights @ self._rows[: self.count]), dtype=float)

    def among(self, positions: IntArray) -> Array:
        """K of some active positions, in float64."""
        return np.asarray(self._rows[np.ix_(positions, positions)], dtype=float)

    def move(self, positions: IntArray, change: Array, to: Array) -> None:
        """Move some active positions by a change, which ends there; all scores follow."""
        self.a[positions] = to
        for start in range(0, positions.size, _SLAB):
            some = slice(start, start + _SLAB)
            self.f += change[some] @ self._rows[positions[some]].astype(float)

    def admit(self, positions: IntArray) -> None:
        """Make some positions active; there must be room for them."""
        first, last = self.count, self.count + positions.size
        inside = positions < last
        places = np.setdiff1d(np.arange(first, last), positions[inside])
        self._exchange(positions[~inside], places)
        self._source.fill(first, last, self._rows[first:last])
        self.count = last

    def dismiss(self, positions: IntArray) -> None:
        """Forget the rows of some active positions; their a stays as it is."""
        self._dismissed = True
        first, last = self.count - positions.size, self.count
        outside = positions >= first
        places = np.setdiff1d(np.arange(first, last), positions[outside])
        self._exchange(positions[~outside], places)
        self._rows[positions[~outside]] = self._rows[places]  # the rows at places are given up
        self.count = first

    def _exchange(self, one: IntArray, other: IntArray) -> None:
        if not one.size:
            return
        for values in (*self.box[:5], self.a, self.f, self.order):
            values[one], values[other] = values[other], values[one]
        rows = self._rows[: self.count]
        kept = rows[:, one]
        rows[:, one] = rows[:, other]
        rows[:, other] = kept
        self._source.swap(one, other)

    def by_sample(self, values: Array) -> Array:
        """Values of positions in the order of the samples."""
        found = np.empty_like(values)
        found[self.order] = values
        return found

    def correct(self, f: Array) -> None:
        """Replace f = K a, given in the order of the samples, by a more accurate one."""
        self.f[:] = f[self.order]
