"""From an interior point to the corner it is heading for.

Near the end every riser shows where it will stop: at an end of its range, or, where both slacks
vanish, in between with t on its knot. A coefficient whose riser stays in between is zero (or at
its bound); where all pieces are lines, the samples on a knot are as many equations as there are
other coefficients, and their multipliers solve the transposed ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .._typing import Array
from .interior import InteriorPoint

_MOST_WORK = 3e8  # operations that a corner may cost


class Corner(NamedTuple):
    """Coefficients, intercept, and multipliers of the samples."""

    w: Array
    b: float
    theta: Array


def corner(inner: InteriorPoint) -> Corner | None:
    """The corner next to an interior point; None where it is not settled which one."""
    w, settled = inner.snapped()
    if not inner.all_lines:
        return Corner(w, inner.b, inner.theta) if settled.any() else None
    slope, on, miss = inner.settled_samples()
    moving = np.flatnonzero(~settled)
    rows = np.flatnonzero(on)
    size = moving.size + inner.rows.intercept
    if not size or not rows.size or rows.size * size * min(rows.size, size) > _MOST_WORK:
        return Corner(w, inner.b, inner.theta)
    block = inner.rows.design.rows(rows)
    matrix = block.columns(moving).matvec(np.eye(moving.size))
    if inner.rows.intercept:
        matrix = np.column_stack([matrix, np.ones(rows.size)])
    scale = np.sqrt((matrix * matrix).sum(axis=0))
    scale[scale == 0] = 1.0
    matrix /= scale
    # x·δ = −(t − knot) on the samples that lie on one, after the other coefficients have moved.
    change = block.matvec(w - inner.w) + inner.plq.sign[rows] * miss[rows]
    move = linalg.lstsq(matrix, -change, check_finite=False)[0] / scale
    new = w.copy()
    new[moving] += move[: moving.size]
    b = inner.b + (float(move[-1]) if inner.rows.intercept else 0.0)
    slope[rows] += _multipliers(inner, slope, new, rows, moving, matrix, scale)
    new = inner.form.project(new)
    return Corner(new, b, inner.plq.sign * inner.plq.pieces.clip(slope))


def _multipliers(
    inner: InteriorPoint,
    slope: Array,
    w: Array,
    rows: Array,
    moving: Array,
    matrix: Array,
    scale: Array,
) -> Array:
    """How the slopes of the samples on a knot change so that those of the coefficients vanish."""
    gradient, balance = inner.gradient(slope)
    right = gradient[moving] + inner.form.l1[moving] * np.sign(w[moving])
    if inner.rows.intercept:
        right = np.append(right, balance)
    weights = inner.rows.mass[rows] * inner.plq.sign[rows]
    transposed = (matrix * weights[:, None]).T
    return np.asarray(linalg.lstsq(transposed, -right / scale, check_finite=False)[0])
