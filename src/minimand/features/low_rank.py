"""Kernels as features: coordinates in the span of some rows, all of them or a chosen few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from .._base.parameters import check_count
from .._base.typing import Array, IntArray
from ..kernels import REGISTRY, Kernel, kernel_of
from ..kernels.rows import count
from ..kernels.vectors import VectorKernel
from .base import Features
from .pivoted_cholesky import Factor, Greedy, Random, checked, factorise

MEMORY = 2e9  # bytes of the factor of a kernel matrix by default; safeguard
_METHODS = ("rpcholesky", "uniform", "kmeans")


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
        k(x, x) − ‖φ̂(x)‖² of the rows of the fit: what the span leaves out.
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
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Choose the landmarks and give φ̂(X)."""
        return self._learnt(self._bound_rows(X))

    def _bound_rows(self, X: Any) -> Any:
        """The rows of the fit as the kernel takes them, with what it takes from them."""
        self.check_parameters()
        if not REGISTRY.get(self.kernel).of_objects:
            validate_data(self, X, reset=True, skip_check_array=True)
        X = _doubled(X)
        self.kernel_ = REGISTRY.get(self.kernel).bind(X)
        return self.kernel_.rows(X, training=True)

    def _learnt(self, x: Any) -> Array:
        """φ̂ of the rows of the fit, with the landmarks among them."""
        factor = self._factor(x)
        if not factor.pivots.size:
            raise ValueError(
                f"{self.kernel_!r} is zero for all rows, up to rounding: there is nothing to learn."
            )
        self.pivots_, self.remainder_ = factor.pivots, factor.remainder
        self.sizes_ = factor.sizes
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
        kept = self._whitened(x)
        rest = self.kernel_.diagonal(x) - np.einsum("ij,ij->i", kept, kept)
        return np.maximum(rest, 0.0)

    def _whitened(self, x: Any) -> Array:
        found = np.empty((count(x), self.rank_))
        for some, block in self.kernel_.blocks(x, self._landmarks):
            found[some] = solve_triangular(
                self._triangle, block.T.astype(float), lower=True, check_finite=False
            ).T
        return found

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


class Nystrom(LowRank):
    r"""A kernel of low rank, from some rows as landmarks, for large n.

    .. math:: \hat k(x, z) = k(x, P)\,k(P, P)^{-1}\,k(P, z)

    `minimand.certify` with ``against="exact"`` bounds what a model on these features loses against
    the kernel itself.

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
    rank : int, default=100
        The most landmarks; fewer, if these leave nothing but rounding.
    method : {"rpcholesky", "uniform", "kmeans"}, default="rpcholesky"
        Rows drawn in proportion to what the ones before them leave out (randomly pivoted
        Cholesky), rows drawn evenly, or centres of clusters.
    random_state : int or RandomState, optional
        Seed of the choice.

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> map = mm.Nystrom(mm.RBF(2.0), rank=40, random_state=0).fit(x)
    >>> float(map.remainder_.max()) < 0.01
    True
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        rank: int = 100,
        method: str = "rpcholesky",
        *,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.rank = rank
        self.method = method
        self.random_state = random_state

    def check_parameters(self) -> None:
        """A kernel, a rank and a known method."""
        super().check_parameters()
        check_count(self, "rank")
        if self.method not in _METHODS:
            raise ValueError(
                f"method of Nystrom must be one of {list(_METHODS)}, not {self.method!r}."
            )
        if self.method == "kmeans" and not isinstance(REGISTRY.get(self.kernel), VectorKernel):
            raise ValueError(
                f"method='kmeans' of Nystrom takes centres of vectors, which {self.kernel!r} does "
                "not compare: take 'rpcholesky' or 'uniform'."
            )

    def _factor(self, x: Any) -> Factor:
        rng = check_random_state(self.random_state)
        return factorise(self.kernel_, x, min(count(x), int(self.rank)), Random(rng))

    def _learnt(self, x: Any) -> Array:
        if self.method == "rpcholesky":
            return super()._learnt(x)
        n, rng = count(x), check_random_state(self.random_state)
        rank = min(n, int(self.rank))
        chosen = None
        if self.method == "uniform":
            chosen = np.sort(rng.permutation(n)[:rank])
            marks = x[chosen]
        else:
            marks = KMeans(rank, n_init=1, random_state=rng).fit(x).cluster_centers_
        factor = factorise(self.kernel_, marks, rank, Greedy())
        self.pivots_ = None if chosen is None else chosen[factor.pivots]
        self._landmarks, self._triangle = marks[factor.pivots], factor.triangle
        found = self._whitened(x)
        rest = self.kernel_.diagonal(x) - np.einsum("ij,ij->i", found, found)
        self.remainder_ = np.maximum(rest, 0.0)
        return found


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
