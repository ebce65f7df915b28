"""The rows of a clustering: the data as compiled searches take them, with their weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ... import _core
from ..._base.linear_system import EPS
from ..._base.typing import AnyArray, Array
from ...design import as_design
from ...design.base import Design
from ...design.near_zero import near_zero
from ...estimators.inputs.data import check_weights
from ...estimators.inputs.matrix import as_matrix, matrix_of
from ...kernels.rows import summed
from ..finite_squares import check_weighted_squares, refuse_tiny, with_finite_squares
from .distances import RowDistance

_NONE = np.zeros(0)
_ULPS = 4.0  # of squares of sparse rows, times √columns; measured: 1.5 (1500 × 30, 2100 × 2100)


@dataclass(eq=False)
class Rows:
    """Rows of X, dense in C order or CSR, what they weigh (None: 1 each), and their distance.

    Squared distances of sparse rows are differences of products. So full columns that are far from
    zero are shifted (`design.near_zero`), and centres with them: inside a search, centres are those
    of the shifted rows; `shifted` and `as_given` take them there and back.
    """

    X: Any
    weights: Array | None
    distance: RowDistance
    shift: Array = field(default_factory=lambda: _NONE)  # X is what was given less this; empty: 0
    given: Any = None  # the rows as they were given, if they were shifted

    @classmethod
    def of(cls, X: Any, weights: Array | None, distance: RowDistance) -> Rows:
        """From a checked matrix or design; dense rows are copied only if not contiguous."""
        if isinstance(X, Design):
            X = matrix_of(X)
        X = summed(X.tocsr()) if sparse.issparse(X) else np.ascontiguousarray(X)
        X = with_finite_squares(X)
        if distance.centred and sparse.issparse(X):
            design, shift = near_zero(as_design(X))
            if shift.any():
                near: Any = design
                return cls(summed(near.by_row), weights, distance, shift, X)
        return cls(X, weights, distance)

    @property
    def as_passed(self) -> Any:
        """The rows as they were given."""
        return self.X if self.given is None else self.given

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

    def shifted(self, centers: Array) -> Array:
        """Centres of the rows that were given as centres of X."""
        return centers - self.shift if self.shift.size else centers

    def as_given(self, centers: Array) -> Array:
        """Centres of X as centres of the rows that were given."""
        return centers + self.shift if self.shift.size else centers

    def admitted(self, centers: Array) -> Array:
        """Given centres, shifted, in double precision: directions have the length one again."""
        centers = self.shifted(np.ascontiguousarray(centers, dtype=float))
        return self.distance.admitted(centers)

    def costs(self, search: _core.CenterSearch) -> Array:
        """The costs of the rows at the centres of a search."""
        return self.distance.costs(search.distances(), self.factors)

    def weighed(self, costs: Array) -> float:
        """The sum of weighted costs; in an order that does not depend on threads."""
        return float(np.sum(costs if self.weights is None else self.weights * costs))

    def picked(self, rows: AnyArray) -> Rows:
        """Some of the rows, all of weight one."""
        return Rows(self.X[rows], None, self.distance, self.shift)

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
        refuse_tiny(rows.as_passed)
        check_weighted_squares(rows.as_passed, weights)
    return rows
