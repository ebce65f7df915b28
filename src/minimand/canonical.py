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

    def slope(self, w: Array) -> Array:
        """G w + q."""
        return self.gram @ w + self.q

    def polish(self, penalty: Separable, w: Array) -> bool:
        """One Newton step on the support; True if w moved.

        On a fixed sign pattern the problem is a linear system. A full step that keeps the signs
        and the bounds solves it exactly. Otherwise the coefficients that go beyond zero or their
        bound are set to it if the objective falls all the same; failing that, the step ends where
        the first one gets there.
        """
        support = np.flatnonzero(movable(penalty, w))
        if not support.size:
            return False
        slope = self.slope(w)
        target = self._stationary(penalty, w, slope, support)
        if target is None:
            return False
        start = w[support]
        ends = _ends(penalty.take(support), start, target - start)
        crosses = ((target > start) & (target > ends)) | ((target < start) & (target < ends))
        if crosses.any():
            clipped = np.where(crosses, ends, target)
            falls = self._falls(penalty, w, slope, support, clipped)
            target = clipped if falls else _up_to_first_end(start, target, ends, crosses)
        w[support] = target
        return True

    def _falls(
        self, penalty: Separable, w: Array, slope: Array, support: IntArray, target: Array
    ) -> bool:
        """Whether ½ wᵀG w + qᵀw + penalty is lower with the target on the support."""
        step = np.zeros_like(w)
        step[support] = target - w[support]
        change = float(step @ (slope + 0.5 * (self.gram @ step)))
        return change + penalty.value(w + step) - penalty.value(w) <= 0

    def _stationary(
        self, penalty: Separable, w: Array, slope: Array, support: IntArray
    ) -> Array | None:
        """The minimiser with the support and signs of w, or a cautious step towards it.

        Where the system is near singular a small multiple of its diagonal is added; the step is
        then shorter than the full one, so the objective still falls all along it.
        """
        block = self.gram[np.ix_(support, support)]
        diagonal = block.ravel()[:: support.size + 1]
        diagonal += penalty.l2[support]
        if not (diagonal > 0).all():
            return None  # a constant column: descent has set it to zero or will
        slope = slope[support] + penalty.l2[support] * w[support]
        slope += penalty.l1[support] * np.sign(w[support])
        for jitter in (0.0, 1e-11, 1e-8):
            diagonal *= 1.0 + jitter
            solve = factorise(block)
            if solve is not None:
                return w[support] - solve(slope)
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


def _up_to_first_end(start: Array, target: Array, ends: Array, crosses: BoolArray) -> Array:
    """As far towards the target as no marked coefficient goes beyond its end."""
    fraction = np.ones_like(start)
    fraction[crosses] = (ends - start)[crosses] / (target - start)[crosses]
    least = float(fraction.min())
    return np.where(crosses & (fraction <= least), ends, start + least * (target - start))
