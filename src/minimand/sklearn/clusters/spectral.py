"""SpectralClustering: the normalised cut that spectral clustering relaxes, with a certificate."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import cluster, get_config
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from sklearn.utils.validation import validate_data

from ..._base.typing import ArrayLike
from ...certificate import Certificate
from ...reverse.cuts.checks import FAINT
from ...reverse.cuts.normalized_cut import NormalizedCut
from ...solvers.history import History

_EDGE = 1e10 * FAINT  # of the largest affinity; safeguard: above what `NormalizedCut` refuses
_BAND = 32  # rows of a temporary, which stays in a cache; safeguard


class SpectralClustering(cluster.SpectralClustering):
    r"""Cut a graph into clusters, as `sklearn.cluster.SpectralClustering`, with a certificate.

    Spectral clustering relaxes the normalised cut and rounds the eigenvectors of the relaxed
    problem to clusters. This class starts from such a rounding and goes on: rows move until no move
    of a single one lowers the cut. As in scikit-learn, loops of the graph do not count.
    `minimand.NormalizedCut` also has sample weights, predicts new rows and takes time limits.

    Parameters
    ----------
    n_clusters, random_state, gamma, affinity, n_neighbors, degree, coef0, kernel_params, n_jobs
        As in scikit-learn. Affinities must not be negative.
    eigen_solver, n_components, n_init, eigen_tol, assign_labels, verbose
        Accepted; they select how the relaxed problem is solved and rounded, and are not needed
        here.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    affinity_matrix_ : array or sparse matrix of shape (n_samples, n_samples)
    certificate_ : Certificate
        Of the normalised cut, of kind "relaxation"; "global" if no edge is cut.
    history_ : History

    Examples
    --------
    >>> from minimand.sklearn import SpectralClustering
    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(200, noise=0.05, random_state=0)
    >>> model = SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(X)
    >>> bool((model.labels_ == moon).all() or (model.labels_ != moon).all())
    True
    """

    certificate_: Certificate
    history_: History

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Cut the graph of the rows of X; y is ignored."""
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
        X = validate_data(
            self, X, accept_sparse=["csr", "csc", "coo"], dtype=np.float64, ensure_min_samples=2
        )
        self.affinity_matrix_ = self._affinities(X)
        found = NormalizedCut(
            self.n_clusters, kernel="precomputed", random_state=self.random_state
        ).fit(_without_loops(self.affinity_matrix_))
        self.labels_, self.certificate_ = found.labels_, found.certificate_
        self.history_ = found.history_
        return self

    def _affinities(self, X: Any) -> Any:
        """The matrix that scikit-learn computes."""
        if self.affinity == "precomputed":
            return X
        if self.affinity in ("nearest_neighbors", "precomputed_nearest_neighbors"):
            if self.affinity == "nearest_neighbors":
                near = kneighbors_graph(
                    X, n_neighbors=self.n_neighbors, include_self=True, n_jobs=self.n_jobs
                )
            else:
                search = NearestNeighbors(
                    n_neighbors=self.n_neighbors, n_jobs=self.n_jobs, metric="precomputed"
                )
                near = search.fit(X).kneighbors_graph(X=X, mode="connectivity")
            return 0.5 * (near + near.T)
        params = dict(self.kernel_params or {})
        if not callable(self.affinity):
            params |= {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(X, metric=self.affinity, filter_params=True, **params)


def _without_loops(matrix: Any) -> Any:
    """The matrix with a diagonal of zeros, but for nodes without any edge, which keep a loop.

    Affinities that are nothing but an underflow are no edges: nobody could divide by their sums.
    """
    if sparse.issparse(matrix):
        found = sparse.csr_array(matrix, dtype=np.float64, copy=True)
        found.setdiag(0.0)
        most = np.abs(found.data).max(initial=0.0)
        found.data[np.abs(found.data) < _EDGE * most] = 0.0
        found.eliminate_zeros()
        alone = np.flatnonzero(np.diff(found.indptr) == 0)
        if alone.size:
            loops = np.full(alone.size, most or 1.0)
            found = found + sparse.csr_array((loops, (alone, alone)), shape=found.shape)
        return found
    found = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(found, 0.0)
    most = max(float(found.max(initial=0.0)), -float(found.min(initial=0.0)))
    for start in range(0, len(found), _BAND):
        rows = found[start : start + _BAND]
        rows[np.abs(rows) < _EDGE * most] = 0.0
    alone = np.flatnonzero(~found.any(axis=1))
    found[alone, alone] = most or 1.0
    found.setflags(write=False)
    return found
