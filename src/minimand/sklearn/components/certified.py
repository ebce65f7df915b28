"""Decompositions that scikit-learn computes itself, with certificates of what they found."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from sklearn import decomposition, get_config, manifold
from sklearn.utils import check_random_state
from sklearn.utils._arpack import _init_arpack_v0
from sklearn.utils.extmath import _deterministic_vector_sign_flip, svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues, validate_data

from ..._base.eigenvalues import largest_eigenpairs
from ..._base.linear_system import EPS
from ..._base.threads import lapack_threads
from ..._base.typing import Array, ArrayLike
from ...certificate import Certificate, bounded
from ...certificate.eigenvalues.relaxation import TopSum, top_of_kernel, top_of_normalised
from ...reverse.finite_squares import in_range_as_given
from .embedded import leading, leading_of_kernel
from .linear_kernel import LinearFound, LinearKernel, linear_components, suits
from .rows_so_far import RowsSoFar

# Affinities that scikit-learn has made symmetric.
_SYMMETRIC = ("nearest_neighbors", "precomputed_nearest_neighbors", "rbf")
_ULPS = 4.0  # of what centring subtracts, for each row; safeguard
_FEW_ROWS, _MANY = 200, 10  # rows and components of a dense search; convention: scikit-learn's
_COLUMNS = 2000  # of data that are kept or summed beside scikit-learn's updates; safeguard


class IncrementalPCA(decomposition.IncrementalPCA):
    """PCA in batches, as `sklearn.decomposition.IncrementalPCA`, with a certificate.

    scikit-learn merges each batch into the components so far and truncates; what is cut off is
    lost. The certificate says how much that cost: with up to 2000 columns, the rows are kept beside
    it while they are fewer than the columns, and then the sum of their products.
    (`minimand.PCA.partial_fit` finds the components from such sums.)

    Parameters
    ----------
    n_components, whiten, copy, batch_size
        As in scikit-learn.

    Attributes
    ----------
    components_, explained_variance_, …
        As in scikit-learn.
    certificate_ : Certificate
        Of the mean ½‖x − x̂‖² of all rows so far; see `minimand.PCA`.

    Examples
    --------
    >>> from minimand.sklearn import IncrementalPCA
    >>> from sklearn.datasets import load_digits
    >>> X, _ = load_digits(return_X_y=True)
    >>> IncrementalPCA(7, batch_size=200).fit(X).certificate_.relative < 0.02
    True
    """

    certificate_: Certificate
    _sums: RowsSoFar | None = None
    _in_fit = False

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit in batches of ``batch_size`` rows."""
        X = in_range_as_given(X, reset=True)
        self._sums, self._in_fit = None, True
        overwritten = not self.copy and isinstance(X, np.ndarray)
        rows = np.copy(X) if overwritten else X
        try:
            super().fit(X, y)
        finally:
            del self._in_fit
        self._add(rows, first=True)
        self._certify()
        return self

    def partial_fit(self, X: ArrayLike, y: Any = None, check_input: bool = True) -> Self:
        """Merge one more batch into the components."""
        if self._in_fit:  # `fit` adds all rows at once
            super().partial_fit(X, y, check_input=check_input)
            return self
        X = in_range_as_given(X, reset=False)
        first = not getattr(self, "n_samples_seen_", 0)
        rows: Any = None if sparse.issparse(X) else np.array(X, dtype=float)
        super().partial_fit(X, y, check_input=check_input)
        self._add(rows, first=first)
        self._certify()
        return self

    def _add(self, X: Any, *, first: bool) -> None:
        """Add rows to those so far; the first ones begin anew."""
        rows = X if sparse.issparse(X) else np.asarray(X, dtype=float)
        if first:
            self._sums = RowsSoFar(rows.shape[1]) if rows.shape[1] <= _COLUMNS else None
        if self._sums is not None:
            self._sums.add(rows)

    def _certify(self) -> None:
        n = float(self.n_samples_seen_)
        words = "mean ½‖x − x̂‖², x̂ the projection of x onto the components"
        whole = float(np.sum(self.var_, dtype=float))
        if self._sums is None:
            # What was cut off is positive semidefinite: at least this is kept.
            kept = float(np.sum(np.square(self.singular_values_, dtype=float))) / n
            reason = "the rows before are not known any more, so that no bound above 0 is known"
            self.certificate_ = bounded(
                0.5 * max(whole - kept, 0.0),
                0.0,
                0.5 * whole,
                objective=words,
                infeasibility=reason,
            )
            return
        lost = self._sums.lost(np.asarray(self.components_, dtype=float).T)
        error, best, total, rounding = (0.5 / n * found for found in lost)
        self.certificate_ = bounded(error, best, total, rounding, objective=words)


