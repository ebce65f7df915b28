"""`KernelKMeans`: k-means on the features of a kernel, certified."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from scipy import linalg
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..._base.linear_system import EPS
from ..._base.typing import Array, ArrayLike, IntArray
from ..._base.watch import undisturbed
from ...certificate import Certificate
from ...certificate.eigenvalues.relaxation import TopSum, top_of_kernel, top_of_rows
from ...features.low_rank import MEMORY, LowRank
from ...features.nystrom import Nystrom
from ...kernels import REGISTRY, Kernel
from ..base import Course, Limits, warn_of_duplicates
from ..components.conversions import kernel_from_reverse
from ..factors import factor_of
from ..rows import all_values, in_double, kernel_rows, row_weights, tell_kernel
from .alternation import Clusters, Task
from .base import KernelClusters
from .bounds import rounding_of
from .checks import check_clusters, check_definite
from .pairs import DensePairs, FactorPairs
from .starts import two_directions

_RANK = 50  # landmarks for each cluster beyond what memory holds; safeguard: (1 + k/rank) is small
_FORMULA = "Σ s·‖φ(x) − centre‖²"


class KernelKMeans(KernelClusters):
    r"""Cluster rows by k-means in the feature space of a kernel.

    .. math:: \min_{Y, U} \sum_i s_i \|\varphi(x_i) - U_{y_i}\|^2
        = \text{tr}\,SK - \text{tr}\big((Y^\top S Y)^{-1} Y^\top S K S Y\big)

    The alternation between clusters Y and centres U begins with the solution of the relaxed
    problem, the top eigenvectors of K, and goes on until no move of a single row lowers the
    objective. New rows go to the nearest centre. ``certificate_`` bounds how much better any
    clustering could be: by the eigenvalues that k − 1 directions leave out. `minimand.certify` with
    ``thorough=True`` has a tighter bound, which often proves that the clustering is the best of
    all.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel : Kernel or str, default="rbf"
        It must be positive semidefinite.
    init : {"spectral", "k-means++", "random"} or array of labels, default="spectral"
        Eigenvectors of K; rows drawn in proportion to their distance; any labels; or your own.
    n_init : int, default=3
        Starts, of which the best result is kept.
    max_iter : int, default=300
    out_of_sample : {"centers", "regression"}, default="centers"
        How `predict` treats rows: the nearest centre, which gives ``labels_`` on the rows of the
        fit; or the largest output of the regression A = (K + βI)⁻¹BᵀYᵀY of Y on K, which need not.
    beta : float, default=1e-3
        β of that regression, times the mean of k(x, x).
    rank : int, optional
        Work on a Nyström factor of K with so many landmarks. By default K itself is used if it fits
        into half of ``memory``, else a factor of 50 landmarks a cluster.
    memory : float, optional
        Bytes; 2 GB by default.
    random_state : int, RandomState or None
    max_seconds, callbacks, verbose
        As in `minimand.Regressor`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    inertia_ : float
        The objective. On a factor: an upper bound of it, which counts all that the factor leaves
        out.
    dual_coef_ : ndarray of shape (n_clusters, n_samples)
        The centres, Uⱼ = Σᵢ dual_coef_ⱼᵢ·φ(xᵢ).
    certificate_ : Certificate
        Of kind "relaxation".
    n_iter_ : int
        Steps, of which the last one found no row to move.
    history_ : History

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> model = mm.KernelKMeans(2, kernel=mm.RBF(0.3), random_state=0).fit(X)
    >>> same = model.labels_ == ring
    >>> bool(same.all() or not same.any())
    True
    >>> bool((model.predict(X) == model.labels_).all())
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        init: Any = "spectral",
        n_init: int = 3,
        max_iter: int = 300,
        out_of_sample: str = "centers",
        beta: float = 1e-3,
        rank: int | None = None,
        memory: float | None = None,
        **limits: Unpack[Limits],
    ) -> None: ...

    def _find(self, X: ArrayLike, sample_weight: ArrayLike) -> None:
        """Cluster the rows."""
        self._check_parameters()
        kernel = REGISTRY.get(self.kernel)
        kernel.check_parameters()
        X = in_double(kernel_rows(self, X, kernel, reset=True))
        n = int(_num_samples(X))
        weights = row_weights(sample_weight, n)
        k = check_clusters(self.n_clusters, n, weights)
        with Course(self, _FORMULA, X, solver="alternation") as course:
            task, rest = self._posed(X, kernel, weights, k)
            found = self._search(task, course)
            with undisturbed():
                self._store_centres(task, found)
                self._store_regression(task)
                error = rounding_of(weights, self._sizes)
                left = float(weights @ rest) if rest is not None else 0.0
                self.inertia_ = max(found.value, 0.0) + left + error
                bound = course.within_limits(lambda: self._relaxed(task, rest))
                self.certificate_ = course.certificate(
                    self.inertia_,
                    min(max(bound.discarded - error, 0.0), self.inertia_),
                    "relaxation",
                    bound.rounding + error,
                    bound.total,
                    certain=bound.certain,
                )
                self._store_history(course)
        distinct = np.unique(self._names).size
        if distinct < k:
            warn_of_duplicates(distinct, k)

    def _named(self, found: Clusters) -> IntArray:
        """Of centres that rounding cannot tell apart, the first: equal rows have equal labels.

        There are such centres if there are fewer different rows than clusters.
        """
        products = self.dual_coef_ @ (found.sums / found.volumes)
        squares = np.diag(products)
        far = squares + squares[:, None] - products - products.T
        same = far <= 16.0 * EPS * float(np.max(self._sizes))
        np.fill_diagonal(same, True)
        return same.argmax(axis=1).astype(np.int32)

    def _posed(self, X: Any, kernel: Kernel, weights: Array, k: int) -> tuple[Task, Array | None]:
        """The task on K or a factor of it, and the diagonal of what a factor leaves out."""
        n = int(_num_samples(X))
        room = MEMORY if self.memory is None else float(self.memory)
        rank = self.rank
        if rank is None and 16.0 * n * n > room:
            rank = min(n, _RANK * k, max(1, int(room / (8 * n))))
        self._map: LowRank | None = None
        rest = None
        if rank is None:
            self._kernel = kernel.bind(X, weights)
            self._rows = self._kernel.rows(X, training=True)
            values = all_values(self._kernel, self._rows)
            check_definite(values, self._kernel)
            self._sizes = self._kernel.sizes(self._rows)
            pairs: Any = DensePairs(values)
        else:
            self._map = Nystrom(kernel, rank=rank, random_state=self.random_state)
            columns, rest = factor_of(self._map, X, weights)
            pairs = FactorPairs(columns)
            self._sizes = self._map.sizes_
        total = float(weights @ pairs.diagonal)
        return Task(pairs, weights, weights, k, total), rest

    def _relaxed(self, task: Task, rest: Array | None) -> TopSum:
        """What k − 1 directions of the centred features keep, bounded from above."""
        pairs, k = task.pairs, task.n_clusters - 1
        if isinstance(pairs, FactorPairs):
            return top_of_rows(pairs.columns, k, weights=task.weights, remainder=rest)
        assert isinstance(pairs, DensePairs)
        return top_of_kernel(pairs.values, k, weights=task.weights, centred=True)

    def _store_regression(self, task: Task) -> None:
        """A = (K + βI)⁻¹Y, or its form on a factor: W = (LᵀL + βI)⁻¹LᵀY."""
        self._regression = None
        if self.out_of_sample != "regression":
            return
        pairs, n = task.pairs, task.pairs.n
        outputs = np.zeros((n, task.n_clusters))
        outputs[np.arange(n), self.labels_] = 1.0
        beta = float(self.beta) * float(pairs.diagonal.mean()) or 1.0  # or K is zero
        if isinstance(pairs, FactorPairs):
            square = pairs.columns.T @ pairs.columns
            square[np.diag_indices_from(square)] += beta
            self._regression = linalg.solve(square, pairs.columns.T @ outputs, assume_a="pos")
        else:
            assert isinstance(pairs, DensePairs)
            self._regression = kernel_from_reverse(pairs.values, outputs, beta=beta)

    def predict(self, X: ArrayLike) -> IntArray:
        """The cluster of every row: that of the nearest centre, or of the regression."""
        check_is_fitted(self, "labels_")
        if self._map is not None:
            X = in_double(kernel_rows(self, X, self._map.kernel_, reset=False))
            points = self._map.transform(X)
            if self._regression is not None:
                return (points @ self._regression).argmax(axis=1).astype(np.int32)
            return self._nearest(points @ self._centres)
        rows = self._kernel.rows(in_double(kernel_rows(self, X, self._kernel, reset=False)))
        if self._regression is not None:
            found = self._kernel.times(rows, self._rows, self._regression)
            return found.argmax(axis=1).astype(np.int32)
        return self._nearest(self._kernel.times(rows, self._rows, self.dual_coef_.T))

    def _store_centres(self, task: Task, found: Any) -> None:
        super()._store_centres(task, found)
        self._node_weights = task.weights
        if isinstance(task.pairs, FactorPairs):
            self._centres = task.pairs.columns.T @ self.dual_coef_.T
            self._seen = two_directions(task, normalised=False)  # the factor itself is not kept

    def _places(self) -> Array:
        return self._seen if self._map is not None else super()._places()

    def _task_again(self) -> Task:
        gram = np.asarray(self._kernel.gram(self._rows), dtype=float)
        return Task(DensePairs(gram), self._node_weights, self._node_weights, len(self.dual_coef_))

    def judged(self, X: ArrayLike, sample_weight: ArrayLike = None) -> Certificate:
        """The certificate of the clustering of these rows by the model, computed anew."""
        from ..proof.judged import of_kernel

        check_is_fitted(self, "labels_")
        return of_kernel(self, X, sample_weight, thorough=False)

    def __sklearn_tags__(self) -> Any:
        """What the kernel takes."""
        tags = super().__sklearn_tags__()
        tell_kernel(tags, self.kernel)
        return tags
