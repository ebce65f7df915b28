"""`Agglomerative`: clusters that are merged from the bottom up, the closest two first."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ..._base.parameters import NamesParameters
from ..._base.typing import Array, ArrayLike, IntArray
from ...estimators.settings import check_limits
from ...estimators.summary import Summarised
from ...kernels.dissimilarity import dissimilarity_of
from ..finite_squares import in_range
from ..pictures import check_picture_of_tree, silhouettes_of_fitted
from ..rows import rows_for
from .merges import check_linkage, merged
from .nearest import means, nearest_clusters, nearest_of
from .tree import Tree, check_cut


class Agglomerative(ClusterMixin, NamesParameters, Summarised):
    r"""Hierarchical clustering from the bottom up.

    Every sample starts as a cluster of its own; the two closest clusters are merged, again and
    again, until one is left after n − 1 merges. The linkage says how far two clusters A and B are:

    ============ ===============================================================
    "single"     the least distance of a member of A to one of B
    "complete"   the largest
    "average"    the mean over all pairs
    "ward"       √(2·\|A\|·\|B\|/(\|A\|+\|B\|)) times the distance of the centres, so that half the
                 square is what the merge adds to the k-means objective
    "centroid"   the distance of the centres
    ============ ===============================================================

    The fit builds the whole tree. ``labels_`` is one cut through it; `cut` gives others at once.

    Parameters
    ----------
    n_clusters : int or None, default=2
        How many clusters ``labels_`` has; None if ``height`` says where to cut.
    linkage : {"ward", "single", "complete", "average", "centroid"}, default="ward"
    height : float, optional
        Cut at this height: no merge above it is done. ``n_clusters`` must then be None.
    distance : str or callable, default="euclidean"
        A name that scipy knows ("cityblock" or "manhattan", "cosine", "hamming", …), a function of
        two rows, or "precomputed": X is the matrix of distances of all pairs. Linkages by centres
        ("ward", "centroid") need "euclidean", a kernel, or precomputed Euclidean distances.
    kernel : Kernel or str, optional
        Distances of the features of a kernel, √(k(x,x) + k(z,z) − 2k(x,z)), of rows of any kind.
    connectivity : matrix of shape (n_samples, n_samples) or callable, optional
        Only clusters that share an edge of this graph are merged; a function gives it for X, as
        ``sklearn.neighbors.kneighbors_graph`` does. Not with "centroid".
    memory : float, optional
        Bytes that the distances of all pairs may take; by default 4e9, some 22000 rows. Single
        linkage of vectors takes none.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of every sample, numbered in the order of their first samples.
    n_clusters_ : int
    linkage_ : ndarray of shape (n_samples − 1, 4)
        The merges in scipy's format: two nodes, the height, the number of samples.
    children_ : ndarray of shape (n_samples − 1, 2)
        The two nodes of every merge; merge i makes node n_samples + i.
    distances_ : ndarray of shape (n_samples − 1,)
        The heights of the merges. They never fall, except for "centroid" and along a graph, where
        a merge can be lower than one before it; `cut` then counts the highest merge in a branch.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The means of clusters, for Euclidean distances of vectors only.
    n_features_in_ : int

    Notes
    -----
    `predict` gives a new row to the cluster that it would be merged with. With single linkage
    that repeats ``labels_`` on the training rows. With the others it need not: the tree is greedy,
    and a row may be nearer to another cluster than to the one that it was merged into early.

    There is no objective whose optimum a certificate could refer to; the k-means objective of
    Ward's clusters can be compared with that of `KMeans`, which has a certificate.

    Examples
    --------
    >>> import minimand as mm
    >>> X = [[0.0], [1.0], [4.0], [5.0], [20.0]]
    >>> model = mm.Agglomerative(2, linkage="average").fit(X)
    >>> model.labels_
    array([0, 0, 0, 0, 1])
    >>> model.distances_
    array([ 1. ,  1. ,  4. , 17.5])
    >>> model.cut(n_clusters=3), model.cut(height=2.0)
    (array([0, 0, 1, 1, 2]), array([0, 0, 1, 1, 2]))
    >>> model.predict([[7.0], [15.0]])
    array([0, 1])
    """

    labels_: IntArray
    n_clusters_: int
    linkage_: Array
    children_: IntArray
    distances_: Array

    def __init__(
        self,
        n_clusters: int | None = 2,
        linkage: str = "ward",
        *,
        height: float | None = None,
        distance: Any = "euclidean",
        kernel: Any = None,
        connectivity: Any = None,
        memory: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.height = height
        self.distance = distance
        self.kernel = kernel
        self.connectivity = connectivity
        self.memory = memory

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Merge all samples, and cut the tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or what ``kernel`` or a function ``distance`` takes.
        y : ignored
        """
        check_limits(self)
        pairs = dissimilarity_of(self.distance, self.kernel)
        check_linkage(self.linkage, pairs, self.connectivity)
        check_cut(self.n_clusters, self.height, np.iinfo(np.int64).max)
        X = rows_for(self, X, of_numbers=pairs.of_numbers, reset=True)
        if pairs.vectors and pairs.euclidean:
            X = in_range(X, reset=True)
        pairs.fit(X)
        check_cut(self.n_clusters, self.height, pairs.n_samples)
        tree = merged(pairs, X, self.linkage, self.connectivity, self.memory)
        self._tree, self._pairs = tree, pairs
        self.children_, self.distances_, self.linkage_ = tree.children, tree.heights, tree.linkage
        self.labels_ = self.cut(self.n_clusters, self.height)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self._linkage = self.linkage
        self.__dict__.pop("cluster_centers_", None)
        if pairs.vectors and pairs.euclidean:
            self.cluster_centers_ = means(X, self.labels_)
        self._nearest = nearest_of(pairs, self.labels_, self.linkage)
        return self

    def cut(self, n_clusters: int | None = None, height: float | None = None) -> IntArray:
        """The clusters of another cut: at a number of clusters, or at a height.

        The model stays as it is. At a height, clusters are the largest branches all of whose merges
        are at most that high.
        """
        check_is_fitted(self, "children_")
        tree: Tree = self._tree
        check_cut(n_clusters, height, tree.n_leaves)
        return tree.at_number(int(n_clusters)) if height is None else tree.at_height(height)  # type: ignore[arg-type]

    def predict(self, X: ArrayLike) -> IntArray:
        """The nearest cluster of every row, under the linkage of the fit."""
        check_is_fitted(self, "labels_")
        X = rows_for(self, X, of_numbers=self._pairs.of_numbers, reset=False)
        return nearest_clusters(self._nearest, X)

    def plot(self, kind: str = "dendrogram", ax: Any = None, *, leaves: int = 40) -> Any:
        """Draw the tree, with the clusters of ``labels_`` in colour.

        Parameters
        ----------
        kind : {"dendrogram", "clusters", "silhouettes"}, default="dendrogram"
            The tree; the samples on two components (vectors only); or how much nearer each sample
            is to its own cluster than to the next one, by the distances of the fit.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        leaves : int, default=40
            Most leaves of the tree; of larger trees, branches are drawn as one leaf with their
            number of samples.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self, "labels_")
        check_picture_of_tree(self, kind, rows="the rows of the fit are known")
        what = "Agglomerative.plot"
        if kind == "silhouettes":
            return silhouettes_of_fitted(self._pairs, self.labels_, what, ax)
        if kind == "clusters":
            from ...report.clusters import plot_clusters

            if not self._pairs.vectors:
                raise ValueError(
                    "kind='clusters' draws rows of numbers with a distance of their own: take "
                    "'dendrogram' or 'silhouettes'."
                )
            centers = getattr(self, "cluster_centers_", None)
            return plot_clusters(self._pairs.z, self.labels_, centers, what=what, ax=ax)
        from ...report.dendrogram import plot_dendrogram

        return plot_dendrogram(
            self.linkage_,
            self.labels_,
            leaves=leaves,
            height=self._cut_between(),
            ylabel=f"height of the merge ({self._linkage} linkage)",
            what=what,
            ax=ax,
        )

    def _cut_between(self) -> float | None:
        """A height between the last merge that was done and the first that was not."""
        heights = np.sort(self._tree.cut_heights)
        done = len(heights) + 1 - self.n_clusters_
        if done == len(heights):
            return None
        low = heights[done - 1] if done else 0.0
        return 0.5 * (low + heights[done])

    def _facts(self) -> dict[str, str]:
        """The clusters and their sizes."""
        if "labels_" not in vars(self):
            return {}
        sizes = np.sort(np.bincount(self.labels_))[::-1]
        shown = ", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else "")
        return {"linkage": self._linkage, "clusters": f"{self.n_clusters_}", "sizes": shown}

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted; X may be a matrix of distances."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.connectivity is None
        given = self.kernel == "precomputed" or getattr(self.kernel, "pairwise", False)
        tags.input_tags.pairwise = self.distance == "precomputed" or given
        return tags
