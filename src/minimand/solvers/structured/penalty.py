"""The penalty l1·‖w‖₁ + ½·l2·‖w‖² of labelers: its value, and its part in a certified gap."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ... import _core
from ..._base.typing import Array


class Penalty(Protocol):
    """The penalty l1·‖w‖₁ + ½·l2·‖w‖² of a problem."""

    @property
    def l1(self) -> Any:
        """The factor of ‖w‖₁, or one for each weight."""

    @property
    def l2(self) -> float:
        """The factor of ½‖w‖²."""


def penalty_value(problem: Penalty, w: Array) -> float:
    """l1·‖w‖₁ + ½·l2·‖w‖²."""
    value = 0.5 * problem.l2 * _core.dot(w, w)
    if np.ndim(problem.l1):
        return value + float(problem.l1 @ np.abs(w))
    return value + float(problem.l1 * np.abs(w).sum()) if problem.l1 else value


def strongly_convex(l2: float, slope: Array) -> float:
    """‖∇P‖²/(2·l2)."""
    if not l2:
        return 0.0 if not slope.any() else np.inf
    return 0.5 * _core.dot(slope, slope) / l2


def shares(problem: Penalty, slope: Array) -> set[float]:
    """The shares s of the slope to try: the largest that is legal, and one without an excess."""
    if not np.any(problem.l1):
        return {1.0}
    size = np.abs(slope)
    over = size > problem.l1
    inside = float(
        np.min(np.divide(problem.l1, size, where=over, out=np.ones_like(size)), initial=1.0)
    )
    return {1.0, inside} if problem.l2 else {inside}


def young(problem: Penalty, w: Array, slope: Array, s: float) -> float:
    """Ω(w) + Ω*(v) − v·w at v = −s·g, as sums of terms that are never negative.

    With c = soft(v, l1) they are (c − l2·w)²/(2·l2) and |w|·l1 − w·(v − c).
    """
    l1, l2 = problem.l1, problem.l2
    v = -s * slope
    if not np.any(l1):
        return strongly_convex(l2, v - l2 * w)
    excess = np.sign(v) * np.maximum(np.abs(v) - l1, 0.0)
    kinked = np.maximum(l1 * np.abs(w) - w * (v - excess), 0.0)
    if not l2:
        return float(kinked.sum())
    excess -= l2 * w
    return 0.5 * _core.dot(excess, excess) / l2 + float(kinked.sum())
