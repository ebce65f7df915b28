"""`PCA`: the directions that keep most of the variance, with a proof that they do."""

from __future__ import annotations

from typing import Any, Self, Unpack

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._base.typing import AnyArray, ArrayLike
from ..._base.watch import undisturbed
from ...certificate.eigenvalues.centred import rows_operator
from ...design import Design
from ...estimators.inputs.matrix import as_matrix
from ..base import Course, FitsRows, Limits
from ..finite_squares import in_range, with_finite_squares
from .iterative import DEFAULT_STEPS
from .methods import METHODS, SIDE, Search
from .rows import checked_outputs, precision, weighted_rows
from .spectrum import Found, check_against, check_count, is_count, signed
from .stream import RowStream, ScatterStream

FORMULA = "mean ½‖x − x̂‖², x̂ the projection of x onto the components"
_ROWS = 1 << 12  # rows that are centred at a time; safeguard: they stay in a cache

_UNKNOWN = (
    "the rows of a stream are seen once, so that what the components keep of earlier rows is an "
    "estimate, and no bound is known: fit on all rows gives one"
)


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FitsRows):
    r"""Principal component analysis: the reverse form of least squares with free outputs.

    .. math:: \min_{Y, U} \tfrac12 \|X - YU\|_F^2

    over outputs Y of k columns, for rows X from which their mean is subtracted: guess the outputs
    too, such that the rows can be rebuilt from them. The optimum keeps the k directions of largest
    variance (the largest Rayleigh quotients vᵀCv/vᵀv of the covariance matrix C), and loses the sum
    of all other eigenvalues of C. The certificate compares the two: ``primal`` is the mean
    ½‖x − x̂‖² of the components, ``dual`` what no k directions can undercut, and the kind is
    "global".

    Parameters
    ----------
    n_components : int, float in (0, 1), "auto" or None, default=None
        How many components; or the share of the variance that they keep at least; or those whose
        variance is above what noise alone would give (the optimal hard threshold of Gavish and
        Donoho, 2014); or all along which the data vary.
    method : str, default="auto"
        - "covariance": eigenvectors of C, one pass; the best choice for many rows
        - "gram": eigenvectors of the inner products of the rows, for more columns than rows
        - "svd": singular vectors of a copy of the data; variances keep their digits even if they
          are 10⁻¹² of the largest one and smaller
        - "krylov": randomised block Krylov space, some passes over the data; for large sizes
        - "power": power iteration, all components at once
        - "stochastic": a small step for each batch of rows; see `partial_fit`

        "auto" takes one of the first four, by size and by the digits that small variances need.
    whiten : bool, default=False
        Whether outputs are divided by their standard deviations.
    center : bool, default=True
        Whether the mean is subtracted. Without it these are the largest singular vectors of X.
    tol : float, default=1e-6
        Relative gap at which methods that improve step by step end.
    max_iter : int, optional
        Most steps of these; by default 100, 1000 and 30 (passes) for the last three methods.
    max_seconds : float, optional
    random_state : int, RandomState or None
        Start of these methods.
    verbose : bool, default=False
    callbacks : list of callables, optional

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal directions; the entry of largest size of each is positive.
    explained_variance_ : ndarray of shape (n_components_,)
        Mean squared outputs, Σ s·y²/Σ s. (scikit-learn divides by n − 1, and so does
        `minimand.sklearn.PCA`.)
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as shares of the variance of all columns.
    singular_values_ : ndarray of shape (n_components_,)
    noise_variance_ : float
        The mean variance along the other directions.
    mean_ : ndarray of shape (n_features,)
    spectrum_ : ndarray or None
        The variances of all directions, where the method knows them.
    n_components_ : int
    n_samples_ : int
    method_ : str
        The method that ran.
    certificate_ : Certificate
    history_ : History
    n_iter_ : int

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> pca = mm.PCA(2).fit(X)
    >>> pca.explained_variance_ratio_.round(3)
    array([0.925, 0.053])
    >>> pca.certificate_.kind, pca.certificate_.relative < 1e-9
    ('global', True)
    >>> pca.inverse_transform(pca.transform(X)).shape
    (150, 4)
    """

    components_: AnyArray
    mean_: AnyArray

    def __init__(
        self,
        n_components: Any = None,
        *,
        method: str = "auto",
        whiten: bool = False,
        center: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        **limits: Unpack[Limits],
    ) -> None: ...

    # Fitting ---------------------------------------------------------------------------------

    def _find(self, X: ArrayLike, sample_weight: ArrayLike) -> None:
        """Find the components."""
        self._check_parameters()
        self._find_in(as_matrix(self, X, reset=True), sample_weight)

    def _find_in(self, X: Any, sample_weight: ArrayLike = None) -> None:
        """Find the components of a matrix that `as_matrix` has checked, by checked parameters."""
        X = in_range(X, reset=True)
        design, weights = weighted_rows(X, sample_weight)
        rows = "n_samples" if design.shape[0] == X.shape[0] else "rows of positive weight"
        check_against(self.n_components, *design.shape, f"min({rows}, n_features)")
        search = self._search()
        method = search.chosen(design)
        self.__dict__.pop("_stream", None)
        with Course(self, FORMULA, X, solver=method) as course:
            found, method = search.found(design, weights, method, course)
            total = float(weights.sum())
            self._store(found, total, design.shape[0], precision(X))
            self.method_, self.n_iter_ = method, max(course.iterations, 1)
            self._certify(found, course, total)

    def partial_fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> Self:
        """Learn from one more batch of rows; the first call begins anew.

        With up to 2000 columns, the products of all rows so far are summed: the components are
        exactly those of `fit` on all batches together. With more columns, or with
        ``method="stochastic"``, each batch moves the components by a step (stochastic
        approximation), and no bound is known: the certificate says so.
        """
        self._check_parameters()
        stream = getattr(self, "_stream", None)
        X = with_finite_squares(as_matrix(self, X, reset=stream is None))
        design, weights = weighted_rows(X, sample_weight)
        d = design.shape[1]
        check_against(self.n_components, d, d, "n_features")
        if stream is None:
            stream = self._new_stream(d)
        with Course(self, FORMULA, X, solver="stream", stacklevel=4) as course, undisturbed():
            stream.update(design, weights)
            found = stream.found(self.n_components)
            self._stream = stream
            self._store(found, stream.total, stream.rows, precision(X))
            exact = isinstance(stream, ScatterStream)
            self.method_, self.n_iter_ = ("covariance" if exact else "stochastic"), 1
            course.record(0.5 * found.error / stream.total)
            self._certify(found, course, stream.total, "" if exact else _UNKNOWN)
        return self

    def _new_stream(self, d: int) -> ScatterStream | RowStream:
        if self.method != "stochastic" and d <= SIDE:
            return ScatterStream(d, bool(self.center))
        if not is_count(self.n_components):
            raise ValueError(
                f"n_components={self.n_components!r} must be a number of components for stochastic "
                "steps, which do not see other variances."
            )
        return RowStream(d, int(self.n_components), centred=bool(self.center))

    def _check_parameters(self) -> None:
        self._check_limits()
        check_count(self.n_components)
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {list(METHODS)}, not {self.method!r}.")
        if self.method in DEFAULT_STEPS and not is_count(self.n_components):
            raise ValueError(
                f"n_components={self.n_components!r} needs all variances, but "
                f"method={self.method!r} finds only some: give a number of components, or take "
                "method='covariance', 'gram' or 'svd'."
            )

    def _search(self) -> Search:
        most = None if self.max_iter is None else int(self.max_iter)
        centred, tol = bool(self.center), float(self.tol)
        return Search(self.n_components, self.method, centred, tol, most, self.random_state)

    def _store(self, found: Found, total: float, n: int, kind: Any) -> None:
        """Set the attributes of the model, in the precision of the data."""
        k, d = found.values.size, found.vectors.shape[0]
        self.components_ = np.ascontiguousarray(signed(found.vectors).T.astype(kind))
        self.mean_ = found.mean.astype(kind)
        self.explained_variance_ = (found.values / total).astype(kind)
        whole = found.total if found.total > 0 else 1.0
        self.explained_variance_ratio_ = (found.values / whole).astype(kind)
        self.singular_values_ = np.sqrt(found.values).astype(kind)
        others = min(n, d) - k
        self.noise_variance_ = found.error / total / others if others > 0 else 0.0
        self.spectrum_ = None if found.spectrum is None else found.spectrum / total
        self.n_components_, self.n_samples_ = k, n
        self._centred, self._whitened = bool(self.center), bool(self.whiten)

    def _certify(self, found: Found, course: Course, total: float, unknown: str = "") -> None:
        scale = 0.5 / total
        # The mean is kept in the precision of the data, which may be coarse where rows are far
        # from zero.
        off = found.mean - self.mean_
        off = off - found.vectors @ (found.vectors.T @ off)
        primal = scale * found.error + 0.5 * float(off @ off)
        dual = scale * found.least_error
        if unknown:
            dual = -np.inf
        self.certificate_ = course.certificate(
            primal,
            dual,
            "global",
            scale * found.rounding,
            scale * found.total,
            infeasibility=unknown,
            certain=found.certain or bool(unknown),
        )
        course.history.end(primal, dual, max(primal - dual, 0.0))
        self.history_ = course.history

    # Using the model -------------------------------------------------------------------------

    def transform(self, X: ArrayLike) -> AnyArray:
        """The outputs Y: coordinates of the rows along the components."""
        check_is_fitted(self, "components_")
        X = as_matrix(self, X, reset=False)
        if isinstance(X, Design):
            found = X.matvec(np.ascontiguousarray(self.components_.T, dtype=float))
            found = found - self.mean_ @ self.components_.T
        elif sparse.issparse(X):
            found = np.asarray(X @ self.components_.T) - self.mean_ @ self.components_.T
        else:
            found = self._centred_product(X)
        return found / self._deviations() if self._whitened else found

    def _centred_product(self, x: AnyArray) -> AnyArray:
        """(X − 1x̄ᵀ)Vᵀ, block by block; centred first, so that a large mean costs no digits."""
        turn = np.ascontiguousarray(self.components_.T)
        if not self.mean_.any():
            return np.asarray(x @ turn)
        kind = np.result_type(x, turn)
        found = np.empty((x.shape[0], turn.shape[1]), kind)
        height = max(_ROWS, 1)
        for start in range(0, x.shape[0], height):
            np.matmul(
                x[start : start + height] - self.mean_, turn, out=found[start : start + height]
            )
        return found

    def inverse_transform(self, Y: ArrayLike) -> AnyArray:
        """Rows rebuilt from outputs: x̂ = x̄ + Y·components, the denoised rows."""
        check_is_fitted(self, "components_")
        y = checked_outputs(Y, self.n_components_)
        if self._whitened:
            y = y * self._deviations()
        return np.asarray(y @ self.components_ + self.mean_)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> float:
        """The share of the squared distances to the mean that the components keep; 1 is best.

        This is 1 − Σ s‖x − x̂‖²/Σ s‖x − x̄‖².
        """
        check_is_fitted(self, "components_")
        X = as_matrix(self, X, reset=False)
        design, weights = weighted_rows(X, sample_weight)
        operator = rows_operator(design, weights, self.mean_.astype(float))
        vectors = self.components_.T.astype(float)
        kept = float(np.vdot(vectors, operator.product(vectors)))
        return min(kept / operator.trace, 1.0) if operator.trace > 0 else 1.0

    def plot(self, ax: Any = None) -> Any:
        """The variances by component (a scree plot), their sum, and the certified bound."""
        check_is_fitted(self, "components_")
        from ...report.components import plot_scree

        return plot_scree(self, ax)

    def _deviations(self) -> AnyArray:
        """Standard deviations of the outputs; rounding does not make one of them zero."""
        kind = np.finfo(self.components_.dtype)
        least = max(kind.eps * self.explained_variance_.max(initial=0.0), kind.tiny)
        return np.sqrt(np.maximum(self.explained_variance_, least))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        """float32 stays float32; a copy of the data for "svd" is dense."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.method != "svd"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
