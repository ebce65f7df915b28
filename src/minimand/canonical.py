"""The forms that compiled kernels see: a quadratic model × a separable penalty.

    Quadratic   ½ wᵀG w + qᵀw                    the Gram of some columns
    Weighted    Σ qᵢtᵢ + ½ hᵢtᵢ²,  t = X_c δ + b    the columns themselves; b free or absent

Both carry the gradient as a linear term, never a working response, so curvature may be zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _core
from ._typing import Array, IntArray
from .design import Descent, Design
from .linear_system import factorise
from .penalties import Separable


@dataclass(frozen=True, eq=False)
class Weighted:
    """Σ qᵢtᵢ + ½ hᵢtᵢ² over t = X_c (w − w₀) + b; `q` is kept up to date as w moves."""

    design: Design
    columns: IntArray
    h: Array
    q: Array
    centre: bool

    def descend(self, penalty: Separable, w: Array, sweeps: int, tol: float) -> Descent:
        """Coordinate descent in place over w (|columns| long) and the intercept."""
        return self.design.descend(
            self.columns,
            self.h,
            self.q,
            w,
            penalty.l1,
            penalty.l2,
            centre=self.centre,
            sweeps=sweeps,
            tol=tol,
        )


@dataclass(frozen=True, eq=False)
class Quadratic:
    """½ wᵀG w + qᵀw."""

    gram: Array
    q: Array

    def descend(self, penalty: Separable, w: Array, sweeps: int, tol: float) -> Descent:
        """Coordinate descent in place over w."""
        done, decrease = _core.cd_gram(self.gram, self.q, w, penalty.l1, penalty.l2, sweeps, tol)
        return Descent(0.0, done, decrease)

    def value(self, penalty: Separable, w: Array) -> float:
        """½ wᵀG w + qᵀw + penalty."""
        return float(w @ (0.5 * (self.gram @ w) + self.q)) + penalty.value(w)

    def polish(self, penalty: Separable, w: Array, rounds: int = 20) -> bool:
        """Newton steps on the support, stopping at sign changes; True if w moved.

        On a fixed sign pattern the problem is a linear system. A full step that keeps the signs
        solves it exactly; otherwise the step ends where the first coefficient reaches zero,
        which leaves the support. The objective falls along the whole segment.
        """
        moved = False
        for _ in range(rounds):
            support = np.flatnonzero((w != 0) | (penalty.l1 == 0))
            if not support.size:
                return moved
            target = self._stationary(penalty, w, support)
            if target is None:
                return moved
            step = target - w[support]
            fraction, blocking = _first_zero(w[support], step, penalty.l1[support])
            w[support] += fraction * step
            moved = True
            if blocking is None:
                return moved
            w[support[blocking]] = 0.0
        return moved

    def _stationary(self, penalty: Separable, w: Array, support: IntArray) -> Array | None:
        """The minimiser with the support and signs of w, or a cautious step towards it.

        Where the system is near singular a small multiple of its diagonal is added; the step is
        then shorter than the full one, so the objective still falls all along it.
        """
        block = self.gram[np.ix_(support, support)].copy()
        block.flat[:: support.size + 1] += penalty.l2[support]
        size = np.sqrt(np.maximum(np.diag(block), 0.0))
        if not size.all():
            return None  # a constant column: descent has set it to zero or will
        block /= np.outer(size, size)
        slope = self.q[support] + penalty.l1[support] * np.sign(w[support])
        slope += self.gram[support] @ w + penalty.l2[support] * w[support]
        for jitter in (0.0, 1e-11, 1e-8):
            block.flat[:: support.size + 1] += jitter
            solve = factorise(block)
            if solve is not None:
                return w[support] - solve(slope / size) / size
        return None


def _first_zero(w: Array, step: Array, l1: Array) -> tuple[float, IntArray | None]:
    """How far to go before a penalised coefficient changes sign, and which ones stop us."""
    crosses = (l1 > 0) & (w * (w + step) < 0)
    if not crosses.any():
        return 1.0, None
    fraction = np.full(w.shape, np.inf)
    fraction[crosses] = -w[crosses] / step[crosses]
    least = float(fraction.min())
    return least, np.flatnonzero(fraction <= least)
