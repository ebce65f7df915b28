"""`NormalizedPCA`: spectral embedding, the components of a normalised kernel."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._base.parameters import check_count as check_integer
from ..._base.threads import one_blas_thread
from ..._base.typing import AnyArray, Array, ArrayLike
from ..._base.watch import undisturbed
from ...certificate import Certificate
from ...features.nystrom import Nystrom
from ...kernels import REGISTRY
from ...kernels.rows import count
from ..base import Course, FitsRows, Limits
from ..factors import factor_of
from ..rows import in_double, kernel_rows, refuse_rows_apart, row_weights, tell_kernel
from .normalized_fits import (
    EXACT,
    Normalized,
    Spectral,
    by_eigenvalues,
    concluded,
    ritz_points,
)
from .rows import precision, rows_to_keep

FORMULA = "k − tr ỸᵀK̃Ỹ, K̃ = Λ^-½KΛ^-½ and Ỹ orthonormal, off the constant component"
_FACTOR = ", with the values LLᵀ of a factor in place of K"
_METHODS = ("auto", "exact", "krylov", "low_rank")
_MEMORY = 2e9  # bytes of a kernel matrix by default; safeguard
_RANK = 500  # landmarks where the matrix would be larger; safeguard
_FAINT = 1e-12  # eigenvalue, below which new rows get the output 0; safeguard


class NormalizedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FitsRows):
    r"""Normalised PCA, also called spectral embedding or Laplacian eigenmaps.

    .. math:: \max_{\tilde Y^\top \tilde Y = I} \mathrm{tr}\,\tilde Y^\top \tilde K \tilde Y,
              \qquad \tilde K = \Lambda^{-1/2} K \Lambda^{-1/2}, \quad \Lambda = \Delta(K 1)

    The outputs are :math:`Y = \Lambda^{-1/2}\tilde Y`, for the top eigenvectors Ỹ of K̃. The top one
    of all has the eigenvalue 1, and its output is the same for every row; it is dropped. Rows that
    are joined by large affinities get similar outputs, so that clusters of any shape come apart:
    `NormalizedCut` finds clusters in these outputs.

    A new row x gets Σᵢ k(x, xᵢ)·yᵢ/(μ·Σᵢ k(x, xᵢ)) for the eigenvalue μ; that gives the outputs of
    the rows of the fit themselves.

    Parameters
    ----------
    n_components : int, default=2
        Components besides the constant one.
    kernel : Kernel or str, default="rbf"
        With values ≥ 0. "precomputed": X is a matrix of affinities, symmetric with entries ≥ 0,
        dense or sparse (of nearest neighbours, say); it need not be positive semidefinite.
    method : {"auto", "exact", "krylov", "low_rank"}, default="auto"
        All eigenvalues of the matrix; a block Krylov space; or a factor LLᵀ of the kernel matrix
        from ``rank`` landmarks, for many rows. "auto" is the first of these that is quick enough.
    rank : int, default=500
        Landmarks of "low_rank".
    tol : float, default=1e-6
        Relative gap at which "krylov" ends.
    max_seconds, random_state, verbose, callbacks
        As in `PCA`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The outputs of the rows of the fit, in units in which Σ sᵢλᵢyᵢ² = 1; NaN for rows of weight
        zero without affinity to any other.
    eigenvalues_ : ndarray of shape (n_components,)
        μ, at most 1. As many of them are 1 as there are parts without affinity to each other, less
        one.
    kernel_ : Kernel
    n_samples_ : int
    method_ : str
    certificate_ : Certificate
        Of k − Σμ, which is the least normalised cut if clusters are relaxed to any outputs; kind
        "global". With "low_rank" of the same for LLᵀ; `minimand.certify` compares with K itself.
    history_ : History
    n_iter_ : int

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> model = mm.NormalizedPCA(1, mm.RBF(tau=0.15)).fit(X)
    >>> float(((model.embedding_[:, 0] > 0) == y).mean()) in (0.0, 1.0)     # the moons
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        kernel: Any = "rbf",
        *,
        method: str = "auto",
        rank: int = _RANK,
        tol: float = 1e-6,
        **limits: Unpack[Limits],
    ) -> None: ...

    # Fitting ---------------------------------------------------------------------------------

    def _find(self, X: Any, sample_weight: ArrayLike) -> None:
        """Find the components."""
        self._check_parameters()
        X, kind = rows_to_keep(self, X)
        n = count(X)
        weights = row_weights(sample_weight, n)
        n = int(np.count_nonzero(weights))
        if self.n_components >= n:
            rows = "n_samples" if n == weights.size else "the number of rows of positive weight"
            raise ValueError(
                f"n_components={self.n_components} must be below {rows}={n}, since one more "
                "component is constant: ask for fewer components, or give more data."
            )
        method = self._chosen(X, n)
        formula = FORMULA + (_FACTOR if method == "low_rank" else "")
        with Course(self, formula, X, solver=method) as course:
            problem = self._problem(X, weights, course.history.solver)
            found = self._found(problem, course)
            self._store(problem, found, weights, course)
            self.embedding_ = self._outputs(problem, found, X, weights).astype(kind)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike = None) -> AnyArray:
        """Find the components, and give the outputs of the rows."""
        return self.fit(X, y, sample_weight).embedding_.copy()

    def _check_parameters(self) -> None:
        self._check_limits()
        check_integer(self, "n_components")
        check_integer(self, "rank")
        REGISTRY.get(self.kernel).check_parameters()
        if self.method not in _METHODS:
            raise ValueError(f"method must be one of {list(_METHODS)}, not {self.method!r}.")

    def _chosen(self, X: Any, n: int) -> str:
        if self.method != "auto":
            return str(self.method)
        if n <= EXACT:
            return "exact"
        whole = REGISTRY.get(self.kernel).pairwise or 8.0 * n * n <= _MEMORY
        return "krylov" if whole else "low_rank"

    def _problem(self, X: Any, weights: Array, method: str) -> Normalized:
        """K, or a factor of it, of the rows of positive weight; and what new rows need."""
        kernel = REGISTRY.get(self.kernel)
        kept = np.flatnonzero(weights)
        part = slice(None) if kept.size == weights.size else kept
        self.__dict__.pop("_features", None)
        if method == "low_rank":
            if kernel.pairwise and sparse.issparse(X):
                raise ValueError("method='low_rank' takes no sparse affinities: take 'krylov'.")
            self._features = Nystrom(kernel, int(self.rank), random_state=self.random_state)
            factor = factor_of(self._features, X, weights).columns
            self.kernel_ = self._features.kernel_
            return Normalized.of(factor[part], weights[part], factor=True)
        self.kernel_ = kernel.bind(X, weights)
        if kernel.pairwise:
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"X must be a square matrix of affinities, not of shape {X.shape}."
                )
            return Normalized.of(X[part][:, part], weights[part])
        rows = self.kernel_.rows(X, training=True)
        self._rows = rows if kept.size == weights.size else rows[kept]
        gram = np.asarray(self.kernel_.gram(self._rows), dtype=float)
        return Normalized.of(gram, weights[part])

    def _found(self, problem: Normalized, course: Course) -> Spectral:
        k = int(self.n_components)
        if course.history.solver == "exact":
            found = by_eigenvalues(problem, k)
            course.record(k - float(found.values.sum()), k - found.bound)
            return found
        if sparse.issparse(problem.values):  # BLAS would be in the way of the products
            with one_blas_thread():
                return self._searched(problem, course)
        return self._searched(problem, course)

    def _searched(self, problem: Normalized, course: Course) -> Spectral:
        """By a Krylov space."""
        k = int(self.n_components)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        start, test = (np.random.RandomState(seed) for seed in seeds)
        ritz = course.follow(ritz_points(problem, k, start, float(self.tol)))
        with undisturbed():
            passes, stopped = float(len(course.history)), course.stops()
            return concluded(problem, ritz, k, test, float(self.tol), passes, stopped=stopped)

    def _store(self, problem: Normalized, found: Spectral, weights: Array, course: Course) -> None:
        k = int(self.n_components)
        outputs = found.outputs(problem)
        self.eigenvalues_ = found.values
        # What new rows are multiplied by: weighted outputs over μ, and the weights themselves.
        faint = np.abs(found.values) <= _FAINT
        weighted = problem.weights[:, None] * outputs / np.where(faint, np.inf, found.values)
        self._weighted = np.column_stack([weighted, problem.weights])
        if problem.factor:
            self._weighted = problem.values.T @ self._weighted
        elif self.kernel_.pairwise and len(weighted) < weights.size:
            narrow, self._weighted = self._weighted, np.zeros((weights.size, k + 1))
            self._weighted[np.flatnonzero(weights)] = narrow
        self.n_samples_ = weights.size
        self.method_, self.n_iter_ = course.history.solver, max(course.iterations, 1)
        primal, dual = k - float(found.values.sum()), k - found.bound
        self.certificate_ = course.certificate(
            primal, dual, "global", found.rounding, float(k), certain=found.certain
        )
        course.history.end(primal, dual, max(primal - dual, 0.0))
        self.history_ = course.history

    def _outputs(self, problem: Normalized, found: Spectral, X: Any, weights: Array) -> Array:
        """The outputs of all rows of the fit; those of weight zero are treated as new rows."""
        known = found.outputs(problem)
        if len(known) == weights.size:
            return known
        outputs = self._transformed(X, refuse=False)
        outputs[np.flatnonzero(weights)] = known
        return outputs

    # Using the model -------------------------------------------------------------------------

    def transform(self, X: Any) -> AnyArray:
        """The outputs of other rows, from their affinities to the rows of the fit."""
        check_is_fitted(self, "embedding_")
        X = kernel_rows(self, X, self.kernel_, reset=False)
        return self._transformed(in_double(X)).astype(precision(X))

    def _transformed(self, X: Any, *, refuse: bool = True) -> Array:
        if "_features" in vars(self):
            sums = self._features.scores(X, self._weighted.T)
        elif self.kernel_.pairwise:
            sums = np.asarray(X @ self._weighted, dtype=float)
        else:
            sums = self.kernel_.times(self.kernel_.rows(X), self._rows, self._weighted)
        whole = sums[:, -1:]
        if refuse:
            refuse_rows_apart(whole[:, 0], "outputs")
        whole[~(whole > 0)] = np.nan
        return np.asarray(sums[:, :-1] / whole)

    def judged(self, X: Any, sample_weight: ArrayLike = None) -> Certificate:
        """The certificate of the outputs of the rows of the fit, computed anew."""
        from .judged import of_embedding

        check_is_fitted(self, "embedding_")
        return of_embedding(self, FORMULA, X, sample_weight)

    def plot(self, ax: Any = None) -> Any:
        """The rows along the first two components."""
        check_is_fitted(self, "embedding_")
        from ...report.components import plot_outputs

        return plot_outputs(self.embedding_, ax)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        """What the kernel takes."""
        tags = super().__sklearn_tags__()
        tell_kernel(tags, self.kernel)
        tags.input_tags.sparse = tags.input_tags.sparse or tags.input_tags.pairwise
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
