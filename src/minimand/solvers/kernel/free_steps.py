"""Newton's steps on the free coefficients, those that are neither at a bound nor at a corner.

Steps of pairs are slow where the kernel matrix of the free samples is nearly singular: large C,
wide kernels, few features. Among the free samples the problem is a linear system,

    K_FF d + level = slope,   Σ d = 0 in each group,

solved once for all of them. Samples that reach a bound on the way leave the system.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..._base.typing import Array, IntArray
from .active_rows import ActiveRows

_MOST = 1500  # free samples; safeguard: a factor takes some hundredths of a second
_TRIES = 30  # systems in a row; safeguard
_RIDGE = 4.0  # ulp of the mean diagonal that keep the factor stable; safeguard


def free_steps(active: ActiveRows) -> bool:
    """Move the free samples to the optimum among themselves, as far as the bounds allow.

    Whether any of them moved.
    """
    free, moved = _free(active), False
    if not 1 < free.size <= _MOST:
        return False
    gram = active.among(free)
    start = active.a[free].copy()
    a, slope = start.copy(), _slope(active, free)
    alive = np.ones(free.size, bool)
    for _ in range(_TRIES):
        some = np.flatnonzero(alive)
        if some.size < 2:
            break
        step = _step(active, free[some], gram[np.ix_(some, some)], slope[some])
        if step is None or not step.any():
            break
        length, stopped, end = _room(active, free[some], a[some], step)
        bend = float(step @ gram[np.ix_(some, some)] @ step)
        gain = float(slope[some] @ step)
        if not gain > 0:
            break
        best = gain / bend if bend > 0 else np.inf
        t = min(length, max(best, 0.0), 1.0)
        a[some] += t * step
        slope = slope - gram[:, some] @ (t * step)
        moved = True
        if t < length:
            break
        a[some[stopped]] = end
        alive[some[stopped]] = False
    if moved:
        active.move(free, a - start, a)
    return moved


def free_work(active: ActiveRows) -> float:
    """Multiplications of `free_steps`, about: a third of its tries, of a factor each."""
    return _TRIES / 3 * float(_free(active).size) ** 3 / 3


def _free(active: ActiveRows) -> IntArray:
    """Active positions that may move both ways along one line."""
    count, box, a = active.count, active.box, active.a
    inside = (a > box.low) & (a < box.high) & ((a != 0) | (box.above == box.below))
    return np.flatnonzero(inside[:count])


def _slope(active: ActiveRows, free: IntArray) -> Array:
    box, a = active.box, active.a[free]
    return np.where(a > 0, box.above[free], box.below[free]) - active.f[free]


def _step(active: ActiveRows, free: IntArray, gram: Array, slope: Array) -> Array | None:
    """The solution of the system; None if the matrix is too far from definite."""
    ridge = _RIDGE * active.precision * float(np.mean(np.diag(gram)))
    group = active.box.group[free]
    ones = [(group == g).astype(float) for g in np.unique(group)] if active.box.balanced else []
    try:
        factor = linalg.cho_factor(gram + ridge * np.eye(free.size), check_finite=False)
    except linalg.LinAlgError:
        return None
    found = linalg.cho_solve(factor, np.column_stack([slope, *ones]), check_finite=False)
    step, images = found[:, 0], found[:, 1:]
    if ones:
        sums = np.array(ones)
        step = step - images @ np.linalg.lstsq(sums @ images, sums @ step, rcond=None)[0]
        for one in ones:  # the sums stay as they are, up to rounding
            step -= one * (float(one @ step) / float(one.sum()))
    return np.asarray(step) if np.isfinite(step).all() else None


def _room(active: ActiveRows, free: IntArray, a: Array, step: Array) -> tuple[float, int, float]:
    """How much of the step can be done, the sample that ends it, and where that sample ends."""
    box = active.box
    corner = box.above[free] != box.below[free]
    top = np.where(corner & (a < 0), np.minimum(box.high[free], 0.0), box.high[free])
    bottom = np.where(corner & (a > 0), np.maximum(box.low[free], 0.0), box.low[free])
    ends = np.where(step > 0, top, bottom)
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(step != 0, (ends - a) / step, np.inf)
    first = int(np.argmin(lengths))
    return max(float(lengths[first]), 0.0), first, float(ends[first])
