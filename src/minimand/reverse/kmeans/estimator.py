"""`KMeans`: clusters whose rows are near a common centre."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ... import _core
from ..._base.available import available_if
from ..._base.typing import AnyArray, Array, ArrayLike
from ..._base.watch import undisturbed
from ...certificate import Certificate
from ...estimators.inputs import data
from ...estimators.settings import check_whole
from ..base import Course, FitsRows, Limits, warn_of_duplicates
from ..pictures import check_picture, clusters_of_rows
from .batches import MiniBatches
from .certified import certified, judged
from .distances import REGISTRY
from .lloyd import Lloyd
from .moves import Hartigan
from .rows import Rows, rows_of_fit
from .seeding import check_init, check_n_init, start_of
from .starts import Found, Run, best_of_starts, weights_of

_ALGORITHMS = ("auto", "bounded", "lloyd", "hartigan", "minibatch")
_ELSEWHERE = {
    **dict.fromkeys(("k", "n_components"), "n_clusters=…"),
    **dict.fromkeys(("metric", "affinity"), "distance=…"),
    **dict.fromkeys(("niter", "iter"), "max_iter=…"),
    **dict.fromkeys(("nredo", "n_restarts"), "n_init=…"),
    **dict.fromkeys(("seed", "random_seed"), "random_state=…"),
    "copy_x": "nothing, as X is never changed",
    "n_jobs": "threadpoolctl.threadpool_limits(…) around fit, as threads are used where they help",
}


def _has_running_means(model: Any) -> bool:
    """Whether centres can be learnt row by row."""
    if model.distance in ("cosine", "manhattan"):
        raise AttributeError(
            f"distance={model.distance!r} cannot learn row by row, since its centres are no "
            "running means: take 'euclidean', or call fit."
        )
    return True


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, FitsRows):
    r"""k-means: min over labels and centres of Σᵢ sᵢ·cost(xᵢ, c of its cluster).

    .. math:: \min_{Y, U} \|X - YU\|_F^2, \quad Y \in \{0, 1\}^{n \times k},\ Y1 = 1

    Lloyd's algorithm from one or several starts. The problem is NP-hard: the result is a local
    optimum, and ``certificate_`` bounds how far it can be from the best one.

    Parameters
    ----------
    n_clusters : int, default=8
    distance : {"euclidean", "cosine", "manhattan"}, default="euclidean"
        The cost of a row x in a cluster with centre c: ‖x − c‖² (c is the mean), 1 − cos(x, c) (the
        direction of the mean of the rows, each of length one) or ‖x − c‖₁ (medians by column).
    init : {"k-means++", "random", "partition"}, array or function, default="k-means++"
        The centres to begin with: rows that are drawn far from each other, random rows, the centres
        of a random partition, given ones, or those of a function init(X, n_clusters, random_state).
    n_init : int or "auto", default="auto"
        Starts, of which the best result is kept; "auto" is 1 for k-means++ and an array, else 10.
    algorithm : {"auto", "bounded", "lloyd", "hartigan", "minibatch"}, default="auto"
        "bounded" remembers bounds of distances, 60 to 100 bytes for every row, and compares only
        rows and centres that the bounds leave open; "lloyd" compares all, with the same result up
        to rounding; "auto" is "bounded". "hartigan" goes on from where these end, and moves single
        rows until no such move lowers the objective, the changes of both means taken into account;
        for Euclidean distances. "minibatch" learns from random batches of rows, for data so large
        that some passes over them take too long.
    batch_size : int, default=1024
        Rows of a batch of "minibatch".
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by less than this share of the objective of one
        cluster; with 0, stop when no row changes its cluster.
    max_iter : int, optional
        The largest number of iterations of a start; a fit that needs more warns.
    max_seconds : float, optional
        The model that is reached by then is stored, and the fit warns.
    random_state : int, RandomState or None, default=None
        Results do not depend on the number of threads.
    callbacks : list of callables, optional
        Each gets a `State` after every iteration, and ends the fit by returning `minimand.STOP`.
    verbose : bool, default=False
        Whether to show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    labels_ : ndarray of shape (n_samples,)
        The nearest centre of every row.
    inertia_ : float
        The objective Σ s·cost.
    counts_ : ndarray of shape (n_clusters,)
        The weight of every cluster.
    n_iter_ : int
        Iterations of the best start.
    history_ : History
        The objective by iteration; it never rises (under "minibatch" it is an estimate).
    certificate_ : Certificate
        Of kind "relaxation": ``dual`` is a lower bound of the objective of every clustering into so
        many clusters, the sum of the eigenvalues of Σ s(x − x̄)(x − x̄)ᵀ that k − 1 components
        leave out. Where that would take far longer than the clusters did, as on large sparse rows,
        it is a weaker bound by norms. Under "manhattan" of kind "stationary": no other centres are
        better for these clusters. `minimand.certify` computes the eigenvalues, and can prove more.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = mm.KMeans(3, random_state=0).fit(X)
    >>> round(model.inertia_, 2), model.certificate_.kind
    (78.86, 'relaxation')
    >>> bool(model.certificate_.dual <= model.inertia_)
    True
    >>> model.predict([[5.0, 3.5, 1.5, 0.2]]) == model.labels_[0]
    array([ True])
    """

    _elsewhere: ClassVar[dict[str, str]] = _ELSEWHERE

    cluster_centers_: Array
    labels_: AnyArray
    inertia_: float
    counts_: Array

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        distance: Any = "euclidean",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        algorithm: str = "auto",
        batch_size: int = 1024,
        tol: float = 1e-6,
        max_iter: int | None = None,
        **limits: Unpack[Limits],
    ) -> None: ...

    # Fitting -----------------------------------------------------------------------------------

    def _find(self, X: ArrayLike, sample_weight: ArrayLike) -> None:
        """Find the clusters."""
        starts = self._check_parameters()
        rows = rows_of_fit(self, X, sample_weight, REGISTRY.get(self.distance))
        start = start_of(self.init, self.n_clusters, rows.shape[1])
        random = check_random_state(self.random_state)
        solver = "bounded" if self.algorithm == "auto" else self.algorithm
        with Course(self, rows.distance.words, rows.as_passed, solver=solver) as course:

            def begin() -> Run:
                centers = np.ascontiguousarray(start(rows, self.n_clusters, random))
                if solver == "minibatch":
                    return MiniBatches(rows, centers, random, int(self.batch_size))
                if solver == "hartigan":
                    return Hartigan(rows, centers)
                return Lloyd(rows, centers, bounds=solver == "bounded")

            def steps(run: Any) -> Iterator[tuple[None, float, float]]:
                if isinstance(run, MiniBatches):
                    return run.steps(self.max_iter)
                return run.steps(lambda fall, _: fall <= self.tol * run.scale, self.max_iter)

            found = best_of_starts(course, starts, begin, steps, rows.X.dtype)
            with undisturbed():
                self._store(course, rows, found)
            if not found.run.converged and self.max_iter is not None:
                course.ends_at(f"max_iter={self.max_iter}")
        if np.count_nonzero(self.counts_) < self.n_clusters:
            warn_of_duplicates(np.unique(self.labels_).size, self.n_clusters)

    def _store(self, course: Course, rows: Rows, found: Found) -> None:
        """Set the attributes of a fit."""
        centers, labels, primal, run, history = found
        self.cluster_centers_, self.labels_, self.inertia_ = centers, labels, primal
        self.counts_ = weights_of(labels, rows.weights, len(centers))
        self._distance, self._n_features_out = rows.distance, len(centers)
        self.n_iter_ = run.iterations
        self.certificate_ = self._certified(course, rows, found)
        history.end(primal, self.certificate_.dual, self.certificate_.gap)
        self.history_ = history

    def _certified(self, course: Course, rows: Rows, found: Found) -> Certificate:
        """The certificate of a fit, whose bound costs about as much as the fit at most."""
        centers, labels, primal, run, _ = found
        return certified(course, rows, labels, centers, primal, run.scale, run.passes)

    @available_if(_has_running_means)
    def partial_fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> Self:
        """Learn from rows one by one: each moves its nearest centre, the mean of its rows so far.

        n ← n + s, c ← c + (s/n)·(x − c). The first call takes its start from the rows it is given;
        the first row that comes to a centre replaces it. After ``fit``, its clusters are continued.
        ``labels_`` are those of the last rows, before they moved a centre; there is no certificate,
        as the rows of earlier calls are gone.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Examples
        --------
        >>> import minimand as mm
        >>> model = mm.KMeans(2, init=[[0.0], [10.0]])
        >>> model.partial_fit([[1.0], [3.0], [8.0]]).cluster_centers_.ravel().tolist()
        [2.0, 8.0]
        """
        self._check_parameters()
        begun = hasattr(self, "cluster_centers_")
        distance = REGISTRY.get(self.distance)
        if not begun:
            rows = rows_of_fit(self, X, sample_weight, distance)
            start = start_of(self.init, self.n_clusters, rows.shape[1])
            centers = start(rows, self.n_clusters, check_random_state(self.random_state))
            counts, steps = np.zeros(len(centers)), 0
        else:
            X = data.check_x(self, X)
            rows = Rows.of(X, data.check_weights(sample_weight, X.shape[0]), distance)
            centers, counts = rows.admitted(self.cluster_centers_), self.counts_.copy()
            steps = self.n_iter_
        centers = np.array(centers, order="C")  # the means so far, which the rows move
        weights = np.zeros(0) if rows.weights is None else rows.weights
        self.labels_ = _core.learn_means(rows.compiled, weights, centers, counts)
        self.cluster_centers_, self.counts_ = rows.as_given(centers), counts
        self._distance, self._n_features_out = rows.distance, len(centers)
        self.n_iter_ = steps + 1
        for name in ("certificate_", "history_", "inertia_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return self

    # Checks ------------------------------------------------------------------------------------

    def _check_parameters(self) -> int:
        """Refuse parameters outside their range; the number of starts."""
        self._check_limits()
        check_whole("n_clusters", self.n_clusters)
        check_whole("batch_size", self.batch_size)
        distance = REGISTRY.get(self.distance)
        if not isinstance(self.algorithm, str) or self.algorithm not in _ALGORITHMS:
            raise ValueError(
                f"algorithm={self.algorithm!r} is not known: pass one of {list(_ALGORITHMS)}."
            )
        if self.algorithm == "minibatch" and not distance.by_sums:
            raise ValueError(
                f"algorithm='minibatch' takes means, but the centres of distance={self.distance!r} "
                "are medians: take algorithm='auto'."
            )
        if self.algorithm == "hartigan" and distance.name != "euclidean":
            raise ValueError(
                f"algorithm='hartigan' moves rows between means, but distance={self.distance!r} "
                "has other centres: take algorithm='auto'."
            )
        check_init(self.init, self.n_clusters)
        return check_n_init(self.n_init, self.init)

    # Prediction --------------------------------------------------------------------------------

    def _new(self, X: ArrayLike) -> Rows:
        check_is_fitted(self)
        return Rows.of(data.check_x(self, X), None, self._distance)

    def predict(self, X: ArrayLike) -> AnyArray:
        """The nearest centre of every row; of several at equal distance, the first."""
        return self._new(X).nearest(self.cluster_centers_)[0]

    def transform(self, X: ArrayLike) -> Array:
        """The distances of rows from all centres: ‖x − c‖, 1 − cos(x, c) or ‖x − c‖₁."""
        return self._distance_table(self._new(X))

    def _distance_table(self, rows: Rows) -> Array:
        return rows.distance.between(rows.X, rows.shifted(self.cluster_centers_))

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> float:
        """The objective on other data, negative so that more is better."""
        rows = self._new(X)
        rows.weights = data.check_weights(sample_weight, rows.shape[0])
        return -rows.weighed(rows.nearest(self.cluster_centers_)[1])

    def judged(self, X: ArrayLike, sample_weight: ArrayLike = None) -> Certificate:
        """The certificate of the clustering of these rows by the model, computed anew."""
        rows = self._new(X)
        rows.weights = data.check_weights(sample_weight, rows.shape[0])
        return judged(self, rows, self.cluster_centers_)

    def plot(self, X: ArrayLike = None, ax: Any = None, *, kind: str = "clusters") -> Any:
        """Draw rows, coloured by cluster, and centres on the first two principal components of X.

        ``kind="silhouettes"``: draw how much nearer each row is to its own cluster than to the next
        one. Needs matplotlib, the extra ``[plot]``; returns the axes.
        """
        check_picture(self, X, kind)
        rows, centers = self._new(X), self.cluster_centers_
        labels, name = rows.nearest(centers)[0], rows.distance.name
        return clusters_of_rows(
            rows.as_passed, labels, centers, "KMeans.plot", kind=kind, distance=name, ax=ax
        )
