"""Distances of pairs of rows: by a name, by a function, given as a matrix, or of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable as Function
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from .._base.typing import Array
from .._base.watch import look
from .._base.wording import counted
from . import REGISTRY
from .base import BUFFER, Kernel
from .rows import AsGiven, Parts, check_widths, count, dense, matrix
from .vectors import VectorKernel

NAMES = (
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "dice",
    "euclidean",
    "hamming",
    "jaccard",
    "jensenshannon",
    "mahalanobis",
    "manhattan",
    "minkowski",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalsneath",
    "sqeuclidean",
    "yule",
)
_ALIASES = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}
_OF_SPARSE = ("euclidean", "cosine", "cityblock", "manhattan")
_STRIP = 256  # rows whose distances to all others are computed together; safeguard: short waits
_ROUNDING = 1e-5  # of numbers relative to their size, also of float32; safeguard: a negative
# squared distance or an asymmetry beyond it is an error of the input


class Dissimilarity(ABC):
    """d(x, z) of rows x and training rows z, block by block.

    ``euclidean`` says that the distances are those of points of a Euclidean space, so that
    clusters have centres; ``vectors`` that the rows are vectors and these the distances of them;
    ``of_numbers`` that X is a matrix.
    """

    euclidean: bool = False
    vectors: ClassVar[bool] = False
    of_numbers: bool = True
    parameters: dict[str, Any]  # what a distance takes from the training rows
    z: Any  # the training rows

    @abstractmethod
    def fit(self, X: Any, weights: Array | None = None) -> Self:
        """Keep the training rows X, and what the distance takes from them.

        A row of weight k counts like k copies of it.
        """

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """New rows as `between` takes them, cut by ``rows[numbers]``."""

    @abstractmethod
    def between(self, x: Any, z: Any) -> Array:
        """The distances of rows x to training rows z."""

    @property
    def n_samples(self) -> int:
        """The number of training rows."""
        return count(self.z)

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """The distances of some of the rows of X at a time to all training rows."""
        return self._blocks(self.rows(X))

    def own_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of dissimilarities of the training rows to themselves."""
        return self._blocks(self.z)

    def condensed(self) -> Array:
        """The distances of all pairs of training rows, in scipy's order: (0, 1), (0, 2), …."""
        n = self.n_samples
        found = np.empty(n * (n - 1) // 2)
        place = 0
        for start in range(0, n, _STRIP):
            look()
            stop = min(start + _STRIP, n)
            part = self.between(self.z[start:stop], self.z[start:])
            self._check_finite(part, start, start)
            for i in range(stop - start):
                found[place : place + part.shape[1] - i - 1] = part[i, i + 1 :]
                place += part.shape[1] - i - 1
        return found

    def _blocks(self, x: Any) -> Iterator[tuple[slice, Array]]:
        n, size = count(x), max(1, BUFFER // max(self.n_samples, 1))
        for start in range(0, n, size):
            look()
            some = slice(start, min(start + size, n))
            found = self.between(x[some], self.z)
            self._check_finite(found, start, 0)
            yield some, found

    def _check_finite(self, found: Array, first_row: int, first_column: int) -> None:
        if np.isfinite(found).all():
            return
        row, column = np.argwhere(~np.isfinite(found))[0]
        raise ValueError(
            f"{self} is not a finite number for row {row + first_row} of X and training row "
            f"{column + first_column}: leave such rows out (rows of zeros, say, have no cosine), "
            "or take another distance."
        )


class _Named(Dissimilarity):
    """A distance of vectors that scipy knows by name."""

    vectors = True

    def __init__(self, name: str) -> None:
        self.name, self._given = _ALIASES.get(name, name), name
        self.euclidean = self.name == "euclidean"
        self.parameters = {}

    def fit(self, X: Any, weights: Array | None = None) -> Self:
        self.z = self.rows(X)
        if self.name in ("seuclidean", "mahalanobis"):
            s = np.ones(self.n_samples) if weights is None else weights
            total = float(s.sum())
            left = self.z - s @ self.z / total
            divisor = total - 1.0 if total > 1.0 else total  # as scipy estimates variances
            if self.name == "seuclidean":
                spread = s @ np.square(left) / divisor
                self.parameters = {"V": np.where(spread > 0, spread, 1.0)}
            elif self.n_samples > 1:
                self.parameters = {"VI": np.linalg.pinv(left.T @ (s[:, None] * left) / divisor)}
            else:
                self.parameters = {"VI": np.eye(self.z.shape[1])}
        return self

    def rows(self, X: Any) -> Any:
        found = matrix(X)
        if sparse.issparse(found) and self.name not in _OF_SPARSE:
            raise ValueError(
                f"X is sparse, but distance={self._given!r} takes dense rows: pass X.toarray(), or "
                f"one of the distances {list(_OF_SPARSE)}."
            )
        return found

    def between(self, x: Any, z: Any) -> Array:
        check_widths(x, z)
        if not sparse.issparse(x) and not sparse.issparse(z):
            return cdist(x, z, self.name, **self.parameters)
        from sklearn.metrics import pairwise_distances

        x, z = sparse.csr_matrix(x), sparse.csr_matrix(z)
        return np.asarray(pairwise_distances(x, z, metric=self.name), dtype=float)

    def __str__(self) -> str:
        return f"distance={self._given!r}"


class _OfFunction(Dissimilarity):
    """A distance that the user's function gives for one pair of rows."""

    of_numbers = False

    def __init__(self, function: Function[[Any, Any], float]) -> None:
        self.function = function
        self.parameters = {}

    def fit(self, X: Any, weights: Array | None = None) -> Self:
        self.z = self.rows(X)
        return self

    def rows(self, X: Any) -> AsGiven:
        return AsGiven(X.to_numpy() if hasattr(X, "to_numpy") else X)

    def between(self, x: Any, z: Any) -> Array:
        values = [[self.function(a, b) for b in z.given] for a in x.given]
        try:
            return np.array(values, dtype=float).reshape(len(x), len(z))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self} must give one number for two rows.") from error

    def __str__(self) -> str:
        return f"distance={getattr(self.function, '__name__', self.function)}"


class _Given(Dissimilarity):
    """X is a matrix of distances: of all training rows, later of new rows to these."""

    euclidean = True  # the user's word, since nothing can check it

    def __init__(self) -> None:
        self.parameters = {}

    def fit(self, X: Any, weights: Array | None = None) -> Self:
        self.z = Parts(self._checked(X), np.arange(0))
        values = self.z.parts[0]
        if values.shape[0] != values.shape[1]:
            raise ValueError(
                "distance='precomputed' takes the square matrix of distances of all training "
                f"rows, but X has shape {values.shape}."
            )
        largest = float(values.max())
        if np.abs(values - values.T).max() > _ROUNDING * largest:
            raise ValueError(
                "distance='precomputed' takes a symmetric matrix, but X differs from its "
                "transpose: pass (X + X.T) / 2."
            )
        if float(np.diag(values).max()) > _ROUNDING * largest:
            raise ValueError(
                "distance='precomputed' takes distances, which are 0 on the diagonal, but X has "
                "other numbers there: similarities are for kernel='precomputed'."
            )
        self.z = Parts(values, np.arange(len(values)))
        return self

    def rows(self, X: Any) -> Parts:
        found = self._checked(X)
        if found.shape[1] != self.n_samples:
            raise ValueError(
                f"distance='precomputed' was fitted on {counted(self.n_samples, 'row')}, so X must "
                f"have as many columns, but it has {found.shape[1]}: pass the distances of new "
                "rows to these."
            )
        return Parts(found, np.full(len(found), -1))

    def between(self, x: Any, z: Any) -> Array:
        return np.asarray(x.parts[0][:, z.parts[1]], dtype=float)

    def _checked(self, X: Any) -> Array:
        found = dense(matrix(X))
        if float(found.min()) < 0:
            raise ValueError(
                "distance='precomputed' takes distances, but X holds negative numbers: "
                "similarities are for kernel='precomputed'."
            )
        return found

    def __str__(self) -> str:
        return "distance='precomputed'"


class _OfKernel(Dissimilarity):
    r"""The distance of the features of a kernel, :math:`\sqrt{k(x,x) + k(z,z) - 2k(x,z)}`."""

    euclidean = True

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.of_numbers = isinstance(kernel, VectorKernel) or kernel.pairwise
        self.parameters = {}

    def fit(self, X: Any, weights: Array | None = None) -> Self:
        self.kernel = self.kernel.bind(X, weights)
        rows = self.kernel.rows(X, training=True)
        self.z = Parts(rows, self.kernel.diagonal(rows))
        return self

    def rows(self, X: Any) -> Parts:
        if self.kernel.pairwise:
            raise ValueError(
                "kernel='precomputed' does not tell k(x, x) of new rows, which distances need: "
                "pass distances with distance='precomputed'."
            )
        rows = self.kernel.rows(X, training=True)  # as `diagonal` takes them
        return Parts(self.kernel.rows(X), self.kernel.diagonal(rows))

    def between(self, x: Any, z: Any) -> Array:
        sizes = np.add.outer(x.parts[1], z.parts[1])
        squared = sizes - 2.0 * self.kernel.block(x.parts[0], z.parts[0])
        if (squared < -_ROUNDING * np.abs(sizes)).any():
            raise ValueError(
                f"kernel={self.kernel!r} gives a negative squared distance k(x, x) + k(z, z) − "
                "2k(x, z) for some pair of rows, so it is not positive semidefinite: "
                "minimand.check_psd says more."
            )
        return np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)

    def __str__(self) -> str:
        return f"kernel={self.kernel!r}"


