"""The forms that compiled kernels see: a quadratic model × a separable penalty.

    Quadratic   ½ wᵀG w + qᵀw                    the Gram of some columns
    Weighted    Σ qᵢtᵢ + ½ hᵢtᵢ²,  t = X_c δ + b    the columns themselves; b free or absent

Both carry the gradient as a linear term, never a working response, so curvature may be zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _core
from ._typing import Array, BoolArray, IntArray
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
            bounds=penalty.bounds,
        )


@dataclass(frozen=True, eq=False)
class Quadratic:
    """½ wᵀG w + qᵀw."""

    gram: Array
    q: Array

    def descend(self, penalty: Separable, w: Array, sweeps: int, tol: float) -> Descent:
        """Coordinate descent in place over w."""
        done, decrease = _core.cd_gram(
            self.gram, self.q, w, penalty.l1, penalty.l2, sweeps, tol, penalty.bounds
        )
        return Descent(0.0, done, decrease)

    def value(self, penalty: Separable, w: Array) -> float:
        """½ wᵀG w + qᵀw + penalty."""
        return float(w @ (0.5 * (self.gram @ w) + self.q)) + penalty.value(w)

    def polish(self, penalty: Separable, w: Array, rounds: int = 20) -> bool:
        """Newton steps on the support, stopping at sign changes and bounds; True if w moved.

        On a fixed sign pattern the problem is a linear system. A full step that keeps the signs
        solves it exactly; otherwise the step ends where the first coefficient reaches zero or its
        bound, and leaves the support. The objective falls along the whole segment.
        """
        moved = False
        for _ in range(rounds):
            support = np.flatnonzero(movable(penalty, w))
            if not support.size:
                return moved
            target = self._stationary(penalty, w, support)
            if target is None:
                return moved
            step = target - w[support]
            ends = _ends(penalty.take(support), w[support], step)
            crosses = ((step > 0) & (target > ends)) | ((step < 0) & (target < ends))
            fraction = np.where(crosses, (ends - w[support]) / np.where(crosses, step, 1.0), 1.0)
            least = float(fraction.min())
            w[support] = np.where(crosses & (fraction <= least), ends, w[support] + least * step)
            moved = True
            if not crosses.any():
                return moved
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


def movable(penalty: Separable, w: Array) -> BoolArray:
    """Coefficients in whose neighbourhood the penalty is quadratic: not at zero, not at a bound."""
    inner = (w != 0) | (penalty.l1 == 0)
    return inner if penalty.bounds is None else inner & ~penalty.at_bound(w)


def _ends(penalty: Separable, w: Array, step: Array) -> Array:
    """Where the penalty stops being the same quadratic along the step: at zero, or at a bound."""
    ends = np.where((penalty.l1 > 0) & (w * step < 0), 0.0, np.copysign(np.inf, step))
    if penalty.bounds is None:
        return ends
    return np.where(
        step < 0, np.maximum(ends, penalty.bounds[0]), np.minimum(ends, penalty.bounds[1])
    )
