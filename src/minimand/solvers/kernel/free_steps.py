"""Interior-point steps on the coefficients that may move, where steps of pairs are slow.

That is where the kernel matrix of the free samples is nearly singular: large C, wide kernels, few
features, and machines with a share ν whose f vanishes. Among the free samples and those that
violate optimality the problem is a quadratic over a box (`box_walk`), and its optimum is ten to
fifteen systems away, however many bounds are met on the way.
"""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array, IntArray
from .active_rows import ActiveRows
from .box_walk import BoxWalk

_MOST = 1500  # samples that move; safeguard: a factor takes some hundredths of a second
_CALL, _OF_FACTOR = 1e6, 0.06  # element operations of pairs, and the same per cube of the side,
# that take a quarter of the time; measured at sides of 180 to 810
_RIDGE = 4.0  # ulp of the diagonal that keep the factor stable; safeguard
_NEAR = 0.1  # of the goal: the gap of a solution; safeguard


def free_steps(active: ActiveRows, goal: float) -> bool:
    """Move the samples that are not settled at a bound to the optimum among themselves.

    It is a gap of their own problem well below ``goal``. Whether any of them moved.
    """
    some, low, high, slope = _movable(active)
    if not 1 < some.size <= _MOST:
        return False
    gram, a = active.among(some), active.a[some]
    gram[np.diag_indices(a.size)] *= 1.0 + _RIDGE * active.precision
    groups = active.box.group[some] if active.box.balanced else None
    found = BoxWalk(gram, slope, low - a, high - a, groups).to(_NEAR * goal)
    if not 0.5 * float(found @ (gram @ found)) < float(slope @ found):
        return False
    end = np.clip(a + found, low, high)
    active.move(some, end - a, end)
    return True


def free_work(active: ActiveRows) -> float:
    """Element operations of pairs after which `free_steps` is worth its time."""
    return _CALL + _OF_FACTOR * float(_movable(active)[0].size) ** 3


def _movable(active: ActiveRows) -> tuple[IntArray, Array, Array, Array]:
    """Active positions that are free or violate optimality; where each may move on one line.

    The line ends at a bound, or at the corner of the gain. The last numbers are its slopes.
    """
    box, a, f = active.box, active.a, active.f
    up, down = box.slopes(a, f)
    level = box.levels(a, f)[box.group]
    split = box.above != box.below
    free = (a > box.low) & (a < box.high) & ~(split & (a == 0))
    grows = up > level
    here = np.flatnonzero((free | grows | (down < level))[: active.count])
    upward = ((a > 0) | ((a == 0) & grows))[here]
    low, high, split = box.low[here], box.high[here], split[here]
    slope = np.where(upward, box.above[here], box.below[here]) - f[here]
    low = np.where(split & upward, np.maximum(low, 0.0), low)
    return here, low, np.where(split & ~upward, np.minimum(high, 0.0), high), slope
