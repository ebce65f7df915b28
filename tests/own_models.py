"""Losses, penalties and designs as users write them: formulas, and nothing else."""

import functools

import numpy as np

import minimand as mm
from minimand.design import Design
from minimand.penalties import ConcavePenalty


class Exponential(mm.Margin):
    """exp(−m)."""

    def psi(self, m):
        return np.exp(-m)

    def dpsi(self, m):
        return -np.exp(-m)

    def ddpsi(self, m):
        return np.exp(-m)


class SmoothHinge(mm.Margin):
    """The hinge with a parabola between 0 and 1."""

    def psi(self, m):
        return np.where(m >= 1, 0.0, np.where(m <= 0, 0.5 - m, 0.5 * (1 - m) ** 2))

    def dpsi(self, m):
        return np.where(m >= 1, 0.0, np.where(m <= 0, -1.0, m - 1))

    def ddpsi(self, m):
        return ((m > 0) & (m < 1)).astype(float)


class LogCosh(mm.Distance):
    """log cosh r."""

    def psi(self, r):
        return np.abs(r) + np.log1p(np.exp(-2 * np.abs(r))) - np.log(2)

    def dpsi(self, r):
        return np.tanh(r)

    def ddpsi(self, r):
        return 1 - np.tanh(r) ** 2


class Kinked(mm.Distance):
    """|r|, whose kink is not said."""

    def psi(self, r):
        return np.abs(r)

    def dpsi(self, r):
        return np.sign(r)

    def ddpsi(self, r):
        return np.zeros_like(r)


class Logarithm(ConcavePenalty):
    """λ log(1 + t), without a prox."""

    def curve(self, t, lam):
        return lam * np.log1p(t)

    def slope(self, t, lam):
        return lam / (1 + t)

    def formula(self, factor=1.0):
        return f"{factor:g}·Σ log(1 + |wⱼ|)"


class Cluster(Design):
    """Rows that live elsewhere, in parts: two functions over them, and no blocks."""

    def __init__(self, x, count=3):
        self.pieces = np.array_split(x, count)
        self.ends = np.cumsum([0, *map(len, self.pieces)])
        self.shape = x.shape

    def _apply(self, f, rowwise):
        cuts = zip(self.ends, self.ends[1:])
        return [f(x, *(r[a:b] for r in rowwise)) for x, (a, b) in zip(self.pieces, cuts)]

    def map_rows(self, f, *rowwise):
        return np.concatenate(self._apply(f, rowwise))

    def reduce(self, f, *rowwise):
        def add(a, b):
            return tuple(map(add, a, b)) if isinstance(a, tuple) else a + b

        first, *others = self._apply(f, rowwise)
        return add(first, functools.reduce(add, others))  # as a tree adds them up
