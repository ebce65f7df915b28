"""What ``kernel=`` of a normalised cut stands for: a graph, a kernel, or a matrix of affinities."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from ..._base.typing import Array, IntArray
from ..._base.wording import counted
from ...features.low_rank import MEMORY
from ...kernels import REGISTRY, Kernel
from ..finite_squares import in_range
from ..rows import in_double, kernel_rows, rows_for
from .checks import checked_affinity
from .neighbor_graph import NeighborGraph


class Affinity(Protocol):
    """Affinities between rows of the fit, and of new rows with these."""

    graph: bool  # whether most pairs have none
    finds_rows: bool  # whether rows of the fit are found again, and keep their labels
    matrix: Any  # of the rows of the fit, dense or CSR

    def read(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        """X, checked."""

    def fitted(self, X: Any, weights: Array | None = None) -> Self:
        """These affinities with the matrix of all rows of X, which a kernel counts by weight."""

    def times(self, X: Any, a: Array) -> tuple[Array, IntArray]:
        """Affinities of new rows with those of the fit, times a; and equal rows, else −1."""


def affinity_of(kernel: Any, memory: float | None) -> Affinity:
    """What ``kernel=`` stands for, its parameters checked."""
    if isinstance(kernel, str) and kernel == "neighbors":
        kernel = NeighborGraph()
    if isinstance(kernel, NeighborGraph):
        kernel.check_parameters()
        return _OfGraph(kernel.copy())
    if not isinstance(kernel, Kernel) and not (
        isinstance(kernel, str) and kernel in REGISTRY.classes
    ):
        raise ValueError(
            f"kernel={kernel!r} is not known: pass 'neighbors', a minimand NeighborGraph or "
            f"Kernel, or one of {REGISTRY.names}."
        )
    found = REGISTRY.get(kernel)
    found.check_parameters()
    return _Given() if found.pairwise else _OfKernel(found, memory)


class _OfGraph:
    """Nearest neighbours."""

    graph = True
    finds_rows = True
    matrix: Any = None

    def __init__(self, form: NeighborGraph) -> None:
        self._form = form

    def read(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        """A matrix of numbers."""
        X = in_range(rows_for(estimator, X, of_numbers=True, reset=reset), reset=reset)
        return X.tocsr() if sparse.issparse(X) else X

    def fitted(self, X: Any, weights: Array | None = None) -> Self:
        """The graph of the rows of X, whatever their weights."""
        self._search, self.matrix = self._form.fitted(X)
        return self

    def times(self, X: Any, a: Array) -> tuple[Array, IntArray]:
        """Over the nearest neighbours of the new rows."""
        edges, equal = self._form.to_training(self._search, X)
        return np.asarray(edges @ a), equal


class _OfKernel:
    """All pairs."""

    graph = False
    finds_rows = False
    matrix: Any = None

    def __init__(self, kernel: Kernel, memory: float | None) -> None:
        self._kernel, self._memory = kernel, memory

    def read(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        """Rows that the kernel takes."""
        return in_double(kernel_rows(estimator, X, self._kernel, reset=reset))

    def fitted(self, X: Any, weights: Array | None = None) -> Self:
        """The matrix of all pairs, if there is room for it."""
        n = int(_num_samples(X))
        room = MEMORY if self._memory is None else float(self._memory)
        if 16.0 * n * n > room:
            raise ValueError(
                f"the affinities of {counted(n, 'row')} by {self._kernel!r} take "
                f"{8e-9 * n * n:.3g} GB, more than half of memory={room:g} bytes: take "
                "kernel=NeighborGraph(), whose matrix is sparse, or raise memory."
            )
        self._kernel = self._kernel.bind(X, weights)
        self._rows = self._kernel.rows(X, training=True)
        values = np.asarray(self._kernel.gram(self._rows), dtype=float)
        self.matrix = checked_affinity(values, "the kernel matrix", even=self._kernel.definite)
        return self

    def times(self, X: Any, a: Array) -> tuple[Array, IntArray]:
        """Over all rows of the fit."""
        found = self._kernel.times(self._kernel.rows(X), self._rows, a)
        return found, np.full(len(found), -1)


class _Given:
    """X is the matrix of affinities itself."""

    graph = False
    finds_rows = False
    matrix: Any = None

    def read(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        """A matrix of numbers."""
        X = rows_for(estimator, X, of_numbers=True, reset=reset)
        self.graph = sparse.issparse(X)
        return X.tocsr() if sparse.issparse(X) else X

    def fitted(self, X: Any, weights: Array | None = None) -> Self:
        """X, checked, and copied if it may be changed."""
        kept = isinstance(X, np.ndarray) and not X.flags.writeable
        self.matrix = checked_affinity(X if kept else X.copy(), "X")
        return self

    def times(self, X: Any, a: Array) -> tuple[Array, IntArray]:
        """X holds the affinities of new rows with those of the fit."""
        return np.asarray(X @ a, dtype=float), np.full(X.shape[0], -1)
