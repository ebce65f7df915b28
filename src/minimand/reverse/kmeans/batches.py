"""Mini-batches: centres as running means of those rows of random batches that were nearest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import AnyArray, Array
from .lloyd import Null
from .rows import Rows

_PATIENCE = 10  # batches without a lower smoothed objective; convention: scikit-learn's
_EPOCHS = 100  # passes over the data if max_iter is None; convention: scikit-learn's


class MiniBatches:
    """One run from given centres; `Lloyd` says what its attributes mean.

    The objective that is told after every step is an estimate from batches, smoothed over about
    one pass over the data, and may rise.
    """

    def __init__(
        self, rows: Rows, centers: Array, random: np.random.RandomState, batch_size: int
    ) -> None:
        self._rows, self.centers, self._random = rows, centers, random
        self._size = min(batch_size, rows.shape[0])
        self._means, self._counts = centers.copy(), np.zeros(len(centers))
        self.primal, self.scale = np.inf, np.inf
        self.passes, self.iterations, self.converged = 0.0, 0, False

    def steps(self, max_iter: int | None) -> Iterator[tuple[None, float, float]]:
        """Iterate until the smoothed objective has not fallen for some batches."""
        n = self._rows.shape[0]
        smooth = min(2.0 * self._size / (n + 1), 1.0)
        shares = None if self._rows.weights is None else self._rows.weights / self._rows.total
        estimate, least, waited = np.inf, np.inf, 0
        steps = max(_EPOCHS * n // self._size, 1) if max_iter is None else max_iter
        for step in range(steps):
            drawn = self._random.choice(n, self._size, p=shares)
            cost = self._learn(self._rows.picked(drawn)) * self._rows.total / self._size
            if step == 1:
                estimate = cost  # that of the first batch is the objective of the start
            elif step > 1:
                estimate = (1.0 - smooth) * estimate + smooth * cost
            waited = 0 if step < 2 or estimate < least else waited + 1
            least = min(least, estimate)
            self.primal = cost if step == 0 else estimate
            yield None, self.primal, -np.inf
            if waited >= _PATIENCE:
                self.converged = True
                return

    def _learn(self, batch: Rows) -> float:
        """Move the centres by one batch; what the batch had cost before."""
        search = batch.search(len(self.centers))
        search.assign(self.centers)
        cost = batch.weighed(batch.costs(search))
        sums, masses = search.sums()
        self._counts += masses
        seen = masses > 0
        steps = (masses[seen] / self._counts[seen])[:, None]
        self._means[seen] += steps * (sums[seen] / masses[seen, None] - self._means[seen])
        self.centers = batch.distance.admitted(self._means.copy())
        self._revive(batch)
        self.passes += batch.shape[0] / self._rows.shape[0]
        self.iterations += 1
        return cost

    def _revive(self, batch: Rows) -> None:
        """Put centres that had no row yet on rows of the batch, once all have been asked."""
        unused = np.flatnonzero(self._counts == 0)
        # Rows seen for every cluster before a centre is given up; convention: scikit-learn's.
        if not unused.size or self._counts.sum() < 10 * len(self.centers):
            return
        rows = self._random.choice(batch.shape[0], min(unused.size, batch.shape[0]), replace=False)
        unused = unused[: rows.size]
        self._means[unused] = self.centers[unused] = batch.points(rows)

    def finished(self, dtype: type | np.dtype[np.floating]) -> tuple[Array, AnyArray, float]:
        """Centres in the precision of X, the nearest of them for every row, and the objective."""
        centers = self._rows.as_given(self.centers).astype(dtype)
        search = self._rows.search(len(centers))
        inner = self._rows.admitted(centers)
        search.assign(inner)
        primal = self._rows.weighed(self._rows.costs(search))
        self.scale = Null(self._rows, inner, *search.sums(), primal).primal
        return centers, search.labels(), primal
