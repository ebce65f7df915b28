"""The rows of a clustering: the data as compiled searches take them, with their weights."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ... import _core
from ..._base.linear_system import EPS
from ..._base.typing import AnyArray, Array
from ...design import as_design
from ...design.base import Design
from ...design.near_zero import near_zero
from ...estimators.inputs.data import check_weights
from ...estimators.inputs.matrix import as_matrix, matrix_of
from ...kernels.rows import summed
from ..finite_squares import refuse_tiny, with_finite_squares
from .distances import RowDistance

_NONE = np.zeros(0)
_LOST = (
    1e-4  # rounding of squared distances, as a share of the spread, that needs a warning; safeguard
)
_ULPS = 4.0  # of squares of sparse rows, times √columns; measured: 1.5 (1500 × 30, 2100 × 2100)


@dataclass(eq=False)
class Rows:
    """Rows of X, dense in C order or CSR, what they weigh (None: 1 each), and their distance."""

    X: Any
    weights: Array | None
    distance: RowDistance

    @classmethod
    def of(cls, X: Any, weights: Array | None, distance: RowDistance) -> Rows:
        """From a checked matrix or design; a copy is made only of rows that are not contiguous."""
        if isinstance(X, Design):
            X = matrix_of(X)
        X = summed(X.tocsr()) if sparse.issparse(X) else np.ascontiguousarray(X)
        return cls(with_finite_squares(X), weights, distance)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape[0], self.X.shape[1]

    @cached_property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.shape[0] if self.weights is None else self.weights.sum())

    @property
    def masses(self) -> Array:
        """What every row weighs."""
        return np.ones(self.shape[0]) if self.weights is None else self.weights

    @property
    def rounding(self) -> float:
        """Of sums of squared distances: sparse rows are not centred before they are multiplied."""
        if not sparse.issparse(self.X) or not self.distance.centred:
            return 0.0
        squares = float(as_design(self.X).moments(self.masses).second.sum())
        return _ULPS * EPS * math.sqrt(self.shape[1]) * squares

    @cached_property
    def far_column(self) -> tuple[int, float] | None:
        """A column so far from zero, and how far, that squared distances of sparse rows cancel."""
        if not sparse.issparse(self.X) or not self.distance.centred:
            return None
        design, shift = near_zero(as_design(self.X))
        if not shift.any():
            return None
        first, second = design.moments(self.masses / self.total)
        spread = float(np.maximum(second - first * first, 0.0).sum())
        if not EPS * float(np.square(first + shift).sum()) > _LOST * spread > 0:
            return None
        column = int(np.abs(shift).argmax())
        return column, float(shift[column])

    def warn_if_far(self, stacklevel: int) -> None:
        """Say that the clusters may be those of rounding, and what helps."""
        if self.far_column is not None:
            column, place = self.far_column
            warnings.warn(
                f"column {column} of X is far from zero, about {place:.3g}, where squared "
                "distances of sparse rows are lost in rounding: subtract that number from it, or "
                "pass a dense X.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    @cached_property
    def factors(self) -> Array:
        """What the distance multiplies rows by; empty: nothing."""
        return self.distance.factors(self.X)

    @cached_property
    def middle(self) -> Array:
        """The mean of the rows, around which products of dense rows are exact; empty: none."""
        if sparse.issparse(self.X) or not self.distance.centred:
            return _NONE
        mass = np.full(self.shape[0], 1.0 / self.shape[0])
        return np.ascontiguousarray(as_design(self.X).moments(mass).first)

    @cached_property
    def compiled(self) -> Any:
        """X as the compiled core takes it."""
        if not sparse.issparse(self.X):
            return self.X
        return _core.Compressed(self.X.indptr, self.X.indices, self.X.data, self.shape[1])

    @property
    def facts(self) -> tuple[int, Array, Array, Array]:
        """What compiled searches have to know besides."""
        weights = _NONE if self.weights is None else self.weights
        return self.distance.measure, weights, self.factors, self.middle

    def search(self, clusters: int, *, remember: bool = False) -> _core.CenterSearch:
        """A search for the nearest of so many centres; ``remember``: it will be called again."""
        return _core.CenterSearch(self.compiled, clusters, self.facts, remember)

    def nearest(self, centers: Array) -> tuple[AnyArray, Array]:
        """The label of every row, and its cost."""
        found = self.search(len(centers))
        found.assign(self.admitted(centers))
        return found.labels(), self.costs(found)

    def admitted(self, centers: Array) -> Array:
        """Centres in double precision: directions that were rounded have the length one again."""
        return self.distance.admitted(np.ascontiguousarray(centers, dtype=float))

    def costs(self, search: _core.CenterSearch) -> Array:
        """The costs of the rows at the centres of a search."""
        return self.distance.costs(search.distances(), self.factors)

    def weighed(self, costs: Array) -> float:
        """The sum of weighted costs; in an order that does not depend on threads."""
        return float(np.sum(costs if self.weights is None else self.weights * costs))

    def picked(self, rows: AnyArray) -> Rows:
        """Some of the rows, all of weight one."""
        return Rows(self.X[rows], None, self.distance)

    def points(self, rows: AnyArray) -> Array:
        """Some of the rows as centres."""
        found = self.X[rows]
        found = found.toarray() if sparse.issparse(found) else found
        return self.distance.admitted(np.array(found, dtype=float))


def rows_of_fit(estimator: Any, X: Any, sample_weight: Any, distance: RowDistance) -> Rows:
    """The rows of a fit, checked: at least ``n_clusters`` of them have a positive weight."""
    X = as_matrix(estimator, X, reset=True)
    weights = check_weights(sample_weight, X.shape[0])
    n = X.shape[0] if weights is None else int(np.count_nonzero(weights))
    if n < estimator.n_clusters:
        what = "n_samples" if n == X.shape[0] else "the number of rows of positive weight"
        raise ValueError(
            f"{what}={n} should be >= n_clusters={estimator.n_clusters}: every cluster needs a row "
            "of positive weight."
        )
    rows = Rows.of(X, weights, distance)
    if distance.name == "euclidean":
        refuse_tiny(rows.X)
        rows.warn_if_far(stacklevel=6)
    return rows
