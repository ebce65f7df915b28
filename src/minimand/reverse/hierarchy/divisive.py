"""`Divisive`: clusters that are divided in two from the top down."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Unpack

import numpy as np
from sklearn.base import ClusterMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._base.typing import Array, ArrayLike, IntArray
from ..._base.watch import undisturbed
from ...certificate import Certificate
from ...certificate.eigenvalues.rough import top_within
from ...design import Design
from ...estimators.inputs.data import check_weights
from ...estimators.inputs.matrix import as_matrix, matrix_of, rows_of_any_kind
from ...kernels import REGISTRY as KERNELS
from ...kernels.rows import count, picked
from ..base import Course, FitsRows, Limits
from ..finite_squares import refuse_tiny, with_finite_squares
from ..pictures import check_picture, check_picture_of_tree, clusters_of_rows, silhouettes
from .branches import Branch, Division, scatter_of
from .judged import budget_of
from .nearest import means
from .tree import Tree, check_cut

_ORDERS = ("largest", "worst")


class Divisive(ClusterMixin, FitsRows):
    r"""Hierarchical clustering from the top down: one cluster is divided in two, again and again.

    All samples start as one cluster. In every step one cluster is chosen, and k-means or a
    normalised cut divides it in two. The height of a branch is its sum of squares,
    :math:`\sum_{i \in C} \|x_i - c\|^2` with its mean c, which never grows from a branch to its
    parts.

    Parameters
    ----------
    n_clusters : int, default=2
    by : {"kmeans", "cut"} or clusterer, default="kmeans"
        What divides a cluster: `KMeans` (`KernelKMeans` with a kernel), `NormalizedCut`, or an
        estimator of your own with ``n_clusters``, ``labels_`` and ``predict``, of which copies are
        fitted.
    first : {"largest", "worst"}, default="largest"
        Which cluster is divided next: that of most samples, or of the largest sum of squares.
    kernel : Kernel or str, optional
        Distances and sums of squares are those of the features of a kernel.
    random_state : int or RandomState, optional
        For the starts of k-means.
    max_seconds : float, optional
        Stop after so many seconds, with as many clusters as there are by then.
    callbacks : list of callables, optional
        Each gets the state after every division; one that returns `minimand.STOP` ends the fit.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of every sample, numbered in the order of their first samples.
    n_clusters_ : int
        The number of clusters: fewer than asked for if the fit was stopped, or if equal samples
        are all that is left in each.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The means of clusters; without a kernel only.
    inertia_ : float
        The sum of squares within all clusters.
    linkage_ : ndarray of shape (n_clusters − 1, 4)
        The tree in scipy's format. Its leaves are the clusters; the last division comes first.
    children_, distances_ : ndarray
        The two parts and the height of every division, in the order of ``linkage_``.
    certificate_ : Certificate
        Of the sum of squares, whose lower bound is the sum of the discarded eigenvalues of the
        scatter matrix; kind "relaxation". The bound is that of ``n_clusters`` clusters, also if
        fewer were found. With a kernel there is no bound.
    history_ : History
    n_iter_ : int
        The number of divisions.

    Examples
    --------
    >>> import minimand as mm
    >>> X = [[0.0], [1.0], [10.0], [11.0], [30.0]]
    >>> model = mm.Divisive(3, first="worst", random_state=0).fit(X)
    >>> model.labels_
    array([0, 0, 1, 1, 2])
    >>> model.cut(n_clusters=2), model.predict([[12.0], [-1.0]])
    (array([0, 0, 0, 0, 1]), array([1, 0]))
    """

    labels_: IntArray
    n_clusters_: int
    inertia_: float
    linkage_: Array
    children_: IntArray
    distances_: Array

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        by: Any = "kmeans",
        first: str = "largest",
        kernel: Any = None,
        **limits: Unpack[Limits],
    ) -> None: ...

    def _find(self, X: ArrayLike, sample_weight: ArrayLike) -> None:
        """Divide the samples until there are enough clusters."""
        self._check_limits()
        splitter = self._splitter()
        if self.first not in _ORDERS:
            raise ValueError(f"first must be 'largest' or 'worst', not {self.first!r}.")
        check_cut(self.n_clusters, None, np.iinfo(np.int64).max)
        X = self._rows(X, reset=True)
        if self.kernel is None:
            refuse_tiny(X)
        n = count(X)
        weights = check_weights(sample_weight, n)
        s = np.ones(n) if weights is None else weights
        used = np.flatnonzero(s > 0)
        if len(used) < n:
            check_cut(self.n_clusters, None, len(used), "{} rows of positive weight")
        check_cut(self.n_clusters, None, n)
        self._kernel = None
        if self.kernel is not None:
            self._kernel = KERNELS.get(self.kernel).bind(X, weights)
            if isinstance(self.by, str):  # all divisions by one kernel, that of all rows
                splitter.set_params(kernel=self._kernel)
        scatter = scatter_of(X, s, self._kernel)
        with Course(self, "Σ ‖x − c‖²", X, solver=f"divide by {self._by_name()}") as course:
            root = Branch(used, float(s.sum()), scatter(used))
            division = Division(root)
            points = self._divisions(division, X, weights, s, scatter, splitter)
            course.follow(points)
            with undisturbed():
                self._store(division, X, s, course)
        self._warn_if_equal(course)

    def _divisions(
        self, division: Division, X: Any, weights: Any, s: Array, scatter: Any, splitter: Any
    ) -> Iterator[tuple[Division, float, float]]:
        """Divide one cluster after the other; the sum of squares after each division."""
        random = check_random_state(self.random_state)
        total = division.root.height
        yield division, total, -np.inf
        leaves = [division.root]
        stuck: set[int] = set()  # clusters in which no two parts were found
        while len(leaves) < self.n_clusters:
            able = [leaf for leaf in leaves if leaf.height > 0 and id(leaf) not in stuck]
            if not able:
                return
            chosen = max(able, key=attrgetter("height" if self.first == "worst" else "weight"))
            model = clone(splitter)
            if "random_state" in model.get_params():
                model.set_params(random_state=random.randint(2**31 - 1))
            if self.by == "cut" and self.kernel is None:  # small clusters have fewer neighbours
                from ..cuts.neighbor_graph import NeighborGraph

                most = min(NeighborGraph().n_neighbors, len(chosen.rows))
                model.set_params(kernel=NeighborGraph(most))
            options = {} if weights is None else {"sample_weight": s[chosen.rows]}
            side = np.asarray(model.fit(picked(X, chosen.rows), **options).labels_)
            parts = tuple(
                Branch(rows, float(s[rows].sum()), scatter(rows))
                for rows in (chosen.rows[side == i] for i in (0, 1))
                if len(rows)
            )
            if len(parts) < 2:
                stuck.add(id(chosen))
                continue
            chosen.parts, chosen.splitter = parts, model
            division.divided.append(chosen)
            leaves.remove(chosen)
            leaves.extend(parts)
            total = sum(leaf.height for leaf in leaves)
            yield division, total, -np.inf

    def _store(self, division: Division, X: Any, s: Array, course: Course) -> None:
        """Set the attributes."""
        self._division = division
        self._tree = tree = division.tree()
        self.children_, self.distances_, self.linkage_ = tree.children, tree.heights, tree.linkage
        self.n_clusters_, self._asked = tree.n_leaves, int(self.n_clusters)
        self.labels_ = division.labels(len(s))
        left_out = np.flatnonzero(self.labels_ < 0)
        if len(left_out):
            self.labels_[left_out] = division.descend(picked(X, left_out))
        self.inertia_ = float(sum(leaf.height for leaf in division.leaves))
        self.history_, self.n_iter_ = course.history, course.iterations
        self.__dict__.pop("cluster_centers_", None)
        scale, bound, rounding = division.root.height, -np.inf, 0.0
        details: dict[str, Any] = {}
        if self.kernel is None:
            self.cluster_centers_ = means(X, self.labels_, s)
            top = top_within(X, self._asked - 1, weights=s, budget=budget_of(X, self._asked))
            bound, rounding, details = top.discarded, top.rounding, {"certain": top.certain}
        else:
            reason = "no bound is computed for features of a kernel: minimand.certify finds one"
            details = {"infeasibility": reason}
        self.certificate_ = course.certificate(
            self.inertia_, bound, "relaxation", rounding, scale, **details
        )
        self.history_.end(self.inertia_, self.certificate_.dual, self.certificate_.gap)

    def cut(self, n_clusters: int | None = None, height: float | None = None) -> IntArray:
        """The clusters of another cut: at a number of clusters up to the tree's, or at a height.

        The model stays as it is. At a height, clusters are the largest branches whose sum of
        squares is at most that high, and leaves that are higher.
        """
        check_is_fitted(self, "children_")
        tree: Tree = self._tree
        check_cut(n_clusters, height, tree.n_leaves, "n_clusters_={} clusters of the tree")
        of_leaf = tree.at_number(int(n_clusters)) if height is None else tree.at_height(height)  # type: ignore[arg-type]
        return of_leaf[self.labels_]

    def predict(self, X: ArrayLike) -> IntArray:
        """The cluster of every row: down the tree, as the model of each division predicts."""
        check_is_fitted(self, "labels_")
        division: Division = self._division
        return division.descend(self._rows(X, reset=False))

    def judged(self, X: ArrayLike, sample_weight: ArrayLike = None) -> Certificate:
        """The certificate of the clustering of these rows by the tree, computed anew."""
        from .judged import of_labels

        check_is_fitted(self, "labels_")
        X = self._rows(X, reset=False)
        labels = self._division.descend(X)
        return of_labels(self, X, labels, self._asked, self._kernel, sample_weight)

    def plot(self, kind: str = "dendrogram", ax: Any = None, *, X: Any = None) -> Any:
        """Draw the tree; its leaves are the clusters, with their numbers of samples.

        Parameters
        ----------
        kind : {"dendrogram", "clusters", "silhouettes"}, default="dendrogram"
            The tree; rows X and centres on two principal components (without a kernel only); or how
            much nearer each row of X is to its own cluster than to the next one.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        X : array-like, optional
            The rows to draw, which the model does not keep.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self, "labels_")
        check_picture_of_tree(self, kind, rows="rows are X=…")
        if kind != "dendrogram":
            return self._picture_of_rows(X, kind, ax)
        from ...report.dendrogram import plot_dendrogram

        sizes = np.bincount(self.labels_, minlength=self.n_clusters_)
        return plot_dendrogram(
            self.linkage_,
            np.arange(self.n_clusters_),
            names=[f"{place} ({size})" for place, size in enumerate(sizes)],
            ylabel="sum of squares",
            what="Divisive.plot",
            ax=ax,
        )

    def _picture_of_rows(self, X: Any, kind: str, ax: Any) -> Any:
        """Rows and centres on two components, or silhouettes."""
        check_picture(self, X, kind)
        labels, what = self.predict(X), "Divisive.plot"
        if self._kernel is None:
            rows = self._rows(X, reset=False)
            return clusters_of_rows(rows, labels, self.cluster_centers_, what, kind=kind, ax=ax)
        if kind == "clusters":
            raise ValueError("kind='clusters' needs centres, which a kernel has not: take another.")
        return silhouettes(X, labels, what, kernel=self._kernel, ax=ax)

    def _splitter(self) -> Any:
        """What divides a cluster in two."""
        if isinstance(self.by, str) and self.by == "kmeans":
            if self.kernel is None:
                from .halves import TwoMeans

                return TwoMeans(2, n_init=3)
            from ..cuts.kernel_kmeans import KernelKMeans

            return KernelKMeans(2, kernel=self.kernel)
        if isinstance(self.by, str) and self.by == "cut":
            from .halves import Halves

            return Halves(2) if self.kernel is None else Halves(2, kernel=self.kernel)
        known = hasattr(self.by, "get_params") and not isinstance(self.by, type)
        if not known or "n_clusters" not in self.by.get_params():
            raise ValueError(
                "by must be 'kmeans', 'cut' or a clusterer with n_clusters, labels_ and predict, "
                f"not {self.by!r}."
            )
        return clone(self.by).set_params(n_clusters=2)

    def _by_name(self) -> str:
        return self.by if isinstance(self.by, str) else type(self.by).__name__

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """X as a finite matrix, or of any kind if a kernel reads it."""
        if self.kernel is not None:
            return rows_of_any_kind(self, X, reset=reset)
        found = with_finite_squares(as_matrix(self, X, reset=reset))
        return matrix_of(found) if isinstance(found, Design) else found

    def _warn_if_equal(self, course: Course) -> None:
        """Say why there are fewer clusters than asked for, if nothing stopped the fit."""
        if self.n_clusters_ < self.n_clusters and not course.stopped_by:
            warnings.warn(
                f"Divisive: found {self.n_clusters_} clusters, fewer than n_clusters="
                f"{self.n_clusters}, since the samples left in each of them could not be divided: "
                "they are equal, or nearly so.",
                ConvergenceWarning,
                stacklevel=5,
            )