def dissimilarity_of(distance: Any = "euclidean", kernel: Any = None) -> Dissimilarity:
    """What the parameters ``distance=`` and ``kernel=`` of an estimator mean.

    Examples
    --------
    >>> import minimand as mm
    >>> from minimand.kernels.dissimilarity import dissimilarity_of
    >>> x = [[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]
    >>> dissimilarity_of("manhattan").fit(x).condensed()
    array([7., 3., 4.])
    >>> dissimilarity_of(kernel=mm.Linear()).fit(x).condensed()
    array([5., 3., 4.])
    """
    if kernel is not None:
        if not (isinstance(distance, str) and distance == "euclidean"):
            raise ValueError(
                f"kernel={kernel!r} has distances of its own, so distance={distance!r} cannot be "
                "used with it: pass one of the two."
            )
        found = REGISTRY.get(kernel)
        found.check_parameters()
        return _OfKernel(found)
    if isinstance(distance, str) and distance == "precomputed":
        return _Given()
    if isinstance(distance, str) and (distance in NAMES or distance in _ALIASES):
        return _Named(distance)
    if callable(distance) and not isinstance(distance, type):
        return _OfFunction(distance)
    raise ValueError(
        f"distance={distance!r} is not known: pass one of {list(NAMES)}, 'precomputed', or a "
        "function of two rows."
    )
