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


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_affinities_that_underflow_are_no_edges(form):
    """Groups so far apart that exp(−γ‖x − z‖²) is a subnormal number between them, or zero."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 12)
    rows = (
        0.1 * rng.standard_normal((36, 2)) + np.array([[0.0, 0.0], [27.2, 0.0], [0.0, 60.0]])[group]
    )
    affinity = mm.RBF(np.sqrt(0.5))(rows)
    between = affinity[np.ix_(group == 0, group == 1)]
    assert 0 < between.max() < np.finfo(float).tiny
    model = SpectralClustering(3, affinity="precomputed", random_state=0).fit(form(affinity))
    pairs = set(zip(group.tolist(), model.labels_.tolist(), strict=True))
    assert len(pairs) == 3  # the groups, whatever their numbers are
    assert model.certificate_.kind == "global"
    lonely = SpectralClustering(2, gamma=1.0, random_state=0).fit([[0.0], [0.1], [0.2], [40.0]])
    assert lonely.labels_.tolist().count(lonely.labels_[3]) == 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_no_cut_is_below_the_certificate(seed, affinity):
    """The bound by known eigenvectors is that of all eigenvalues, up to a share of the cut."""
    rows, _ = make_blobs(230 + 20 * seed, centers=4, cluster_std=2.5, random_state=seed)
    options = {"affinity": affinity, "gamma": 0.1, "n_neighbors": 12, "random_state": seed}
    model = SpectralClustering(3 + seed % 3, **options).fit(rows)
    K = model.affinity_matrix_
    K = K.toarray() if sparse.issparse(K) else np.array(K)
    np.fill_diagonal(K, 0.0)
    root = np.sqrt(K.sum(axis=1))
    values = np.linalg.eigvalsh(K / np.outer(root, root))[-model.n_clusters :]
    found, true = model.certificate_, model.n_clusters - values.sum()
    assert found.dual <= true + 1e-12
    assert found.dual >= true - 0.06 * found.primal - 1e-9


@pytest.mark.conformance
@parametrize_with_checks([SpectralClustering(n_clusters=2, n_init=1)])
def test_scikit_learns_checks_of_spectral_clustering(estimator, check):
    check(estimator)
