"""Several box problems on rows of one kernel matrix, minimised by one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .. import _core
from .._base.typing import Array, IntArray
from .box_dual import Box


class Settled(NamedTuple):
    """Points of all problems one after the other, and what is proved of each problem."""

    a: Array
    f: Array
    levels: Array  # (problems, 2): the level of each group
    gap: Array
    primal: Array
    rounding: Array
    steps: IntArray


class BoxBatch:
    """Box problems whose positions are rows of one matrix.

    Parameters
    ----------
    rows : sequence of int arrays
        For every problem the rows of its positions; a row may serve several positions.
    boxes : sequence of Box
        All of them or none with a free level, and as many with gaps of the best multiple.

    Examples
    --------
    Two problems of the hinge loss that share a positive sample:

    >>> import numpy as np
    >>> from minimand.canonical import Box, BoxBatch
    >>> y = np.array([1.0, -1.0])
    >>> box = Box(np.minimum(y, 0), np.maximum(y, 0), y, y, np.zeros(2, np.uint8), True)
    >>> batch = BoxBatch([[0, 1], [0, 2]], [box, box])
    >>> found = batch.settled(np.eye(3), np.zeros(4), np.full(2, 1e-9))
    >>> found.a, found.gap
    (array([ 1., -1.,  1., -1.]), array([0., 0.]))
    """

    def __init__(self, rows: Sequence[IntArray], boxes: Sequence[Box]) -> None:
        sizes = [len(some) for some in rows]
        self.ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._rows = np.concatenate(rows).astype(np.uint32)
        low, high, below, above, group = (np.concatenate(part) for part in [*zip(*boxes)][:5])
        self.box = Box(low, high, below, above, group, boxes[0].balanced, boxes[0].scaled)
        # Every group of every problem is a group of its own to the judge.
        own = 2 * np.repeat(np.arange(len(boxes)), sizes) + group
        self._apart = self.box._replace(group=own)

    def settled(
        self, matrix: Array, start: Array, goals: Array, shares: Array | None = None
    ) -> Settled:
        """Minimise every problem to a gap of its goal, or of a share of ½‖f‖² if that is more.

        The sum of coefficients in each group stays that of the start. A problem that makes no
        further progress, that needs large systems, or that is stopped, ends with the gap it has.
        """
        a, f = np.array(start, dtype=float), np.empty(start.size)
        shares = np.zeros(goals.size) if shares is None else shares
        numbers = _core.settle_boxes(
            matrix,
            (self._rows, self.ends),
            self.box[:5],
            (self.box.balanced, self.box.scaled),
            a,
            f,
            (goals, shares),
        )
        levels = np.ascontiguousarray(numbers[:, :2])
        flat, box = levels.ravel(), self._apart
        here = flat[box.group]
        worth = self._sums(0.5 * a * f + box.losses(f + here) + here * a)
        gap = self._sums(box.terms(a, f, flat))
        if box.scaled:
            square = self._sums(a * f)
            gap = box.best_multiple(gap, square)
            worth = gap - 0.5 * square  # the bound is −½aᵀK a
        return Settled(
            a,
            f,
            levels,
            gap,
            worth,
            self._sums(box.roundings(a, f)),
            numbers[:, 3].astype(np.intp),
        )

    def _sums(self, values: Array) -> Array:
        """The sum over every problem, each of which has a position."""
        return np.add.reduceat(values, self.ends[:-1])
