"""`KernelPCA`: principal components of the features of a kernel, also for new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._base.parameters import check_count as check_integer
from ..._base.typing import AnyArray, Array, ArrayLike
from ..._base.watch import StoppedError, interrupt, undisturbed
from ...certificate import Certificate
from ...features.low_rank import MEMORY, PivotedCholesky
from ...features.nystrom import Nystrom
from ...kernels import REGISTRY, Kernel
from ...kernels.rows import count
from ..base import Course, FitsRows, Limits
from ..rows import in_double, kernel_rows, row_weights, tell_kernel
from .kernel_fits import KernelFound, of_a_factor, of_all_values, outputs_of
from .pre_image import PreImages, check_pre_image
from .rows import checked_outputs, precision, rows_to_keep
from .spectrum import check_against, check_count

FORMULA = "mean ½‖φ(x) − φ̂(x)‖², φ̂ the projection of φ onto the components"
_METHODS = ("auto", "exact", "low_rank")
_EXACT = 2000  # rows, up to which "auto" takes all values of the kernel; safeguard: seconds
_RANK = 1000  # columns of a factor by default; safeguard: seconds
_FEW = 50  # landmarks of a model for a fit that was stopped before it had any; safeguard


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FitsRows):
    r"""Principal components of the features φ(x) of a kernel.

    .. math:: \min_{B, Y} \tfrac12 \mathrm{tr}\,(I - YB)\,K\,(I - YB)^\top

    The best outputs Y are the top eigenvectors of K, or of HKH with H = I − 11ᵀ/n: the kernel
    matrix of features from which their mean is subtracted. With the linear kernel this is `PCA`.
    New rows are projected onto the components by ``transform``: their outputs are combinations of
    k(xᵢ, x).

    Parameters
    ----------
    n_components : int, float in (0, 1), "auto" or None, default=2
        As in `PCA`.
    kernel : Kernel or str, default="rbf"
        Any kernel, also one of strings, trees or graphs; "precomputed" if X is a kernel matrix.
    center : bool, default=True
        Whether the mean of the features is subtracted.
    method : {"auto", "exact", "low_rank"}, default="auto"
        Eigenvalues of the whole kernel matrix, or of a factor LLᵀ of it of low rank, for many
        rows; what that leaves out is charged to the certificate. "auto" is exact up to 2000 rows,
        unless ``rank`` is given.
    rank : int, optional
        Columns of L: that many rows are chosen by randomly pivoted Cholesky, as in `Nystrom`. By
        default a pivoted Cholesky factorisation goes on until nothing but rounding is left, or
        until it has 1000 columns.
    pre_image : {"auto", "fixed_point", "ridge"}, default="auto"
        How ``inverse_transform`` finds a row for given outputs: by a fixed-point iteration (RBF
        kernel, and its default), or by kernel ridge regression from outputs to rows.
    tol : float, default=1e-6
        Not used by the methods above, which are direct.
    max_seconds, random_state, verbose, callbacks
        As in `PCA`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Of S^½HKHᵀS^½, S the weights.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in `PCA`, in the space of the features.
    spectrum_ : ndarray or None
        The variances of all directions, where the method knows them.
    kernel_ : Kernel
        The kernel with what it takes from the data.
    n_components_, n_samples_ : int
    method_ : str
    certificate_ : Certificate
        Of the mean ½‖φ(x) − φ̂(x)‖²; kind "global".
    history_ : History
    n_iter_ : int

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> model = mm.KernelPCA(2, mm.RBF(tau=0.5)).fit(X)
    >>> Y = model.transform(X)
    >>> bool(abs(Y[y == 1, 0].mean() - Y[y == 0, 0].mean()) > 0.5)    # the circles come apart
    True
    """

    kernel_: Kernel

    def __init__(
        self,
        n_components: Any = 2,
        kernel: Any = "rbf",
        *,
        center: bool = True,
        method: str = "auto",
        rank: int | None = None,
        pre_image: str = "auto",
        tol: float = 1e-6,
        **limits: Unpack[Limits],
    ) -> None: ...

    # Fitting ---------------------------------------------------------------------------------

    def _find(self, X: Any, sample_weight: ArrayLike) -> None:
        """Find the components."""
        self._check_parameters()
        X, kind = rows_to_keep(self, X)
        n = count(X)
        check_against(self.n_components, n, n, "n_samples")
        weights = row_weights(sample_weight, n)
        kernel = REGISTRY.get(self.kernel).bind(X, weights)
        rows = kernel.rows(X, training=True)
        method = self._chosen(n)
        with Course(self, FORMULA, X, solver=method) as course:
            found = self._found(kernel, X, rows, weights, method, course)
            self.kernel_, self.method_, self._kind = kernel, method, kind
            self._components, self._rows, self._centred = found, X, bool(self.center)
            self._pre_image = self.pre_image
            self._store(found, weights, course)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike = None) -> AnyArray:
        """Find the components, and give the outputs of the rows."""
        self.fit(X, y, sample_weight)
        return self._components.outputs.astype(self._kind)

    def _check_parameters(self) -> None:
        self._check_limits()
        check_count(self.n_components)
        kernel = REGISTRY.get(self.kernel)
        kernel.check_parameters()
        check_pre_image(self.pre_image, kernel)
        if self.method not in _METHODS:
            raise ValueError(f"method must be one of {list(_METHODS)}, not {self.method!r}.")
        if self.rank is not None:
            check_integer(self, "rank")

    def _chosen(self, n: int) -> str:
        if self.method != "auto":
            return str(self.method)
        return "exact" if n <= _EXACT and self.rank is None else "low_rank"

    def _found(
        self, kernel: Kernel, X: Any, rows: Any, weights: Array, method: str, course: Course
    ) -> KernelFound:
        """The components; those in the span of a few rows if the fit was stopped before."""
        scale = 0.5 / float(weights.sum())

        def points() -> Any:
            if method == "exact":
                found = self._of_all_values(kernel, rows, weights)
            else:
                n = count(rows)
                most = max(1, min(_RANK, int(MEMORY / (8 * n))))
                features: Any = PivotedCholesky(kernel, most)
                if self.rank is not None:
                    features = Nystrom(kernel, int(self.rank), random_state=self.random_state)
                found = of_a_factor(features, X, weights, self.n_components, bool(self.center))
            yield found, scale * found.error, scale * found.least

        try:
            return course.follow(points())
        except (StoppedError, KeyboardInterrupt) as stop:
            if isinstance(stop, KeyboardInterrupt):
                interrupt()
        with undisturbed():
            few = Nystrom(kernel, _FEW, random_state=self.random_state)
            found = of_a_factor(few, X, weights, self.n_components, bool(self.center))
        course.record(scale * found.error, scale * found.least)
        return found

    def _of_all_values(self, kernel: Kernel, rows: Any, weights: Array) -> KernelFound:
        """Rows of weight zero are left out, and get their outputs afterwards."""
        kept = np.flatnonzero(weights)
        if kept.size == weights.size:
            return of_all_values(kernel, rows, weights, self.n_components, bool(self.center))
        check_against(self.n_components, kept.size, kept.size, "rows of positive weight")
        part = of_all_values(kernel, rows[kept], weights[kept], self.n_components, self.center)
        return replace(part, outputs=outputs_of(part, kernel, rows))

    def _store(self, found: KernelFound, weights: Array, course: Course) -> None:
        total = float(weights.sum())
        self.eigenvalues_ = found.values
        self.explained_variance_ = found.values / total
        self.explained_variance_ratio_ = found.values / (found.total or 1.0)
        self.spectrum_ = None if found.spectrum is None else found.spectrum / total
        self.n_components_, self.n_samples_ = found.values.size, weights.size
        self.history_, self.n_iter_ = course.history, 1
        scale = 0.5 / total
        self.certificate_ = course.certificate(
            scale * found.error,
            scale * found.least,
            "global",
            scale * found.rounding,
            scale * found.total,
        )

    # Using the model -------------------------------------------------------------------------

    def transform(self, X: Any) -> AnyArray:
        """The outputs Y of other rows: their projections onto the components."""
        check_is_fitted(self, "certificate_")
        X = kernel_rows(self, X, self.kernel_, reset=False)
        kind = precision(X)
        rows = self.kernel_.rows(in_double(X))
        return outputs_of(self._components, self.kernel_, rows).astype(kind)

    def inverse_transform(self, Y: ArrayLike) -> AnyArray:
        """Rows whose features are close to what outputs stand for: pre-images, for denoising."""
        check_is_fitted(self, "certificate_")
        outputs = checked_outputs(Y, self.n_components_).astype(float)
        found = PreImages(self.kernel_, self._components, self._rows, self._pre_image)
        return found(outputs).astype(self._kind)

    def judged(self, X: Any, sample_weight: ArrayLike = None) -> Certificate:
        """The certificate of the components on these rows, computed anew."""
        from .judged import of_kernel_components

        check_is_fitted(self, "certificate_")
        return of_kernel_components(self, FORMULA, X, sample_weight)

    def plot(self, ax: Any = None) -> Any:
        """The variances by component (a scree plot), their sum, and the certified bound."""
        check_is_fitted(self, "certificate_")
        from ...report.components import plot_scree

        return plot_scree(self, ax)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        """What the kernel takes."""
        tags = super().__sklearn_tags__()
        tell_kernel(tags, self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
