"""Lloyd's algorithm: rows go to their nearest centre, centres to the best point of their rows.

Neither step raises the objective Σ s·cost(x, c). A step that moves no row ends the algorithm: the
centres are then best for their rows, and the labels best for their centres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._base.typing import AnyArray, Array
from ..finite_squares import is_of_usual_size
from .distances import medians
from .rows import Rows

Done = Callable[[float, Array], bool]  # whether a decrease, and the shifts of centres, are enough


class Lloyd:
    """One run from given centres.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
        The best centres of the clusters of the last iteration.
    primal : float
        The objective of these clusters with these centres; it never rises.
    passes : float
        Pairs of rows and centres that were compared, in units of all of them.
    converged : bool
        Whether the run ended by itself, and not at a limit.
    iterations : int
        Iterations so far, as scikit-learn counts them: those that looked for the nearest centres.
    """

    def __init__(self, rows: Rows, centers: Array, *, bounds: bool = True) -> None:
        self._rows, self.centers = rows, centers
        self._bounds = bounds and is_of_usual_size(rows.X)  # they are in single precision
        self._search = rows.search(len(centers), remember=self._bounds)
        self.primal = np.inf
        self.passes = 0.0
        self.iterations = 0
        self.converged = False
        self._labels: AnyArray = np.zeros(0, dtype=np.int32)

    def steps(self, done: Done, max_iter: int | None) -> Iterator[tuple[None, float, float]]:
        """Iterate; yields the objective of the start, and after every iteration."""
        moved = self._assign()
        costs = self._rows.costs(self._search)
        sums, masses = self._search.sums()
        self.primal = self._rows.weighed(costs)
        self._null = Null(self._rows, self.centers, sums, masses, self.primal)
        yield None, self.primal, -np.inf
        while True:
            before, last = self.centers, self.primal
            self._improve(sums, masses)
            yield None, self.primal, -np.inf
            if max_iter is not None and self.iterations >= max_iter:
                return
            # Rows that move without a lower objective move by rounding, and would do so for ever.
            if done(last - self.primal, self.centers - before) or not self.primal < last:
                self.converged = True
                return
            moved = self._assign()
            if moved == 0:
                self.converged = True
                return
            sums, masses = self._search.sums()

    @property
    def scale(self) -> float:
        """The objective of a single cluster; rounding does not make it negative for equal rows."""
        return max(self._null.primal, 0.0)

    def _assign(self) -> int:
        """Look for the nearest centres; the number of rows that have moved."""
        before = None if self._bounds else self._search.labels()
        self._assigned = self.centers  # from which the search measures rows
        moved, share, _ = self._search.assign(self.centers)
        self.passes += share
        self.iterations += 1
        if before is not None:
            moved = int(np.count_nonzero(before != self._search.labels()))
        return moved

    def _improve(self, sums: Array, masses: Array) -> None:
        """Move centres to the best points of their clusters, and fill empty clusters."""
        rows, distance = self._rows, self._rows.distance
        if (masses <= 0).any() and self._fill(masses):
            sums, masses = self._search.sums()
        if distance.by_sums:
            value = self._objective(sums, masses)
            self.centers = distance.centers(sums, masses, self.centers)
            self.primal = min(self.primal, max(value, 0.0))  # 0 may be rounded to less
            return
        labels = self._search.labels()
        if self._labels.size:
            changed = self._labels != labels
            touched = np.union1d(self._labels[changed], labels[changed])
        else:
            touched = np.arange(len(self.centers))
        self._labels = labels
        self.centers = medians(rows.X, labels, rows.weights, self.centers, touched)
        self.primal = min(self.primal, Null.cost_of(rows, labels, self.centers))

    def _objective(self, sums: Array, masses: Array) -> float:
        """The objective of the clusters with their best centres.

        Sums tell it as a share of the objective of one cluster. Where rows far from all others make
        that much larger, digits cancel, and what the rows cost now is measured by differences.
        """
        if not self._rows.distance.centred or self._null.primal <= _FAR * self.primal:
            return self._null.objective(sums, masses)
        filled = masses > 0
        leans = sums[filled] - masses[filled, None] * self._assigned[filled]
        gained = float(np.sum(np.sum(leans * leans, axis=1) / masses[filled]))
        return self._rows.weighed(self._rows.costs(self._search)) - gained

    def _fill(self, masses: Array) -> bool:
        """Give every empty cluster the row that is farthest from its centre.

        A cluster that has one row keeps it, and where all rows lie on their centres there are
        fewer different rows than clusters, and nothing to gain. Whether any row has moved.
        """
        rows = self._rows
        costs = self._search.distances()
        labels = self._search.labels()
        weighty = np.ones(costs.size, dtype=bool) if rows.weights is None else rows.weights > 0
        costs[~weighty] = 0.0
        left = np.bincount(labels[weighty], minlength=masses.size)
        empty = np.flatnonzero(left == 0)
        farthest = np.argsort(-costs, kind="stable")[: empty.size + masses.size]
        moved = False
        for row in farthest:
            if not empty.size or costs[row] <= 0:
                break
            if left[labels[row]] < 2:
                continue
            left[labels[row]] -= 1
            self._search.relabel(int(row), int(empty[0]))
            empty, moved = empty[1:], True
        return moved

    def finished(self, dtype: type | np.dtype[np.floating]) -> tuple[Array, AnyArray, float]:
        """Centres in the precision of X, the nearest of them for every row, and the objective."""
        centers = self._rows.as_given(self.centers).astype(dtype)
        self._search.assign(self._rows.admitted(centers))
        primal = self._rows.weighed(self._rows.costs(self._search))
        return centers, self._search.labels(), primal


class Null:
    """The objective of one cluster, and of others by their sums alone.

    Σ s‖x − c‖² = Σ s‖x − m‖² − Σ_c W_c‖μ_c − m‖², where μ_c are the means and W_c the weights of
    the clusters and m any point; the mean of all rows is the best one.
    """

    def __init__(
        self, rows: Rows, centers: Array, sums: Array, masses: Array, primal: float
    ) -> None:
        self._rows, self._name = rows, rows.distance.name
        if self._name == "euclidean":
            self._mean = sums.sum(axis=0) / masses.sum()
            gaps = centers - self._mean
            lean = sums - masses[:, None] * centers
            self.primal = primal + float(np.sum((2.0 * lean + masses[:, None] * gaps) * gaps))
        elif self._name == "cosine":
            self.primal = rows.total - float(np.linalg.norm(sums.sum(axis=0)))
        else:
            labels = np.zeros(rows.shape[0], dtype=int)
            middle = medians(rows.X, labels, rows.weights, np.zeros((1, rows.shape[1])), labels[:1])
            self.primal = self.cost_of(rows, labels, middle)

    def objective(self, sums: Array, masses: Array) -> float:
        """The objective of clusters with these sums, with their best centres."""
        if self._name == "cosine":
            return self._rows.total - float(np.sum(np.linalg.norm(sums, axis=1)))
        filled = masses > 0
        leans = sums[filled] - masses[filled, None] * self._mean
        return self.primal - float(np.sum(np.sum(leans * leans, axis=1) / masses[filled]))

    @staticmethod
    def cost_of(rows: Rows, labels: AnyArray, centers: Array) -> float:
        """The objective under the Manhattan distance, of which sums say nothing."""
        costs = np.empty(labels.size)
        for start in range(0, labels.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            block = rows.X[part]
            block = block if isinstance(block, np.ndarray) else block.toarray()
            costs[part] = np.abs(block - centers[labels[part]]).sum(axis=1)
        return rows.weighed(costs)


_BLOCK = 4096  # rows of a temporary; safeguard: fits a cache
_FAR = 1e7  # objectives in that of one cluster, from which sums lose digits; safeguard: 9 are left
