"""A curvature that acts on differences of scores within sets of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._base.typing import Array, BoolArray, IntArray
from .curvature import Pairs


@dataclass(frozen=True, eq=False)
class WithinSets(Pairs):
    """scaleᵢ times the distance of every score from the mean of its set, for every row.

    Parameters
    ----------
    sets : array of shape (n, k) of numbers from 0 to k − 1, or −1: scores of no set do not count
    scale : array of shape (n,), ≥ 0
    """

    sets: IntArray
    scale: Array

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """(n, k)."""
        return self.sets.shape

    @cached_property
    def _inside(self) -> BoolArray:
        """Which scores belong to a set."""
        return self.sets >= 0

    @cached_property
    def _places(self) -> IntArray:
        """A number for every set of every row; scores of no set share the last one."""
        n, k = self.sets.shape
        own = self.sets + k * np.arange(n)[:, None]
        return np.where(self._inside, own, n * k)

    @cached_property
    def _shares(self) -> Array:
        """One divided by the size of the set of every score; 0 outside."""
        counts = np.bincount(self._places.ravel(), minlength=self.sets.size + 1)
        return np.where(self._inside, 1.0 / np.maximum(counts[self._places], 1), 0.0)

    def times(self, t: Array) -> Array:
        """scale·(t − mean of t over the set)."""
        sums = np.bincount(self._places.ravel(), t.ravel(), minlength=self.sets.size + 1)
        apart = np.where(self._inside, t - self._shares * sums[self._places], 0.0)
        return np.asarray(self.scale[:, None] * apart)

    def weighted(self, weights: Array) -> WithinSets:
        """Weights times the scale."""
        return WithinSets(self.sets, weights * self.scale)

    @property
    def bound(self) -> Array:
        """The scale wherever a set has other scores, too."""
        return np.where(self._inside & (self._shares < 1.0), self.scale[:, None], 0.0)

    def _pairs(self) -> Iterator[tuple[int, int, Array]]:
        """scale/size for two scores of one set."""
        for c in range(self.sets.shape[1]):
            for e in range(c):
                together = self._inside[:, c] & (self.sets[:, c] == self.sets[:, e])
                if together.any():
                    yield c, e, np.where(together, self.scale * self._shares[:, c], 0.0)

    @property
    def shifts_freely(self) -> bool:
        """True: nothing but differences of scores counts."""
        return True
