"""Proofs of optimality: valid for all partitions, closed on separated clusters, never false."""

import numpy as np
import pytest
from partitions import partitions, scatter
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs

import minimand as mm
from minimand.reverse.proof.closed_form import at, best_point, distances, matrix_of
from minimand.reverse.proof.points import PairPoints, RowPoints
from minimand.reverse.proof.prove import clusters_matrix, prove

RNG = np.random.default_rng(3)


def best_partition(K, k, weights):
    found = [(scatter(K, labels, weights), tuple(labels)) for labels in partitions(len(K), k)]
    value, labels = min(found)
    return value, np.array(labels)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_no_partition_is_below_the_bound(seed, k):
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(8, 2)), rng.integers(1, 4, size=8).astype(float)
    least, labels = best_partition(X @ X.T, k, weights)
    other = rng.permutation(np.arange(8) % k)
    for given, points in (
        (labels, PairPoints(X @ X.T, weights)),
        (other, RowPoints(X, weights)),
    ):
        proof = prove(points, given, k, scatter(X @ X.T, given, weights))
        assert proof.lower <= least * (1 + 1e-9) + 1e-12
    proof = prove(RowPoints(X, weights), labels, k, least)
    assert (
        least * (1 + 1e-9) + 1e-12 >= proof.lower >= 0.9 * least - 1e-9
    )  # the relaxation is rarely loose on so few points


def test_the_two_ways_to_the_eigenvalues_agree_and_blocks_have_their_sums():
    X, labels = make_blobs(60, centers=3, n_features=2, random_state=0)
    weights = RNG.uniform(0.5, 2.0, size=60)
    rows, pairs = RowPoints(X, weights), PairPoints(X @ X.T, weights)
    one, two = best_point(rows, labels, 3), best_point(pairs, labels, 3)
    assert one.lower == pytest.approx(two.lower, rel=1e-9)
    found = distances(rows, labels)
    z = float(found.limits.min())
    B = matrix_of(rows, labels, at(rows, found, z, 3).blocks)
    assert (B >= 0).all()
    np.testing.assert_allclose(B, B.T, atol=1e-9)
    root = np.sqrt(weights)
    C = rows.matrix()
    centred = rows.off_mean(np.where(labels[:, None] == np.arange(3), root[:, None], 0.0))
    image = rows.off_mean((C + B) @ centred)
    np.testing.assert_allclose(image, z * centred, atol=1e-8 * z)  # one eigenvalue for all clusters
    for t in range(3):
        assert (B[np.ix_(labels == t, labels == t)] == 0).all()
    Z = clusters_matrix(rows, labels, 3)
    np.testing.assert_allclose(Z @ root, root)
    np.testing.assert_allclose(Z @ Z, Z, atol=1e-12)


def test_separated_blobs_are_proved_optimal():
    X, _ = make_blobs(600, centers=5, n_features=10, cluster_std=2.0, random_state=1)
    model = KMeans(5, n_init=10, random_state=0).fit(X)
    plain = mm.certify(model, X)
    assert plain.kind == "relaxation"
    assert plain.primal == pytest.approx(model.inertia_)
    proved = mm.certify(model, X, thorough=True)
    assert proved.kind == "global"
    assert proved.relative <= 1e-9
    assert proved.dual >= plain.dual
    linear = mm.KernelKMeans(5, kernel="linear", random_state=0).fit(X)
    assert mm.certify(linear, X, thorough=True).kind == "global"
    assert mm.certify(model, sparse.csr_matrix(X), thorough=True).kind == "global"


def test_weights_count_in_proofs():
    X, _ = make_blobs(90, centers=3, n_features=4, random_state=1)
    weights = RNG.integers(0, 3, size=90).astype(float)
    model = KMeans(3, n_init=5, random_state=0).fit(X, sample_weight=weights)
    copies = np.repeat(np.arange(90), weights.astype(int))
    one = mm.certify(model, X, sample_weight=weights, thorough=True)
    two = mm.certify(model, X[copies], thorough=True)
    assert one.kind == two.kind == "global"
    assert one.primal == pytest.approx(two.primal)
    assert one.dual == pytest.approx(two.dual)


@pytest.mark.parametrize("seed", range(2))
def test_overlapping_blobs_are_never_proved_falsely(seed):
    X, _ = make_blobs(40, centers=4, n_features=2, cluster_std=6.0, random_state=seed)
    best = KMeans(6, n_init=30, random_state=0).fit(X)
    worse = KMeans(6, n_init=1, init="random", max_iter=2, random_state=seed).fit(X)
    for model in (best, worse):
        found = mm.certify(model, X, thorough=True)
        assert found.dual <= best.inertia_ * (1 + 1e-9)
        if model.inertia_ > best.inertia_ * (1 + 1e-5):
            assert found.kind == "relaxation"


