"""Losses and a design of every shape, written by hand: k scores, runs of rows, no columns."""

import numpy as np
from scipy.special import logsumexp, softmax, xlogy

from minimand.design import Access, Design, Reach
from minimand.losses import Loss
from minimand.losses.curvature import Operator, Simplex


def on_simplex(p):
    """The nearest point of the probability simplex, row by row."""
    ordered = -np.sort(-p, axis=1)
    level = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, p.shape[1] + 1)
    count = (ordered > level).sum(axis=1)
    return np.maximum(p - np.take_along_axis(level, count[:, None] - 1, axis=1), 0.0)


class Softmax(Loss):
    """log Σ e^{z_c} − z_y, y the index of a class."""

    smoothness = 0.5

    def value(self, z, y):
        return logsumexp(z, axis=1) - np.take_along_axis(z, y[:, None].astype(int), axis=1)[:, 0]

    def gradient(self, z, y):
        return softmax(z, axis=1) - self._true(z, y)

    def curvature(self, z, y):
        return Simplex(softmax(z, axis=1))

    def conjugate(self, u, y):
        p = u + self._true(u, y)
        off = np.abs(p.sum(axis=1) - 1.0) + np.maximum(-p, 0.0).sum(axis=1)
        return np.where(off <= 1e-12, xlogy(p, np.maximum(p, 0.0)).sum(axis=1), np.inf)

    def fenchel_young(self, z, u, y):
        p, log_q = np.maximum(u + self._true(u, y), 0.0), z - logsumexp(z, axis=1, keepdims=True)
        terms = xlogy(p, p) - p * log_q - (p - np.exp(log_q))  # each is never negative
        return np.where(
            np.isfinite(self.conjugate(u, y)), np.maximum(terms, 0.0).sum(axis=1), np.inf
        )

    def into_domain(self, u, y):
        return on_simplex(u + self._true(u, y)) - self._true(u, y)

    def infimum(self, y):
        return np.zeros(len(y))

    def attained(self, y):
        return False

    def _true(self, z, y):
        return (np.arange(z.shape[1]) == y[:, None]).astype(float)


class RunSquares(Loss):
    """½(mean of r over the run)², r = z − y: rows of a run count together."""

    unit = "run"
    smoothness = 1.0

    def _mean(self, r):
        return np.add.reduceat(r, self.units[:-1]) / np.diff(self.units)

    def _spread(self, by_unit):
        sizes = np.diff(self.units)
        return np.repeat(by_unit / sizes, sizes)

    def value(self, z, y):
        return 0.5 * self._mean(z - y) ** 2

    def gradient(self, z, y):
        return self._spread(self._mean(z - y))

    def curvature(self, z, y):
        return Operator(
            lambda t: self._spread(self._mean(t)), self._spread(np.ones(len(self.units) - 1))
        )

    def conjugate(self, u, y):
        total = np.add.reduceat(u, self.units[:-1])
        alike = np.abs(u - self._spread(total)) <= 1e-12 * (1.0 + np.abs(u))
        inside = np.logical_and.reduceat(alike, self.units[:-1])
        return np.where(inside, 0.5 * total**2 + np.add.reduceat(u * y, self.units[:-1]), np.inf)

    def fenchel_young(self, z, u, y):
        total = np.add.reduceat(u, self.units[:-1])
        return np.where(
            np.isfinite(self.conjugate(u, y)), 0.5 * (self._mean(z - y) - total) ** 2, np.inf
        )

    def into_domain(self, u, y):
        return self._spread(np.add.reduceat(u, self.units[:-1]))

    def infimum(self, y):
        return np.zeros(len(self.units) - 1)


class RunMaximum(Loss):
    """max(0, max of r over the run), r = z − y: the worst row of a run counts."""

    unit = "run"
    smooth = False

    def value(self, z, y):
        return np.maximum(np.maximum.reduceat(z - y, self.units[:-1]), 0.0)

    def gradient(self, z, y):
        out = np.zeros_like(z)
        for start, stop in zip(self.units, self.units[1:]):
            worst = start + int(np.argmax(z[start:stop] - y[start:stop]))
            out[worst] = float(z[worst] > y[worst])
        return out

    def curvature(self, z, y):
        return np.zeros_like(z)

    def conjugate(self, u, y):
        total = np.add.reduceat(u, self.units[:-1])
        low = np.minimum.reduceat(u, self.units[:-1])
        inside = (low >= -1e-12) & (total <= 1.0 + 1e-12)
        return np.where(inside, np.add.reduceat(u * y, self.units[:-1]), np.inf)

    def into_domain(self, u, y):
        u = np.maximum(u, 0.0)
        total = np.repeat(np.add.reduceat(u, self.units[:-1]), np.diff(self.units))
        return u / np.maximum(total, 1.0)

    def room(self, u, y):
        return u

    def infimum(self, y):
        return np.zeros(len(self.units) - 1)

    def best_shift(self, z, y, mass):
        # The slope of Σ mass·max(0, top + b) is Σ mass over top + b > 0: never negative.
        return -float(np.max(z - y))


class Gram(Design):
    """A design of which the products of rows are known, and nothing else."""

    access = Access(Reach.NONE, Reach.CHEAP, Reach.NONE)

    def __init__(self, matrix, index=None):
        self.matrix = matrix
        self.index = np.arange(len(matrix)) if index is None else index
        self.shape = (len(self.index), 0)

    def row_gram(self, weights=None, centre=None):
        return self.cross(self)

    def cross(self, new):
        return self.matrix[np.ix_(new.index, self.index)]

    def rows(self, rows):
        return Gram(self.matrix, self.index[rows])

    @property
    def row_lengths(self):
        return np.diag(self.matrix)[self.index]

    def rmatvec(self, u):
        raise AssertionError("a kernel has no columns")

    matvec = columns = gram = moments = blocks = rmatvec
