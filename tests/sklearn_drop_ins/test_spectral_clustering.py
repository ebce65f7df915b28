"""SpectralClustering: scikit-learn's graphs, better cuts, and a certificate."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import cluster
from sklearn.datasets import make_blobs, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
from minimand.sklearn import SpectralClustering

X, _ = make_blobs(150, centers=5, cluster_std=1.8, random_state=3)


def cut_of(model):
    """The normalised cut of a fitted model, on its graph without loops."""
    K = model.affinity_matrix_
    K = K.toarray() if sparse.issparse(K) else np.array(K)
    np.fill_diagonal(K, 0.0)
    return mm.normalized_cut(K, model.labels_)


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors", "precomputed"])
def test_the_graph_is_theirs_and_the_cut_is_not_worse(affinity):
    data = mm.RBF(2.0)(X) if affinity == "precomputed" else X
    options = {"affinity": affinity, "gamma": 0.2, "random_state": 0}
    theirs = cluster.SpectralClustering(5, **options).fit(data)
    ours = SpectralClustering(5, **options).fit(data)
    for a, b in [(theirs.affinity_matrix_, ours.affinity_matrix_)]:
        assert abs(a - b).max() == 0
    assert cut_of(ours) <= cut_of(theirs) + 1e-9
    assert ours.certificate_.primal == pytest.approx(cut_of(ours))
    assert isinstance(ours, cluster.SpectralClustering)
    assert (ours.fit_predict(data) == ours.labels_).all()


def test_distances_callables_and_nodes_without_edges():
    moons, moon = make_moons(120, noise=0.05, random_state=0)
    far = np.sqrt(((moons[:, None] - moons) ** 2).sum(axis=2))
    options = {"affinity": "precomputed_nearest_neighbors", "n_neighbors": 8, "random_state": 0}
    found = SpectralClustering(2, **options).fit(far).labels_
    assert (found == moon).all() or (found != moon).all()
    model = SpectralClustering(2, affinity=lambda a, b: float(np.exp(-8 * ((a - b) ** 2).sum())))
    assert set(model.fit(moons).labels_) == {0, 1}
    alone = sparse.csr_matrix(
        np.diag([1.0, 0.0, 0.0]) + np.diag([0.0, 1.0], 1) + np.diag([0.0, 1.0], -1)
    )
    assert (
        SpectralClustering(2, affinity="precomputed").fit(alone).labels_[0]
        not in (SpectralClustering(2, affinity="precomputed").fit(alone).labels_[1:])
    )
    with pytest.raises(ValueError, match="n_clusters"):
        SpectralClustering(0).fit(X)


@pytest.mark.conformance
@parametrize_with_checks([SpectralClustering(n_clusters=2, n_init=1)])
def test_scikit_learns_checks_of_spectral_clustering(estimator, check):
    check(estimator)