def test_a_loose_closed_form_is_tightened():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = KMeans(3, n_init=30, random_state=0).fit(X)
    plain, thorough = mm.certify(model, X), mm.certify(model, X, thorough=True)
    points = RowPoints(X, np.ones(40))
    closed = best_point(points, model.labels_.astype(int), 3)
    assert thorough.dual >= max(plain.dual, closed.lower) - 1e-9
    assert thorough.dual > 0.8 * thorough.primal
    assert thorough.dual <= thorough.primal


def test_kernels_and_cuts_have_proofs_too():
    X, _ = make_blobs(80, centers=3, n_features=2, cluster_std=0.5, random_state=1)
    model = mm.KernelKMeans(3, kernel=mm.RBF(2.0), random_state=0).fit(X)
    found = mm.certify(model, X, thorough=True)
    assert found.primal == pytest.approx(model.inertia_)
    assert found.kind == "global"
    again = mm.certify(model, X)
    assert again.dual == pytest.approx(model.certificate_.dual)
    cut = mm.NormalizedCut(3, kernel=mm.RBF(2.0), random_state=0).fit(X)
    proof = mm.certify(cut, X, thorough=True)
    assert proof.primal == pytest.approx(cut.inertia_)
    assert proof.dual >= mm.certify(cut, X).dual - 1e-12
    assert proof.kind == "global"
    with pytest.raises(ValueError, match="fitted on"):
        mm.certify(cut, X[:10])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_no_cut_is_below_the_bound_of_its_dual(seed, k):
    rng = np.random.default_rng(seed)
    graph = rng.random((8, 8))
    graph = graph + graph.T
    model = mm.NormalizedCut(k, kernel="precomputed", n_init=5, random_state=0).fit(graph)
    least = min(mm.normalized_cut(graph, labels) for labels in partitions(8, k))
    assert mm.certify(model, graph, thorough=True).dual <= least + 1e-9


def test_a_single_cluster_is_optimal_and_models_with_other_centres_are_not():
    X, _ = make_blobs(50, centers=2, random_state=0)
    one = mm.certify(KMeans(1, n_init=1).fit(X), X, thorough=True)
    assert (one.kind, one.gap) == ("global", pytest.approx(0.0, abs=1e-9 * one.primal))
    off = MiniBatchKMeans(2, random_state=0, batch_size=10, max_iter=1, n_init=1).fit(X)
    found = mm.certify(off, X, thorough=True)
    assert found.primal >= KMeans(2, n_init=5, random_state=0).fit(X).inertia_ - 1e-9
    assert found.dual <= found.primal


def test_certify_says_what_it_needs():
    X, y = make_blobs(20, random_state=0)
    model = KMeans(2, n_init=1).fit(X)
    with pytest.raises(TypeError, match="X"):
        mm.certify(model)
    with pytest.raises(TypeError, match="thorough"):
        mm.certify(mm.Regressor().fit(X, y), X, y, thorough=True)
    with pytest.raises(ValueError, match="features"):
        mm.certify(model, X[:, :1])


def test_rounding_is_charged_where_inner_products_cancel():
    X = np.random.default_rng(5).normal(size=(8, 2))
    least = best_partition(X @ X.T, 3, np.ones(8))[0]
    for far in (1e3, 1e6, 1e8):
        rows = X + far
        model = mm.KernelKMeans(3, kernel="linear", n_init=10, random_state=0).fit(rows)
        own = scatter((X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T, model.labels_)
        for found in (model.certificate_, mm.certify(model, rows, thorough=True)):
            assert found.dual <= least * (1 + 1e-6)
            assert found.primal >= own * (1 - 1e-6)
            if own > least * (1 + 1e-4):
                assert found.kind == "relaxation"


def test_our_own_models_of_centres():
    X, _ = make_blobs(200, centers=4, n_features=6, random_state=1)
    model = mm.KMeans(4, random_state=0).fit(X)
    found = mm.certify(model, X)
    assert (found.primal, found.dual) == pytest.approx(
        (model.certificate_.primal, model.certificate_.dual)
    )
    assert mm.certify(model, X, thorough=True).kind == "global"


@pytest.mark.parametrize("row", [[0.0, 0.0], [3.0, -7.0]])
def test_equal_rows_are_proved_optimal(row):
    X = np.tile(row, (6, 1))
    model = mm.KernelKMeans(2, kernel="linear", random_state=0).fit(X)
    found = mm.certify(model, X, thorough=True)
    assert found.primal <= 1e-9
    assert found.dual <= found.primal
    assert found.kind == "global"


FAR = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0], [1e5, 0.0]])
POOR = np.array([[1.5, 0.0], [1.5, 1.0], [1e5, 0.0]])  # centres of 9 times the least objective


