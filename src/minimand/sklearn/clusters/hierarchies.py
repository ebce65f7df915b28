"""Drop-ins of scikit-learn's hierarchies: `AgglomerativeClustering` and `BisectingKMeans`.

The trees are those of scikit-learn itself. What is new is `predict` for new rows, and the
certificate of the k-means objective.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import cluster
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._base.typing import ArrayLike, IntArray
from ...certificate import Certificate
from ...estimators.inputs.matrix import is_plain
from ...kernels.dissimilarity import dissimilarity_of
from ...reverse.finite_squares import in_range_as_given
from ...reverse.hierarchy.judged import budget_of, of_labels
from ...reverse.hierarchy.nearest import nearest_clusters, nearest_of

_FEW = 10**7  # numbers that are copied to say what is wrong with them; safeguard of memory


class AgglomerativeClustering(cluster.AgglomerativeClustering):
    """scikit-learn's AgglomerativeClustering, which also predicts the clusters of new rows.

    Parameters, attributes and ``labels_`` are scikit-learn's. `minimand.Agglomerative` has more:
    centroid linkage, all of scipy's distances, kernels, other cuts of the same tree and pictures.

    Examples
    --------
    >>> from minimand.sklearn import AgglomerativeClustering
    >>> model = AgglomerativeClustering(2, linkage="average").fit([[0.0], [1.0], [9.0]])
    >>> model.predict([[0.5], [8.0]]).tolist() == model.labels_[[0, 2]].tolist()
    True
    """

    def _fit(self, X: Any) -> Self:
        """Merge all samples, and remember them for `predict`; X is checked by now."""
        super()._fit(X)
        self._merged = None if callable(self.metric) else (np.array(X), self.metric, self.linkage)
        return self

    def predict(self, X: ArrayLike) -> IntArray:
        """The cluster that every row would be merged with, under the linkage of the fit."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        if self._merged is None:
            raise ValueError(
                "predict does not take a metric that is a function of all rows: use "
                "minimand.Agglomerative, whose distance is a function of two rows."
            )
        rows, metric, linkage = self._merged
        pairs = dissimilarity_of(metric).fit(rows)
        return nearest_clusters(nearest_of(pairs, self.labels_, linkage), X)


class BisectingKMeans(cluster.BisectingKMeans):
    """scikit-learn's BisectingKMeans with a certificate of its objective.

    ``certificate_`` compares ``inertia_`` with the sum of the discarded eigenvalues of the scatter
    matrix, which no clustering can undercut; its kind is "relaxation". `minimand.Divisive` has
    more: cuts, kernels, normalised cuts, limits and pictures.

    Examples
    --------
    >>> from minimand.sklearn import BisectingKMeans
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> certificate = BisectingKMeans(3, random_state=0).fit(X).certificate_
    >>> certificate.kind, 0 < certificate.dual < certificate.primal
    ('relaxation', True)
    """

    certificate_: Certificate

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> Self:
        """Divide the samples; see scikit-learn."""
        X = in_range_as_given(X, reset=True)
        try:
            super().fit(X, y, sample_weight)
        except ValueError as error:
            _tell_equal_rows(X, self.n_clusters, error)
            raise
        if not is_plain(X):  # plain arrays were checked above, and need no conversion
            X = validate_data(self, X, reset=False, accept_sparse="csr")
        s = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        s = np.full(X.shape[0], float(s)) if s.ndim == 0 else s
        k = int(self.n_clusters)
        # Of the labels: scikit-learn's sums of squares are those of products, which may cancel.
        labels = np.asarray(self.labels_)
        found = of_labels(self, X, labels, k, None, s, budget_of(X, k))
        self.certificate_ = replace(found, iterations=k - 1)
        return self

    def predict(self, X: ArrayLike) -> Any:
        """The cluster of every row, down the tree; in double precision if the fit was."""
        check_is_fitted(self)
        X = self._check_test_data(X)
        return super().predict(X.astype(self.cluster_centers_.dtype, copy=False))


def _tell_equal_rows(X: Any, k: Any, error: ValueError) -> None:
    """Say so in the place of an error of scikit-learn's, if it ran out of rows to divide."""
    few = math.prod(np.shape(X)) <= _FEW
    if not few or not ("population" in str(error) or "greater than 0" in str(error)):
        return
    rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
    different = len(np.unique(rows, axis=0))
    if different < int(k):
        raise ValueError(
            f"n_clusters={k} is more than the {different} different rows of X: pass a smaller "
            "n_clusters."
        ) from error
    raise ValueError(
        f"rounding hides how the rows of X differ, so that n_clusters={k} clusters are not found: "
        "subtract the mean of X, or use minimand.Divisive."
    ) from error
