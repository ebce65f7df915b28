"""`Agglomerative` against brute force, spanning trees and scikit-learn, and its cuts."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

LINKAGES = ["single", "complete", "average", "ward", "centroid"]
RNG = np.random.default_rng(5)


def distance_of(a, b, linkage):
    """The distance of two clusters of points, from the definition."""
    pairs = cdist(a, b)
    if linkage in ("single", "complete", "average"):
        return {"single": np.min, "complete": np.max, "average": np.mean}[linkage](pairs)
    apart = np.linalg.norm(a.mean(axis=0) - b.mean(axis=0))
    return apart * (np.sqrt(2 * len(a) * len(b) / (len(a) + len(b))) if linkage == "ward" else 1)


def brute_force(X, linkage):
    """Merge the closest two clusters, with all distances from the definition in every step."""
    clusters = {i: [i] for i in range(len(X))}
    heights, partitions = [], [frozenset(map(frozenset, ([i] for i in clusters)))]
    for step in range(len(X) - 1):
        names = sorted(clusters)
        found = min(
            (distance_of(X[clusters[a]], X[clusters[b]], linkage), a, b)
            for i, a in enumerate(names)
            for b in names[i + 1 :]
        )
        heights.append(found[0])
        clusters[len(X) + step] = clusters.pop(found[1]) + clusters.pop(found[2])
        partitions.append(frozenset(map(frozenset, clusters.values())))
    return np.array(heights), partitions[::-1]


def partition(labels):
    return frozenset(frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels))


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("how", ["vectors", "kernel", "precomputed", "function"])
def test_against_brute_force(linkage, how):
    X = RNG.standard_normal((17, 2))
    heights, partitions = brute_force(X, linkage)
    options, given = {}, X
    if how == "kernel":
        options = {"kernel": mm.Linear()}
    elif how == "precomputed":
        options, given = {"distance": "precomputed"}, squareform(pdist(X))
    elif how == "function":
        options = {"distance": lambda a, b: np.linalg.norm(a - b)}
        if linkage in ("ward", "centroid"):
            pytest.skip("a function has no centres")
    model = mm.Agglomerative(3, linkage, **options).fit(given)
    np.testing.assert_allclose(model.distances_, heights, atol=1e-7)
    assert is_valid_linkage(model.linkage_)
    for k in range(1, 18):
        assert partition(model.cut(n_clusters=k)) == partitions[k - 1]
    assert partition(model.labels_) == partitions[2]
    if linkage != "centroid":
        assert (np.diff(model.distances_) >= -1e-12).all()


def test_single_linkage_is_the_minimum_spanning_tree():
    X = RNG.standard_normal((80, 3))
    tree = minimum_spanning_tree(squareform(pdist(X)))
    model = mm.Agglomerative(5, "single").fit(X)
    np.testing.assert_allclose(model.distances_, np.sort(tree.data))
    assert (model.predict(X) == model.labels_).all()


@pytest.mark.parametrize("kernel", [None, "rbf", mm.Polynomial(2)])
def test_single_linkage_predicts_its_labels(kernel):
    X, _ = make_moons(120, noise=0.05, random_state=0)
    model = mm.Agglomerative(2, "single", kernel=kernel).fit(X)
    assert (model.predict(X) == model.labels_).all()


def test_moons_are_solved_by_single_linkage():
    X, y = make_moons(200, noise=0.04, random_state=1)
    assert mm.metrics.optimal_accuracy(y, mm.Agglomerative(2, "single").fit_predict(X)) == 1.0


@pytest.mark.parametrize("linkage", LINKAGES)
def test_predict_is_the_nearest_cluster_under_the_linkage(linkage):
    X, new = RNG.standard_normal((40, 2)), RNG.standard_normal((25, 2))
    model = mm.Agglomerative(4, linkage).fit(X)
    groups = [X[model.labels_ == c] for c in range(4)]
    wanted = [
        int(np.argmin([distance_of(x[None, :], group, linkage) for group in groups])) for x in new
    ]
    assert model.predict(new).tolist() == wanted
    assert mm.Agglomerative(4, linkage, kernel="linear").fit(X).predict(new).tolist() == wanted


def test_inversions_of_centroids_are_cut_like_scipy_does():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.87], [5.0, 5.0]])  # nearly equilateral
    model = mm.Agglomerative(2, "centroid").fit(X)
    assert model.distances_[1] < model.distances_[0]  # the third corner is nearer to the centre
    between = 0.5 * (model.distances_[0] + model.distances_[1])
    for height in (0.0, between, model.distances_[0], 2.0, 100.0):
        wanted = fcluster(model.linkage_, height, "distance")
        assert partition(model.cut(height=height)) == partition(wanted)
    assert len(set(model.cut(height=between))) == 4
    assert model.cut(n_clusters=2).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_cuts_and_scikit_learn(linkage):
    X = RNG.standard_normal((60, 3))
    model = mm.Agglomerative(None, linkage, height=1.5).fit(X)
    assert partition(model.labels_) == partition(fcluster(model.linkage_, 1.5, "distance"))
    assert model.n_clusters_ == model.labels_.max() + 1
    for k in (1, 2, 7, 60):
        theirs = AgglomerativeClustering(k, linkage=linkage).fit_predict(X)
        assert partition(model.cut(n_clusters=k)) == partition(theirs)
    # clusters are numbered in the order of their first samples
    assert (np.diff(np.unique(model.labels_, return_index=True)[1]) > 0).all()


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_connectivity_is_scikit_learns(linkage):
    X, _ = make_moons(60, noise=0.1, random_state=0)
    graph = kneighbors_graph(X, 8)
    theirs = AgglomerativeClustering(4, linkage=linkage, connectivity=graph).fit_predict(X)
    model = mm.Agglomerative(4, linkage, connectivity=graph).fit(X)
    assert partition(model.labels_) == partition(theirs)
    function = mm.Agglomerative(4, linkage, connectivity=lambda x: kneighbors_graph(x, 8)).fit(X)
    assert partition(function.labels_) == partition(theirs)
    if linkage != "ward":
        rbf = mm.Agglomerative(4, linkage, connectivity=graph, kernel="linear").fit(X)
        np.testing.assert_allclose(rbf.distances_, model.distances_, atol=1e-6)


def test_invariances():
    X = RNG.standard_normal((50, 4))
    order = RNG.permutation(50)
    for linkage in LINKAGES:
        model = mm.Agglomerative(5, linkage).fit(X)
        moved = mm.Agglomerative(5, linkage).fit(3.0 * X[order] + 7.0)
        assert adjusted_rand_score(model.labels_[order], moved.labels_) == 1.0
        np.testing.assert_allclose(moved.distances_, 3 * model.distances_, rtol=1e-6)


def test_ordinary_data():
    X = RNG.standard_normal((40, 3)) * [1.0, 1000.0, 0.0] + [0, 0, 5]  # units, a constant column
    X[10:20] = X[0]  # duplicates
    wanted = mm.Agglomerative(4).fit(X)
    frame = pd.DataFrame(X, columns=list("abc"))
    locked = X.copy()
    locked.setflags(write=False)
    for given in (frame, X.tolist(), np.asfortranarray(X), locked, sparse.csr_matrix(X)):
        model = mm.Agglomerative(4).fit(given)
        assert (model.labels_ == wanted.labels_).all()
        assert (model.predict(given) == wanted.predict(X)).all()
    assert mm.Agglomerative(4, "single").fit(locked).labels_.max() == 3
    halves = mm.Agglomerative(4).fit(X.astype(np.float32))
    assert adjusted_rand_score(halves.labels_, wanted.labels_) == 1.0
    copy = pickle.loads(pickle.dumps(wanted))
    assert (copy.predict(X) == wanted.predict(X)).all()
    words = ["aaaa", "aaab", "zzzz", "zzzy"]
    strings = mm.Agglomerative(2, "average", kernel=mm.Spectrum(2)).fit(words)
    assert strings.labels_.tolist() == [0, 0, 1, 1]
    assert strings.predict(["aaaaa", "zzyz"]).tolist() == [0, 1]
    alone = mm.Agglomerative(1).fit([[1.0, 2.0]])
    assert alone.labels_.tolist() == [0]
    assert alone.predict([[5.0, 5.0]]).tolist() == [0]
    assert "linkage ward, clusters 4" in repr(wanted)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer ≥ 1"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer ≥ 1"),
        ({"n_clusters": 99}, "more than the n_samples=30 rows"),
        ({"n_clusters": None}, "either n_clusters or height"),
        ({"height": 1.0}, "either n_clusters or height"),
        ({"n_clusters": None, "height": -1.0}, "height must be a finite number ≥ 0"),
        ({"linkage": "median"}, "linkage must be one of"),
        ({"distance": "manhattan"}, "needs the centres of clusters"),
        ({"distance": "manhatten"}, "is not known"),
        ({"kernel": "rbf", "distance": "cosine"}, "pass one of the two"),
        ({"memory": 1000.0}, "of distances of all pairs, more than memory=1000 bytes"),
        ({"connectivity": np.eye(3)}, "connectivity must have a row and a column"),
        ({"connectivity": np.eye(30), "linkage": "centroid"}, "does not take a connectivity"),
        ({"connectivity": np.eye(30), "kernel": "rbf"}, "takes rows of numbers"),
    ],
)
def test_bad_input_gets_a_sentence(options, sentence):
    X = RNG.standard_normal((30, 2))
    with pytest.raises(ValueError, match=sentence):
        mm.Agglomerative(**options).fit(X)


def test_bad_data_and_unknown_parameters():
    with pytest.raises(ValueError, match="contains NaN"):
        mm.Agglomerative().fit([[0.0], [np.nan]])
    with pytest.raises(TypeError, match="has no parameter 'affinity'"):
        mm.Agglomerative(affinity="cosine")
    model = mm.Agglomerative(2).fit(RNG.standard_normal((9, 2)))
    with pytest.raises(ValueError, match="2 features"):
        model.predict([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="more than the n_samples=9"):
        model.cut(n_clusters=10)


def test_many_rows_by_single_linkage_take_no_matrix():
    X = RNG.standard_normal((3000, 2))
    assert mm.Agglomerative(3, "single", memory=1000.0).fit(X).labels_.max() == 2


@parametrize_with_checks([mm.Agglomerative()])
def test_sklearn_checks_of_ward(estimator, check):
    check(estimator)


@pytest.mark.conformance
@parametrize_with_checks(
    [mm.Agglomerative(linkage="single"), mm.Agglomerative(linkage="average", kernel="rbf")]
)
def test_sklearn_checks_of_other_linkages(estimator, check):
    check(estimator)
