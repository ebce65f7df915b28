"""Single moves after Lloyd's algorithm, until none of them lowers the objective (Hartigan 1975).

A row that moves changes both means. With its weight w and those of the clusters W_a and W_b, moving
it from a to b helps if

    W_b/(W_b + w)·‖x − c_b‖² < W_a/(W_a − w)·‖x − c_a‖²,

which is the case for every row that is nearer to another centre, and for some that are not: Lloyd's
algorithm ends at clusterings that a single move still improves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ... import _core
from ..._base.typing import AnyArray, Array
from .lloyd import Done, Lloyd


class Hartigan(Lloyd):
    """Lloyd's algorithm from given centres, and passes of single moves from where it ends."""

    def steps(self, done: Done, max_iter: int | None) -> Iterator[tuple[None, float, float]]:
        """Iterate; yields the objective of the start, and after every iteration or pass."""
        yield from super().steps(done, max_iter)
        if self.converged:
            self.converged = False
            yield from self._passes(max_iter)

    def _passes(self, max_iter: int | None) -> Iterator[tuple[None, float, float]]:
        rows, search = self._rows, self._search
        weights = np.zeros(0) if rows.weights is None else rows.weights
        sums, masses = search.sums()
        while max_iter is None or self.iterations < max_iter:
            before = search.labels()
            centers = np.ascontiguousarray(rows.distance.centers(sums, masses, self.centers))
            labels, moved = _core.improve_rows(rows.compiled, weights, centers, masses, before)
            self.iterations += 1
            self.passes += 1.0
            for row in np.flatnonzero(labels != before):
                search.relabel(int(row), int(labels[row]))
            last = self.primal
            sums, masses = search.sums()  # without the rounding of many moves
            value = self._objective(sums, masses)
            self.centers = rows.distance.centers(sums, masses, self.centers)
            self.primal = min(last, max(value, 0.0))
            yield None, self.primal, -np.inf
            if not moved or self.primal >= last:  # moves that gain nothing are rounding
                self.converged = True
                return

    def finished(self, dtype: type | np.dtype[np.floating]) -> tuple[Array, AnyArray, float]:
        """As `Lloyd.finished`; of centres at equal distance every row takes the first."""
        self._search = self._rows.search(len(self.centers))  # which knows of no moves
        return super().finished(dtype)
