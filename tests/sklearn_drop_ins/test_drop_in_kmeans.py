"""The drop-ins of KMeans and MiniBatchKMeans: scikit-learn's results, with a lower bound."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import cluster
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from minimand.sklearn import KMeans, MiniBatchKMeans
from sklearn_checks import by_checks, quietly, weights_are_no_copies


@pytest.fixture(autouse=True)
def _one_thread():
    """The threads of scikit-learn's loops wait for each other on a busy machine."""
    with threadpool_limits(1):
        yield


def expected_failures(estimator):
    """As in scikit-learn: the rows that are drawn depend on how many there are."""
    return weights_are_no_copies("k-means++ draws other rows if rows are repeated or left out")


def blobs(n=500, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return 2 * rng.normal(size=(6, d))[rng.integers(6, size=n)] + rng.normal(size=(n, d))


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("k", [1, 4, 30])
@pytest.mark.parametrize("tol", [1e-4, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_start_gives_the_same_clusters(kind, k, tol, weighted):
    X = blobs()
    X = {"float64": X, "float32": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}[kind]
    weights = np.random.default_rng(1).uniform(0.1, 2, X.shape[0]) if weighted else None
    start = blobs(seed=9)[:k]
    peer = cluster.KMeans(k, init=start, n_init=1, tol=tol).fit(X, sample_weight=weights)
    mine = KMeans(k, init=start, n_init=1, tol=tol).fit(X, sample_weight=weights)
    assert np.array_equal(mine.labels_, peer.labels_)
    assert mine.n_iter_ == peer.n_iter_
    assert mine.cluster_centers_.dtype == peer.cluster_centers_.dtype
    np.testing.assert_allclose(mine.cluster_centers_, peer.cluster_centers_, atol=1e-4)
    assert mine.inertia_ == pytest.approx(peer.inertia_, rel=1e-4)
    assert np.array_equal(mine.predict(X), peer.predict(X))
    np.testing.assert_allclose(mine.transform(X), peer.transform(X), atol=1e-3)
    assert mine.certificate_.dual <= mine.inertia_ + mine.certificate_.rounding
    assert isinstance(mine, cluster.KMeans)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_the_same_seed_gives_the_same_clusters(init):
    X = blobs()
    peer = cluster.KMeans(6, init=init, random_state=3, n_init=2).fit(X)
    mine = KMeans(6, init=init, random_state=3, n_init=2).fit(X)
    assert np.array_equal(mine.labels_, peer.labels_)


def test_mini_batches_are_those_of_scikit_learn():
    X = blobs()
    peer = cluster.MiniBatchKMeans(5, random_state=0, n_init=2).fit(X)
    mine = MiniBatchKMeans(5, random_state=0, n_init=2).fit(X)
    np.testing.assert_array_equal(mine.cluster_centers_, peer.cluster_centers_)
    assert mine.certificate_.primal == pytest.approx(peer.inertia_)
    assert mine.certificate_.dual <= peer.inertia_
    assert not hasattr(mine.partial_fit(X[:50]), "certificate_")


def test_starts_that_are_functions_and_duplicates():
    X = np.repeat(blobs(4), 3, axis=0)
    model = KMeans(2, init=lambda X, k, random_state: X[:12:6], n_init=1).fit(X)
    assert model.cluster_centers_.shape == (2, 4)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        KMeans(6, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_samples=12 should be >= n_clusters=13"):
        KMeans(13).fit(X)


@by_checks(
    [KMeans(random_state=0)],
    [MiniBatchKMeans(random_state=0), KMeans(algorithm="elkan", random_state=0)],
    expected_failures,
)
def test_sklearn_checks(estimator, check):
    quietly(estimator, check)
