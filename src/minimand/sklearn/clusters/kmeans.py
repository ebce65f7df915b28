"""KMeans and MiniBatchKMeans of scikit-learn, with lower bounds of their objective."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import cluster
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._base.typing import AnyArray, Array, ArrayLike
from ..._base.watch import undisturbed
from ...certificate import Certificate
from ...estimators.callbacks import with_callbacks
from ...estimators.inputs.data import check_weights
from ...estimators.inputs.matrix import is_plain
from ...reverse.base import Course
from ...reverse.finite_squares import in_range_as_given
from ...reverse.kmeans.certified import certified
from ...reverse.kmeans.distances import Euclidean
from ...reverse.kmeans.lloyd import Lloyd, Null
from ...reverse.kmeans.rows import Rows
from ...reverse.kmeans.seeding import plus_plus_rows, start_of
from ...reverse.kmeans.starts import best_of_starts
from ...solvers.history import History
from ..base import DropIn


class _Nearest:
    """Prediction by the compiled search."""

    cluster_centers_: Array

    def _new(self: Any, X: ArrayLike) -> Rows:
        check_is_fitted(self)
        return Rows.of(self._check_test_data(X), None, Euclidean())

    def predict(self, X: ArrayLike) -> AnyArray:
        """The nearest centre of every row; of several at equal distance, the first."""
        return self._new(X).nearest(self.cluster_centers_)[0]

    def transform(self, X: ArrayLike) -> Array:
        """The distances of rows from all centres."""
        rows = self._new(X)
        return rows.distance.between(rows.X, rows.shifted(self.cluster_centers_))

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> float:
        """The objective on other data, negative so that more is better."""
        rows = self._new(X)
        rows.weights = check_weights(sample_weight, rows.shape[0])
        return -rows.weighed(rows.nearest(self.cluster_centers_)[1])


class KMeans(_Nearest, DropIn, cluster.KMeans):
    r"""k-means, as `sklearn.cluster.KMeans`, with a lower bound of what any clustering costs.

    Parameters, attributes and the end of the iterations are scikit-learn's; from the same centres
    it ends at the same clusters. Rows that cannot change their cluster are not looked at, so
    that ``algorithm`` makes no difference.

    Parameters
    ----------
    n_clusters, init, n_init, max_iter, tol, verbose, random_state, copy_x, algorithm
        As in scikit-learn. X is never changed, nor copied if it is in C order or CSR.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_
        As in scikit-learn.
    certificate_ : Certificate
        Of kind "relaxation": no clustering into so many clusters has an inertia below ``dual``.
    history_ : History
        The objective by iteration.

    Examples
    --------
    >>> from minimand.sklearn import KMeans
    >>> model = KMeans(2, random_state=0).fit([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model.inertia_, round(model.certificate_.dual, 6)
    (16.0, 16.0)
    """

    certificate_: Certificate
    history_: History

    @with_callbacks
    def fit(self: Any, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> Any:
        """Find the clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        self._check_parameters()
        rows = _rows(self, X, sample_weight)
        self._check_params_vs_input(rows.X)
        start = start_of(self.init, self.n_clusters, rows.shape[1])
        random = check_random_state(self.random_state)

        def begin() -> Lloyd:
            return Lloyd(rows, np.ascontiguousarray(start(rows, self.n_clusters, random)))

        def steps(run: Any) -> Iterator[tuple[None, float, float]]:
            return run.steps(lambda _, shift: np.sum(shift**2) <= self._tol, self.max_iter)

        with Course(self, rows.distance.words, rows.as_passed, solver="bounded") as course:
            found = best_of_starts(course, self._n_init, begin, steps, rows.X.dtype)
            centers, labels, primal, run, history = found
            with undisturbed():
                self.cluster_centers_, self.labels_, self.inertia_ = centers, labels, primal
                self.n_iter_, self._n_features_out = run.iterations, len(centers)
                self._n_threads = 1  # of scikit-learn's own loops, which are not used
                self.certificate_ = certified(
                    course, rows, labels, centers, primal, run.scale, run.passes
                )
                self.history_ = history
                history.end(primal, self.certificate_.dual, self.certificate_.gap)
        distinct = np.unique(labels).size
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self


class MiniBatchKMeans(_Nearest, cluster.MiniBatchKMeans):
    """Mini-batch k-means by scikit-learn's own steps, with a lower bound of its objective.

    Parameters
    ----------
    n_clusters, init, max_iter, batch_size, verbose, compute_labels, random_state, tol, \
max_no_improvement, init_size, n_init, reassignment_ratio
        As in scikit-learn.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_, n_steps_
        As in scikit-learn.
    certificate_ : Certificate
        Of kind "relaxation", after ``fit`` with ``compute_labels``: ``primal`` is the objective on
        all rows, and no clustering has one below ``dual``.

    Examples
    --------
    >>> from minimand.sklearn import MiniBatchKMeans
    >>> from sklearn.datasets import load_iris
    >>> model = MiniBatchKMeans(3, random_state=0, n_init=3).fit(load_iris().data)
    >>> bool(model.certificate_.dual <= model.inertia_)
    True
    """

    certificate_: Certificate

    def fit(self: Any, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> Any:
        """Find the clusters, as scikit-learn does, and bound how far they are from the best."""
        for name in ("certificate_", "labels_", "inertia_"):
            self.__dict__.pop(name, None)
        X = in_range_as_given(X, reset=True)
        wanted = self.compute_labels
        self.compute_labels = wanted is not True and wanted  # the search below finds them anyway
        try:
            super().fit(X, y, sample_weight)
        finally:
            self.compute_labels = wanted
        if not wanted:
            return self
        rows = _rows(self, X, sample_weight, checked=True)
        centers = rows.admitted(self.cluster_centers_)
        search = rows.search(len(centers))
        search.assign(centers)
        primal = rows.weighed(rows.costs(search))
        self.labels_, self.inertia_ = search.labels(), primal
        scale = Null(rows, centers, *search.sums(), primal).primal
        course = Course(self, rows.distance.words)
        passes = 1.0 + self.n_steps_ * self._batch_size / rows.shape[0]
        self.certificate_ = certified(course, rows, self.labels_, centers, primal, scale, passes)
        return self

    def _init_centroids(
        self,
        X: Any,
        x_squared_norms: Array,
        init: Any,
        random_state: Any,
        sample_weight: Array,
        init_size: int | None = None,
        n_centroids: int | None = None,
    ) -> AnyArray:
        """Centres to begin with; those of k-means++ by the compiled search, by the same draws."""
        k = self.n_clusters if n_centroids is None else n_centroids
        if not isinstance(init, str) or init != "k-means++":
            found = super()._init_centroids(
                X, x_squared_norms, init, random_state, sample_weight, init_size, k
            )
            return np.asarray(found)
        if init_size is not None and init_size < X.shape[0]:
            some = random_state.randint(0, X.shape[0], init_size)
            X, sample_weight = X[some], sample_weight[some]
        weights = None if (sample_weight == 1).all() else sample_weight.astype(float)
        rows = Rows.of(X, weights, Euclidean())
        chosen = X[plus_plus_rows(rows, k, random_state)]
        return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen)

    def partial_fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> Self:
        """One step on a batch; the rows before it are gone, so that there is no certificate."""
        self.__dict__.pop("certificate_", None)
        super().partial_fit(X, y, sample_weight)
        return self


def _rows(model: Any, X: Any, sample_weight: Any, *, checked: bool = False) -> Rows:
    """The rows, checked by scikit-learn's rules, without a copy if they are in order."""
    from sklearn.utils.validation import validate_data

    if not (checked and is_plain(X) and X.flags.c_contiguous and X.flags.aligned):
        X = validate_data(
            model,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=False,
        )
    return Rows.of(X, check_weights(sample_weight, X.shape[0]), Euclidean())