class KernelPCA(decomposition.KernelPCA):
    """Kernel PCA, as `sklearn.decomposition.KernelPCA`, with a certificate.

    scikit-learn finds the eigenvectors, but for the linear kernel of few columns, whose
    eigenvectors follow from products of columns. The certificate compares what they keep with a
    bound of what any directions could keep. `minimand.KernelPCA` has weights, kernels of all
    kinds, large n and pre-images by a fixed point.

    Parameters
    ----------
    n_components, kernel, gamma, …
        As in scikit-learn.

    Attributes
    ----------
    eigenvalues_, eigenvectors_, …
        As in scikit-learn.
    certificate_ : Certificate
        Of the mean ½‖φ(x) − φ̂(x)‖².

    Examples
    --------
    >>> from minimand.sklearn import KernelPCA
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> KernelPCA(2, kernel="rbf").fit(X).certificate_.relative < 1e-9
    True
    """

    certificate_: Certificate

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the components."""
        self._begun = True
        try:
            super().fit(X, y)
        finally:
            self.__dict__.pop("_begun", None)
        return self

    def _get_kernel(self, X: Any, Y: Any = None) -> Any:
        """The kernel matrix; in its place, for the first one of a fit, rows that tell as much."""
        if self.__dict__.pop("_begun", False) and suits(self.kernel, X, self.n_components):
            return LinearKernel(X)
        return super()._get_kernel(X, Y)

    def _fit_transform_in_place(self, K: Any) -> Any:
        """The eigenvectors, from rows that tell as much as the matrix or from all pairs."""
        if isinstance(K, LinearKernel):
            found = linear_components(K.rows, int(self.n_components))
            if found is not None:
                self._take(found)
                return None
            K = super()._get_kernel(K.rows)
        with lapack_threads(len(K)):  # SciPy's and NumPy's would wait for each other in turns
            return self._found_and_judged(K)

    def _found_and_judged(self, K: Any) -> Any:
        """The eigenvectors of the centred matrix of all pairs, judged by it."""
        near: Array | None = None
        if self._takes_products(K):
            centred, near = self._by_products(K)
        else:
            centred = super()._fit_transform_in_place(K)
        matrix = np.asarray(K if centred is None else centred, dtype=float)
        self._complete(matrix)
        vectors = np.asarray(self.eigenvectors_, dtype=float)
        k, total = vectors.shape[1], float(np.trace(matrix))
        if k == 0:
            self._certify(total, 0.0, 0.0, 0.0)
            return centred
        kept = float(np.vdot(vectors.T, vectors.T @ matrix))
        if callable(self.kernel) or self.kernel == "precomputed":
            matrix = 0.5 * (matrix + matrix.T)  # others are symmetric, up to rounding
        if near is not None:
            near = np.column_stack([vectors, near])
        top = top_of_kernel(matrix, k, start=vectors if near is None else near)
        bound = top.attained if top.exact else top.bound
        # Centring subtracts means of this size, whose rounding stays.
        largest = float(np.abs(self._centerer.K_fit_rows_).max())
        rounding = top.rounding + _ULPS * EPS * len(matrix) * (k + 1) * largest
        self._certify(total, kept, bound, rounding, certain=top.certain)
        return centred

    def _takes_products(self, K: Array) -> bool:
        """Whether scikit-learn takes Lanczos' method, and the matrix is known to be symmetric."""
        if callable(self.kernel) or self.kernel == "precomputed" or self.n_components is None:
            return False
        if not (K.dtype == np.float64 and K.flags.c_contiguous and self.n_components < len(K)):
            return False
        few = self.eigen_solver == "auto" and len(K) > _FEW_ROWS and self.n_components < _MANY
        return few or bool(self.eigen_solver == "arpack")

    def _by_products(self, K: Array) -> tuple[Array, Array]:
        """The eigenvectors as scikit-learn finds them, and about one more, in less time."""
        K = self._centerer.fit(K).transform(K, copy=False)
        begin = _init_arpack_v0(len(K), self.random_state)
        k = int(self.n_components)
        values, vectors, near = leading_of_kernel(K, k, self.tol, self.max_iter, begin)
        values = _check_psd_eigenvalues(values, enable_warnings=False)
        order = values.argsort()[::-1]
        values, vectors = values[order], svd_flip(vectors, None)[0][:, order]
        kept = (values > 0) | (not self.remove_zero_eig)
        self.eigenvalues_, self.eigenvectors_ = values[kept], vectors[:, kept]
        return K, near

    def _complete(self: Any, matrix: Array) -> None:
        """Find eigenvectors that LAPACK has left out in silence: many eigenvalues are equal."""
        if self.n_components is None or self.remove_zero_eig:
            return  # all are found in another way, or those of zero are left out
        count = min(int(self.n_components), len(matrix))
        if self.eigenvectors_.shape[1] < count:
            values, vectors = largest_eigenpairs(matrix, count)
            self.eigenvalues_ = np.maximum(values[::-1], 0.0)
            self.eigenvectors_ = svd_flip(vectors[:, ::-1], None)[0]

    def _take(self, found: LinearFound) -> None:
        self.eigenvalues_, self.eigenvectors_ = found.values, svd_flip(found.vectors, None)[0]
        self._centerer.K_fit_rows_, self._centerer.K_fit_all_ = found.sums, found.mean
        self._centerer.n_features_in_ = found.sums.size
        bound = float(found.values.sum())
        self._certify(found.total, found.kept, bound, found.rounding)

    def _certify(
        self, total: float, kept: float, bound: float, rounding: float, *, certain: bool = True
    ) -> None:
        scale = 0.5 / self._centerer.n_features_in_
        self.certificate_ = bounded(
            scale * (total - kept),
            scale * (total - max(bound, kept)),
            scale * total,
            scale * rounding,
            objective="mean ½‖φ(x) − φ̂(x)‖², φ̂ the projection of φ onto the components",
            certain=certain,
        )


