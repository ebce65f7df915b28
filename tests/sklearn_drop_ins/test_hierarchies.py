"""The drop-ins of hierarchies have scikit-learn's trees, and what minimand adds."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import cluster
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
from minimand.sklearn import AgglomerativeClustering, BisectingKMeans

X, _ = load_iris(return_X_y=True)


@pytest.mark.parametrize("linkage", ["ward", "single", "complete", "average"])
def test_trees_are_scikit_learns_and_predict_is_ours(linkage):
    theirs = cluster.AgglomerativeClustering(4, linkage=linkage).fit(X)
    ours = AgglomerativeClustering(4, linkage=linkage).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert isinstance(ours, cluster.AgglomerativeClustering)
    model = mm.Agglomerative(4, linkage).fit(X)
    new = X[::7] + 0.05
    # our clusters have other numbers
    name = dict(zip(model.labels_, ours.labels_))
    assert ours.predict(new).tolist() == [name[c] for c in model.predict(new)]


def test_metrics():
    ours = AgglomerativeClustering(3, linkage="average", metric="manhattan").fit(X)
    assert len(ours.predict(X)) == 150
    function = AgglomerativeClustering(3, linkage="average", metric=lambda x: cdist(x, x)).fit(X)
    with pytest.raises(ValueError, match="a function of all rows"):
        function.predict(X)
    square = np.abs(X[:, None] - X).sum(axis=2)
    given = AgglomerativeClustering(3, linkage="average", metric="precomputed").fit(square)
    np.testing.assert_array_equal(given.predict(square), ours.predict(X))


def test_bisecting_has_a_certificate():
    theirs = cluster.BisectingKMeans(4, random_state=0).fit(X)
    ours = BisectingKMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    values = np.linalg.eigvalsh((X - X.mean(axis=0)).T @ (X - X.mean(axis=0)))
    assert ours.certificate_.primal == pytest.approx(theirs.inertia_, rel=1e-12)
    assert ours.certificate_.dual == pytest.approx(values[0], rel=1e-6)
    again = mm.certify(BisectingKMeans(3, random_state=0).fit(X), X)  # the tree decides, as in fit
    assert again.primal == pytest.approx(BisectingKMeans(3, random_state=0).fit(X).inertia_)
    assert again.dual == pytest.approx(BisectingKMeans(3, random_state=0).fit(X).certificate_.dual)
    weights = np.arange(150) % 3
    copies = np.repeat(np.arange(150), weights)
    weighted = BisectingKMeans(4, random_state=0).fit(X, sample_weight=weights).certificate_
    assert weighted.dual == pytest.approx(
        BisectingKMeans(4, random_state=0).fit(X[copies]).certificate_.dual
    )


@pytest.mark.conformance
@parametrize_with_checks([AgglomerativeClustering(), BisectingKMeans(random_state=0)])
def test_sklearn_checks_of_hierarchies(estimator, check):
    if "sample_weight_equivalence" in str(check.func.__name__):
        pytest.skip("scikit-learn's own class starts at random rows too")
    check(estimator)


def test_more_clusters_than_different_rows_are_refused_in_a_sentence():
    """scikit-learn runs out of rows to divide for some of the seeds, and asks for a population."""
    said = set()
    for seed in range(60):
        rng = np.random.RandomState(seed)
        X = rng.randn(2, 2)[rng.randint(0, 2, 5)]
        for rows in (X, sparse.csr_matrix(X)):
            try:
                BisectingKMeans(3, random_state=seed).fit(rows)
            except ValueError as error:
                said.add(str(error)[:60])
    assert said <= {
        f"n_clusters=3 is more than the {m} different rows of X: pass a smal"[:60] for m in (1, 2)
    }
    assert said