@pytest.mark.parametrize("far", [1e4, 1e5, 1e7])
def test_a_far_row_does_not_make_a_poor_clustering_optimal(far):
    rows, centres = np.where(FAR == 1e5, far, FAR), np.where(POOR == 1e5, far, POOR)
    labels = [0, 1, 0, 1, 2]
    for model in (
        mm.KMeans(3, init=centres),
        KMeans(3, init=centres, n_init=1),
        mm.KernelKMeans(3, kernel="linear", init=labels),
    ):
        found = mm.certify(model.fit(rows), rows, thorough=True)
        if found.primal > 1.001:
            assert found.kind == "relaxation"
        assert found.dual <= 1.0


def test_two_blobs_and_a_far_row():
    rng = np.random.default_rng(0)
    blobs = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + np.array([8.0, 0.0])])
    rows, middle = np.vstack([blobs, [[5e4, 0.0]]]), blobs.mean(axis=0)
    up = np.array([0.0, 1.0])
    poor = mm.KMeans(3, init=np.vstack([middle + up, middle - up, rows[-1]])).fit(rows)
    best = mm.KMeans(3, n_init=10, random_state=0).fit(rows)
    assert poor.inertia_ > 2 * best.inertia_
    assert mm.certify(poor, rows, thorough=True).kind == "relaxation"


def test_weak_links_are_told_apart():
    for size in (1e-7, 1e-12, 1e-18):
        graph = np.zeros((6, 6))
        for a, b, w in ((0, 1, 1), (2, 3, 1), (4, 5, 1), (1, 2, 3 * size), (3, 4, size)):
            graph[a, b] = graph[b, a] = w
        model = mm.NormalizedCut(2, kernel="precomputed", init=[0, 0, 1, 1, 1, 1]).fit(graph)
        assert model.inertia_ == pytest.approx(2.25 * size, rel=1e-5)
        assert model.certificate_.kind == "relaxation"
        assert mm.certify(model, graph, thorough=True).kind == "relaxation"


def test_nothing_is_better_than_clusters_of_equal_rows():
    rows = np.repeat([[0.1, 0.7], [0.3, 1e5], [1e-3, 5.0]], [3, 7, 5], axis=0)
    weights = np.linspace(0.1, 3.0, 15)
    for X in (rows, sparse.csr_matrix(rows)):
        model = mm.KMeans(3, random_state=0).fit(X, sample_weight=weights)
        assert mm.certify(model, X, sample_weight=weights, thorough=True).kind == "global"
    for kernel in (mm.RBF(1.0), "linear"):
        for rank in (None, 3):
            model = mm.KernelKMeans(3, kernel=kernel, rank=rank, random_state=0).fit(rows)
            assert mm.certify(model, rows, thorough=True).kind == "global"
    K = mm.RBF(1.0)(rows)
    given = mm.KernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
    assert mm.certify(given, K, thorough=True).kind == "global"


def test_many_separated_blobs_are_still_proved_optimal():
    X, _ = make_blobs(600, centers=5, n_features=10, cluster_std=2.0, random_state=1)
    model = mm.KMeans(5, n_init=10, random_state=0).fit(X)
    found = mm.certify(model, X, thorough=True)
    assert found.kind == "global"
    assert found.gap <= 1e-6 * found.primal


def test_equal_rows_far_from_the_centres_prove_nothing():
    model = mm.KMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    rows = np.repeat([[2.0], [6.0]], 3, axis=0)
    found = mm.certify(model, rows, thorough=True)
    assert found.primal == pytest.approx(6 * 1.5**2 + 3 * (2.5**2 - 1.5**2))
    assert (found.kind, found.dual) == ("relaxation", 0.0)
    kernel = mm.KernelKMeans(2, kernel="linear").fit([[0.0], [1.0], [8.0], [9.0]])
    assert mm.certify(kernel, rows, thorough=True).kind == "relaxation"


@pytest.mark.parametrize("power", [-450, -300, 300, 450])
def test_proofs_do_not_depend_on_units(power):
    X, _ = make_blobs(30, centers=3, n_features=2, random_state=1)
    loose = np.random.default_rng(0).normal(size=(20, 2))
    size = 2.0**power
    for rows, k in ((X, 3), (loose, 3)):
        centres = mm.KMeans(k, n_init=5, random_state=0).fit(rows).cluster_centers_
        one = mm.KMeans(k, init=centres).fit(rows)
        two = mm.KMeans(k, init=centres * size).fit(rows * size)
        known = mm.certify(one, rows, thorough=True)
        found = mm.certify(two, rows * size, thorough=True)
        assert found.kind == known.kind
        assert found.dual / size / size == pytest.approx(known.dual, rel=1e-6)
        K = (rows @ rows.T) * size
        pairs = mm.KernelKMeans(k, kernel="precomputed", init=two.labels_).fit(K)
        assert mm.certify(pairs, K, thorough=True).kind == known.kind