class SpectralEmbedding(manifold.SpectralEmbedding):
    """Spectral embedding, as `sklearn.manifold.SpectralEmbedding`, with a certificate.

    The eigenvectors are scikit-learn's, or the same without a factorisation of the Laplacian where
    products with the graph find them. Affinities of a row to itself do not count, as in its
    Laplacian. `minimand.NormalizedPCA` also embeds new rows.

    Parameters
    ----------
    n_components, affinity, gamma, …
        As in scikit-learn.

    Attributes
    ----------
    embedding_, affinity_matrix_
        As in scikit-learn.
    certificate_ : Certificate
        Of k + 1 − tr ỸᵀK̃Ỹ for the outputs and the constant one, K̃ the normalised affinities.

    Examples
    --------
    >>> from minimand.sklearn import SpectralEmbedding
    >>> from sklearn.datasets import load_digits
    >>> X, _ = load_digits(return_X_y=True)
    >>> SpectralEmbedding(random_state=0).fit(X[:200]).certificate_.relative < 1e-6
    True
    """

    certificate_: Certificate

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Embed the rows."""
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", ensure_min_samples=2)
        rng = check_random_state(self.random_state)
        whole = self._get_affinity_matrix(X)
        affinity = _without_diagonal(whole)
        if self.affinity not in _SYMMETRIC:  # scikit-learn makes it so
            affinity = 0.5 * (affinity + affinity.T)
        degrees = np.asarray(affinity.sum(axis=1), dtype=float).ravel()
        usable = bool((degrees > 0).all()) and float(affinity.min()) >= 0
        k, near = self.n_components, None
        if usable and self.affinity in _SYMMETRIC and self.eigen_solver in (None, "arpack"):
            near = leading(affinity, degrees, k + 1, rng)
        if near is not None:
            rows = (near[:, : k + 1] / np.sqrt(degrees)[:, None]).T
            found = _deterministic_vector_sign_flip(rows)[1:].T
            self.embedding_ = found.astype(whole.dtype, copy=False)
        else:
            how = {"eigen_solver": self.eigen_solver, "eigen_tol": self.eigen_tol}
            try:
                self.embedding_ = manifold.spectral_embedding(
                    whole, n_components=k, random_state=rng, **how
                )
            except TypeError as error:
                if k < X.shape[0] - 1:
                    raise
                raise ValueError(
                    f"n_components={k} must be below n_samples − 1 = {X.shape[0] - 1} for sparse "
                    "affinities: ask for fewer components, or give more data."
                ) from error
        self.certificate_ = self._judged(affinity, degrees, usable, near)
        return self

    def _judged(
        self, affinity: Any, degrees: Array, usable: bool, near: Array | None
    ) -> Certificate:
        words = "k + 1 − tr ỸᵀK̃Ỹ, K̃ = Λ^-½KΛ^-½ and Ỹ orthonormal"
        k = self.embedding_.shape[1]
        if not usable:
            reason = "a row has no affinity to any other, or a negative one"
            return bounded(k + 1.0, -np.inf, k + 1.0, objective=words, infeasibility=reason)
        root = np.sqrt(degrees)
        outputs = np.column_stack([root, np.asarray(self.embedding_) * root[:, None]])
        basis: Array = linalg.qr(outputs, mode="economic", check_finite=False)[0]
        image = np.asarray(affinity @ (basis / root[:, None])) / root[:, None]
        kept = float(np.vdot(basis, image))
        top: TopSum = top_of_normalised(affinity, k + 1, start=basis if near is None else near)
        bound = top.attained if top.exact else top.bound
        dual = k + 1 - max(bound, kept)
        return bounded(
            k + 1 - kept, dual, k + 1.0, top.rounding, objective=words, certain=top.certain
        )


def _without_diagonal(affinity: Any) -> Any:
    if sparse.issparse(affinity):
        found = sparse.csr_array(affinity, dtype=float, copy=True)
        found.setdiag(0.0)
        return found
    found = np.array(affinity, dtype=float)
    np.fill_diagonal(found, 0.0)
    return found
