"""Kernels as features: coordinates in the span of some rows, all of them or a chosen few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from .._base.parameters import check_count
from .._base.typing import Array, IntArray
from ..design import ComputedDesign, Design, Whitened
from ..kernels import REGISTRY, Kernel, kernel_of
from ..kernels.rows import count
from .base import Features
from .pivoted_cholesky import Factor, Greedy, checked, factorise

MEMORY = 2e9  # bytes of the factor of a kernel matrix by default; safeguard
ROOM = 0.6  # share of the memory for rows that are kept while others are computed again; safeguard


class LowRank(Features):
    r"""Features of a kernel, from landmark rows P.

    .. math:: \hat\varphi(x) = R^{-1} k(P, x), \qquad k(P, P) = R R^\top

    They are the coordinates of φ(x) in an orthonormal basis of the span of φ(P): inner products are
    those of the projections of φ(x) and φ(z) onto that span, so K − K̂ is positive semidefinite, and
    a function Σ wⱼφ̂ⱼ has the norm ‖w‖ in the space of the kernel, too.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with everything that it takes from the data.
    pivots_ : ndarray of shape (rank,) or None
        The landmarks among the rows of the fit; None if they are other points.
    rank_ : int
    remainder_ : ndarray of shape (n_samples,)
        k(x, x) − ‖φ̂(x)‖² of the rows of the fit: what the span leaves out. Only if the features of
        all rows were formed.
    """

    takes_sparse = True
    kernel: Any
    kernel_: Kernel
    pivots_: IntArray | None
    remainder_: Array
    sizes_: Array  # `Kernel.sizes` of the rows of the fit

    # What a subclass writes ------------------------------------------------------------------

    def _factor(self, x: Any) -> Factor:
        """The factor of the kernel matrix of the rows, or of other landmarks."""
        raise NotImplementedError

    # What follows from it --------------------------------------------------------------------

    def check_parameters(self) -> None:
        """A kernel with valid parameters."""
        REGISTRY.get(self.kernel).check_parameters()

    @property
    def rank_(self) -> int:
        """The number of features."""
        return int(self._triangle.shape[0])

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks; y is ignored."""
        self._learnt(self._bound_rows(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Choose the landmarks and give φ̂(X)."""
        x = self._bound_rows(X)
        found = self._learnt(x)
        return self._formed(x) if found is None else found

    def _formed(self, x: Any) -> Array:
        """φ̂(x), with what it leaves out of the kernel."""
        found, self.sizes_ = self._whitened(x), self.kernel_.sizes(x)
        rest = self.kernel_.diagonal(x) - np.einsum("ij,ij->i", found, found)
        self.remainder_ = np.maximum(rest, 0.0)
        return found

    def fitted_rows(self, X: Any, y: Any, weights: Array | None, memory: float) -> Any:
        """φ̂(X) of a map that is fitted here, by rows of these weights."""
        return self._learnt(self._bound_rows(X, weights))

    def mapped_rows(self, X: Any, memory: float) -> Any:
        """φ̂(X), computed when it is asked for if memory has no room for it."""
        x = self.rows_of(X)
        if 8.0 * count(x) * self.rank_ > memory:
            return self.on_demand(x, memory)
        return self._whitened(x)

    def on_demand(self, x: Any, memory: float) -> Design:
        """φ̂ of rows as the kernel takes them, computed in blocks when they are asked for."""
        kernel, marks = self.kernel_, self._landmarks
        rows = ComputedDesign(
            lambda part: kernel.block(part, marks),
            x,
            self.rank_,
            ROOM * memory,
            in_threads=kernel.in_threads,
        )
        return Whitened(rows, self._triangle)

    def _bound_rows(self, X: Any, weights: Array | None = None) -> Any:
        """The rows of the fit as the kernel takes them, with what it takes from them."""
        self.check_parameters()
        if not REGISTRY.get(self.kernel).of_objects:
            validate_data(self, X, reset=True, skip_check_array=True)
        X = _doubled(X)
        self.kernel_ = REGISTRY.get(self.kernel).bind(X, weights)
        return self.kernel_.rows(X, training=True)

    def _learnt(self, x: Any) -> Array | None:
        """φ̂ of the rows of the fit, with the landmarks among them; None if it was not needed."""
        factor = self._factor(x)
        self.remainder_, self.sizes_ = factor.remainder, factor.sizes
        return self._keep(x, factor)

    def _keep(self, x: Any, factor: Factor) -> Array:
        """Take the pivots of a factor of the rows x as landmarks; φ̂(x).

        A kernel that is nothing but rounding on these rows, as one that is centred is where they
        are all equal, has one feature, which is zero: no function of it is better than a constant.
        """
        if not factor.pivots.size:
            self.pivots_ = np.zeros(1, dtype=np.intp)
            self._landmarks, self._triangle = x[self.pivots_], np.ones((1, 1))
            return np.zeros((count(x), 1))
        self.pivots_ = factor.pivots
        self._landmarks, self._triangle = x[factor.pivots], factor.triangle
        return factor.columns

    def transform(self, X: Any) -> Array:
        """φ̂(X), one row per sample."""
        return self._whitened(self.rows_of(X))

    def rows_of(self, X: Any) -> Any:
        """X as the kernel takes it, with the columns of the fit."""
        check_is_fitted(self, "kernel_")
        if not self.kernel_.of_objects:
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.kernel_.rows(_doubled(X))

    def training_rows(self, X: Any) -> Any:
        """The rows of the fit as the kernel takes them."""
        return self.kernel_.rows(_doubled(X), training=True)

    def expansion(self, coefs: Array) -> Array:
        """R⁻ᵀw: the coefficients of a function in terms of k(landmark, x); coefs is (k, r)."""
        found: Array = solve_triangular(
            self._triangle, coefs.T, lower=True, trans="T", check_finite=False
        )
        return found

    def scores(self, X: Any, coefs: Array) -> Array:
        """φ̂(X)·w of every row for k models (k, r), without φ̂(X) itself: (n, k)."""
        return self.kernel_.times(self.rows_of(X), self._landmarks, self.expansion(coefs))

    @property
    def landmarks(self) -> Any:
        """The landmarks as the kernel takes them."""
        return self._landmarks

    @property
    def landmark_sizes(self) -> Array:
        """`Kernel.sizes` of the landmarks."""
        return self.kernel_.sizes(self._landmarks)

    def left_out(self, X: Any) -> Array:
        """k(x, x) − ‖φ̂(x)‖² of every row: what the span of the landmarks leaves out."""
        x = self.training_rows(X)
        rest = np.array(self.kernel_.diagonal(x), dtype=float)
        for some, kept in self._in_blocks(x):
            rest[some] -= np.einsum("ij,ij->i", kept, kept)
        return np.maximum(rest, 0.0)

    def _whitened(self, x: Any) -> Array:
        found = np.empty((count(x), self.rank_))
        for some, part in self._in_blocks(x):
            found[some] = part
        return found

    def _in_blocks(self, x: Any) -> Iterator[tuple[slice, Array]]:
        """φ̂ of some rows at a time."""
        for some, block in self.kernel_.blocks(x, self._landmarks):
            part = block.T.astype(float)
            yield some, solve_triangular(self._triangle, part, lower=True, check_finite=False).T

    def names(self, inputs: list[str]) -> Iterator[str]:
        """landmark0, landmark1, …."""
        return (f"landmark{j}" for j in range(self.rank_))

    def _input_names(self, given: Any) -> list[str]:
        return super()._input_names(given) if hasattr(self, "n_features_in_") else []

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns."""
        check_is_fitted(self, "kernel_")
        return np.asarray(list(self.names(self._input_names(input_features))), dtype=object)

    def __sklearn_tags__(self) -> Any:
        """What the kernel takes."""
        tags = super().__sklearn_tags__()
        kernel = REGISTRY.get(self.kernel)
        tags.input_tags.sparse, tags.input_tags.pairwise = kernel.takes_sparse, kernel.pairwise
        return tags


class PivotedCholesky(LowRank):
    r"""The features of a kernel on the rows of the fit, exact up to rounding.

    A pivoted Cholesky factorisation K ≈ LLᵀ stops when nothing but rounding of K remains, or at a
    given rank. The rows of L are features with the inner products K, so that a kernel machine is
    a linear model on L: this is what ``features=kernel`` of an estimator does.

    Parameters
    ----------
    kernel : Kernel or str
    rank : int, optional
        The most features; by default as many as 2 GB hold.

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> map = mm.features.PivotedCholesky(mm.RBF())
    >>> L = map.fit_transform(x)
    >>> bool(np.allclose(L @ L.T, mm.RBF()(x)))
    True
    >>> map.rank_ < 20
    True
    """

    def __init__(self, kernel: Any = "rbf", rank: int | None = None) -> None:
        self.kernel = kernel
        self.rank = rank

    def check_parameters(self) -> None:
        """A kernel, and a rank."""
        super().check_parameters()
        if self.rank is not None:
            check_count(self, "rank")

    @property
    def complete(self) -> bool:
        """Whether nothing but rounding of the kernel matrix is left out."""
        return self._complete

    @property
    def ended_by(self) -> str:
        """The time limit that ended the factorisation; empty if the rank or rounding did."""
        return self._ended_by

    def _factor(self, x: Any) -> Factor:
        n = count(x)
        most = self.rank if self.rank is not None else max(1, int(MEMORY / (8 * n)))
        factor = factorise(self.kernel_, x, min(n, int(most)), Greedy())
        self._complete, self._ended_by = factor.complete, factor.ended_by
        return checked(factor, self.kernel_, x)


def as_map(features: Any, X: Any, memory: float | None) -> Any:
    """What ``features=`` of an estimator stands for: a kernel, or its name, becomes a map."""
    if kernel_of(features) is None:
        return REGISTRY.get(features) if isinstance(features, str) else features
    if memory is None:
        return PivotedCholesky(features)
    return PivotedCholesky(features, max(1, int(memory / (8 * max(_num_samples(X), 1)))))


def _doubled(X: Any) -> Any:
    """X in double precision, in which factors of kernel matrices are computed."""
    single = getattr(X, "dtype", None) == np.float32
    return (
        X.astype(np.float64) if single and (isinstance(X, np.ndarray) or sparse.issparse(X)) else X
    )
