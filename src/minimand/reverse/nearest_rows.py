"""scikit-learn's search for the nearest rows, without the digits that a large mean would cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from .._base.typing import Array, IntArray

_FAR = 1e4  # squared mean, in units of the variance, from which rows are moved; safeguard: in
# ‖x‖² + ‖z‖² − 2x·z, from which distances in many columns are computed, four digits cancel


class NearestRows:
    """The nearest of some rows, the nearest first; parameters as in `NearestNeighbors`."""

    def __init__(self, X: Any, **how: Any) -> None:
        self._middle: Array | None = None
        if how.get("metric") == "euclidean" and not sparse.issparse(X):
            rows = np.asarray(X)
            mean = rows.mean(axis=0, dtype=float)
            if float(mean @ mean) > _FAR * float(rows.var(axis=0, dtype=float).sum()):
                self._middle = mean
        self.structure = NearestNeighbors(**how).fit(self.moved(X))

    def moved(self, X: Any) -> Any:
        """X as the search sees it."""
        return X if self._middle is None else np.asarray(X) - self._middle

    def find(self, X: Any, n_neighbors: int | None = None) -> tuple[Array, IntArray]:
        """The distances and the numbers of the nearest rows of the search, for all rows of X."""
        found: tuple[Array, IntArray] = self.structure.kneighbors(self.moved(X), n_neighbors)
        return found

    @property
    def rows(self) -> Any:
        """The rows among which it looks, moved."""
        return self.structure._fit_X
