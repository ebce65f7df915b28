"""A problem in extended precision: its objective, its gap, its optimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .conic import conic
from .formulas import EPS, FORMULAS, LD, Formula, ld, xlogx
from .polish import polish


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything the objective is made of, dense."""

    loss: str | Formula
    X: np.ndarray
    y: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    intercept: bool = True
    weight: np.ndarray | None = None
    offset: np.ndarray | None = None
    lo: float = -np.inf  # bounds of every coefficient
    hi: float = np.inf
    ball: tuple[int, float] | None = None  # the norm, 1 or 2, and its largest value

    @property
    def formula(self) -> Formula:
        return FORMULAS[self.loss] if isinstance(self.loss, str) else self.loss

    @cached_property
    def mass(self):
        s = ld(np.ones(len(self.y)) if self.weight is None else self.weight)
        return s / s.sum()

    @cached_property
    def shift(self):
        return LD(0) if self.offset is None else ld(self.offset)

    @cached_property
    def Xl(self):
        return ld(self.X)

    def scores(self, w, b):
        return self.shift + self.Xl @ ld(w) + LD(b)

    def primal(self, w, b=0.0) -> LD:
        """P(w, b) in extended precision."""
        w = ld(w)
        loss = self.mass @ self.formula.value(self.scores(w, b), ld(self.y))
        return loss + ld(self.l1) @ np.abs(w) + ld(self.l2) @ (w * w) / 2

    def noise(self, w, b) -> float:
        """Rounding of the objective in double precision: eps × the numbers it is made of."""
        y, z = ld(self.y), self.scores(w, b)
        reach = np.abs(self.Xl) @ np.abs(ld(w)) + abs(LD(b)) + np.abs(self.shift)
        size = np.abs(self.formula.slope(z, y)) * (reach + np.abs(y)) + np.abs(
            self.formula.value(z, y)
        )
        if self.loss == "cross_entropy":
            size = size + 1 + np.abs(y * z)
        elif self.loss == "poisson":
            size = size + np.exp(z) + np.abs(y * z) + np.abs(xlogx(y)) + y
        return 16 * EPS * float(self.mass @ size)

    @cached_property
    def null_intercept(self) -> float:
        """A b that is nearly the best one for w = 0, by bisection on the slope."""
        if not self.intercept:
            return 0.0
        y, lo, hi = ld(self.y), LD(-1), LD(1)
        with np.errstate(all="ignore"):

            def slope(b):
                return self.mass @ self.formula.slope(self.shift + b + 0 * y, y)

            while slope(lo) > 0 and lo > -1e12:
                lo *= 4
            while slope(hi) < 0 and hi < 1e12:
                hi *= 4
            for _ in range(100):
                middle = (lo + hi) / 2
                lo, hi = (middle, hi) if slope(middle) < 0 else (lo, middle)
        return float((lo + hi) / 2)

    def gap(self, w, b, theta) -> LD:
        """The Fenchel-Young gap of a point and multipliers, scaled into the l1 box; inf if none.

        Σu and the slope on free columns must vanish; what rounding leaves of them is charged at
        the size of w and b.
        """
        w, y, theta = ld(w), ld(self.y), ld(theta)
        z = self.scores(w, b)
        v = self.Xl.T @ (self.mass * theta)
        l1, l2 = ld(self.l1), ld(self.l2)
        only = (l1 > 0) & (l2 == 0)
        over = only & (np.abs(v) > l1)
        s = np.min(l1[over] / np.abs(v[over])) if over.any() else LD(1)
        theta, v = s * theta, s * v
        term = self.formula.value(z, y) + self.formula.conjugate(theta, y) - theta * z
        excess = np.maximum(np.abs(v) - l1, 0)
        curved = l2 > 0
        omega = l1 * np.abs(w) + l2 * w * w / 2 + v * w
        omega[curved] += excess[curved] ** 2 / (2 * l2[curved])
        free = (l1 == 0) & ~curved
        omega[free] = np.abs(v * w)[free]
        total = self.mass @ term + omega.sum()
        if self.intercept:
            total += np.abs((self.mass @ theta) * (LD(b) + self.shift).mean())
        return total

    def optimum(self) -> tuple[np.ndarray, float, LD, LD]:
        """(w, b, P, slack): a point within `slack` of the optimum."""
        if not hasattr(self, "_found"):
            object.__setattr__(self, "_found", self._optimum())
        return self._found

    @np.errstate(over="ignore")
    def _optimum(self):
        scale = np.sqrt((self.X**2).mean(axis=0))
        scale[scale == 0] = 1.0
        w, b = conic(self, scale)
        if self.ball or self.lo > -np.inf or self.hi < np.inf:
            w = np.clip(w, self.lo, self.hi)
            if self.ball:
                w = w * min(1.0, self.ball[1] / max(np.linalg.norm(w, self.ball[0]), 1e-300))
            return w, b, self.primal(w, b), LD(np.nan)  # feasible: P bounds the optimum from above
        w, b = polish(self, w, b, scale)
        theta = self.formula.slope(self.scores(w, b), ld(self.y))
        return w, b, self.primal(w, b), self.gap(w, b, theta)
