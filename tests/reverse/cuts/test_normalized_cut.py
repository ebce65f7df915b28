"""Normalised cuts: brute force on small graphs, the trace form, moons, new rows, bounds."""

import math

import numpy as np
import pandas as pd
import pytest
from partitions import cut, partitions, same_partition
from scipy import sparse
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning

import minimand as mm

RNG = np.random.default_rng(2)
MOONS, MOON = make_moons(240, noise=0.06, random_state=0)


def random_graph(n, seed):
    rng = np.random.default_rng(seed)
    graph = np.where(rng.random((n, n)) < 0.5, rng.random((n, n)), 0.0)
    graph = np.triu(graph, 1)
    return graph + graph.T + 1e-3


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_small_graphs_are_cut_as_brute_force_cuts_them(k, seed):
    graph = random_graph(8, seed)
    values = [cut(graph, labels) for labels in partitions(8, k)]
    model = mm.NormalizedCut(k, kernel="precomputed", init="random", n_init=30, random_state=0).fit(
        graph
    )
    assert model.inertia_ == pytest.approx(min(values), rel=1e-9)
    assert model.certificate_.dual <= min(values) + 1e-12
    assert model.certificate_.kind == "relaxation"
    assert model.inertia_ == pytest.approx(mm.normalized_cut(graph, model.labels_), abs=1e-12)


def test_the_first_eigenvalue_is_one_with_a_constant_y():
    K = mm.RBF(0.5)(MOONS)
    degrees = K.sum(axis=1)
    normalised = K / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(normalised)
    assert values[-1] == pytest.approx(1.0)
    y = vectors[:, -1] / np.sqrt(degrees)
    np.testing.assert_allclose(y / y[0], 1.0, rtol=1e-8)
    model = mm.NormalizedCut(3, kernel=mm.RBF(0.5), random_state=0).fit(MOONS)
    assert model.certificate_.dual == pytest.approx(3 - values[-3:].sum(), abs=1e-9)


@pytest.mark.parametrize("kernel", ["neighbors", mm.NeighborGraph(8, tau=0.5), mm.RBF(0.15)])
def test_moons_and_rings_are_told_apart(kernel):
    model = mm.NormalizedCut(2, kernel=kernel, random_state=0).fit(MOONS)
    assert same_partition(model.labels_, MOON)
    assert (model.predict(MOONS) == model.labels_).all()
    new, where = make_moons(80, noise=0.06, random_state=5)
    assert same_partition(model.predict(new), where)
    rings, ring = make_circles(240, factor=0.4, noise=0.04, random_state=0)
    assert same_partition(mm.NormalizedCut(2, random_state=0).fit(rings).labels_, ring)


def test_the_cut_falls_and_no_move_helps():
    X, _ = make_blobs(150, centers=5, cluster_std=2.0, random_state=0)
    model = mm.NormalizedCut(5, init="random", random_state=0).fit(X)
    graph = model.affinity_matrix_.toarray()
    assert (np.diff(model.history_.primal) < 1e-12).all()
    for i in range(0, 150, 11):
        for j in range(5):
            moved = model.labels_.copy()
            moved[i] = j
            if len(np.unique(moved)) == 5:
                assert cut(graph, moved) >= model.inertia_ - 1e-9
    assert (model.predict(X) == model.labels_).all()


def test_parts_of_a_graph_are_never_cut():
    graph = sparse.block_diag([np.ones((4, 4)), np.ones((3, 3)), np.ones((5, 5))]).tocsr()
    for k in (2, 3):
        model = mm.NormalizedCut(k, kernel="precomputed", random_state=0).fit(graph)
        assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
        assert model.certificate_.kind == "global"
        assert model.certificate_.gap == 0
    four = mm.NormalizedCut(4, kernel="precomputed", random_state=0).fit(graph)
    best = min(cut(graph.toarray(), labels) for labels in _refinements())
    assert four.inertia_ == pytest.approx(best)


def _refinements():
    """Partitions of 12 nodes into four clusters that split one of three blocks in two."""
    blocks = [np.arange(4), np.arange(4, 7), np.arange(7, 12)]
    for block in blocks:
        for split in partitions(len(block), 2):
            labels = np.repeat([0, 1, 2], [4, 3, 5])
            labels[block[split == 1]] = 3
            yield labels


def test_weights_are_copies_of_nodes():
    X = RNG.normal(size=(14, 2))
    weights = RNG.integers(0, 3, size=14)
    start = np.arange(14) % 2
    copies = np.repeat(np.arange(14), weights)
    one = mm.NormalizedCut(2, kernel=mm.RBF(1.0), init=start).fit(X, sample_weight=weights)
    K = mm.RBF(1.0)(X)
    assert one.inertia_ == pytest.approx(cut(K[np.ix_(copies, copies)], one.labels_[copies]))
    two = mm.NormalizedCut(2, kernel=mm.RBF(1.0), init=start[copies]).fit(X[copies])
    assert one.certificate_.dual == pytest.approx(two.certificate_.dual, abs=1e-9)
    assert (one.predict(X) == one.labels_)[weights > 0].all()


def test_dense_and_sparse_affinities_are_cut_alike():
    graph = random_graph(30, 0)
    start = np.arange(30) % 3
    dense = mm.NormalizedCut(3, kernel="precomputed", init=start).fit(graph)
    thin = mm.NormalizedCut(3, kernel=mm.Precomputed(), init=start).fit(sparse.csr_matrix(graph))
    assert (dense.labels_ == thin.labels_).all()
    order = RNG.permutation(30)
    turned = mm.NormalizedCut(3, kernel="precomputed", init=start[order])
    assert (turned.fit(graph[np.ix_(order, order)]).labels_ == dense.labels_[order]).all()
    assert sparse.issparse(thin.affinity_matrix_)


def test_regression_predicts_by_the_formula():
    kernel, beta = mm.RBF(0.3), 1e-2
    model = mm.NormalizedCut(
        2, kernel=kernel, out_of_sample="regression", beta=beta, random_state=0
    ).fit(MOONS)
    K, Y = kernel(MOONS), np.eye(2)[model.labels_]
    degrees = K.sum(axis=1)
    root = np.sqrt(degrees)
    normalised = K / np.outer(root, root)
    B = np.linalg.inv(Y.T @ (degrees[:, None] * Y)) @ Y.T
    right = root[:, None] * (B.T @ (Y.T @ (degrees[:, None] * Y)))
    A = root[:, None] * np.linalg.solve(normalised + beta * np.eye(240), right)
    new = RNG.uniform(-1, 2, size=(50, 2))
    k = kernel(new, MOONS)
    wanted = (k @ (A / degrees[:, None])) / k.sum(axis=1)[:, None]
    assert (model.predict(new) == wanted.argmax(axis=1)).all()
    with pytest.raises(ValueError, match="regression"):
        mm.NormalizedCut(2, out_of_sample="regression").fit(MOONS)


def test_neighbour_graphs_are_those_of_scikit_learn():
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(MOONS, 7, include_self=True)
    wanted = 0.5 * (near + near.T).toarray()
    np.testing.assert_array_equal(mm.NeighborGraph(7).matrix(MOONS).toarray(), wanted)
    wide = mm.NeighborGraph(7, tau=0.4).matrix(MOONS).toarray()
    assert ((wide > 0) == (wanted > 0)).all()
    assert wide.max() <= 1
    far = np.array([[0.0], [0.1], [1e6], [1e6 + 1.0]])
    assert mm.NormalizedCut(2, kernel=mm.NeighborGraph(2, tau=1e-3)).fit(far).labels_.max() == 1


def test_frames_and_limits():
    frame = pd.DataFrame(MOONS, columns=["x", "y"])
    model = mm.NormalizedCut(2, random_state=0).fit(frame)
    assert (model.predict(frame) == model.labels_).all()
    assert list(model.feature_names_in_) == ["x", "y"]
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        mm.NormalizedCut(3, max_seconds=0.0, random_state=0).fit(MOONS)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        mm.NormalizedCut(3, init="random", max_iter=1, random_state=0).fit(MOONS)


@pytest.mark.parametrize(
    ("changes", "X", "words"),
    [
        ({"n_clusters": 241}, MOONS, "n_clusters=241"),
        ({"kernel": "linear"}, MOONS, "negative"),
        ({"kernel": "knn"}, MOONS, "'neighbors'"),
        ({"kernel": mm.NeighborGraph(0)}, MOONS, "n_neighbors"),
        ({"kernel": mm.NeighborGraph(300)}, MOONS, "n_neighbors=300"),
        ({"kernel": mm.NeighborGraph(tau=-1)}, MOONS, "tau"),
        ({"kernel": "precomputed"}, np.diag([1.0, 1.0, 0.0]), "row 2"),
        ({"kernel": "precomputed"}, np.ones((3, 4)), "square"),
        ({"kernel": "precomputed"}, np.triu(np.ones((4, 4))), "symmetric"),
        ({"kernel": "rbf", "memory": 1e4}, MOONS, "NeighborGraph"),
        ({}, np.where(MOONS > 1.5, np.inf, MOONS), "infinity"),
    ],
)
def test_bad_input_gets_one_sentence_about_cuts(changes, X, words):
    with pytest.raises(ValueError, match=words):
        mm.NormalizedCut(**{"n_clusters": 2, **changes}).fit(X)


def test_cuts_of_coarser_graphs_are_cuts_of_the_graph(monkeypatch):
    from minimand.reverse.cuts import coarsening, starts

    X, group = make_blobs(400, centers=4, cluster_std=0.6, random_state=7)
    monkeypatch.setattr(coarsening, "_SMALL", 40)
    monkeypatch.setattr(coarsening, "_FEW", 5)
    monkeypatch.setattr(starts, "LARGE", 100)
    graph = mm.NeighborGraph(6).matrix(X)
    volumes = graph.sum(axis=1)
    *finer, last = coarsening.levels_of(graph, volumes, 4, np.random.RandomState(0))
    assert len(finer) >= 2
    assert last.matrix.shape[0] < 150
    labels = RNG.integers(4, size=last.matrix.shape[0])
    value = mm.normalized_cut(last.matrix, labels)
    for level in reversed(finer):
        labels = labels[level.joined]
        assert mm.normalized_cut(level.matrix, labels) == pytest.approx(value)
        np.testing.assert_allclose(level.matrix.sum(axis=1), level.volumes)
        assert np.bincount(level.joined).max() <= 2
    coarse = mm.NormalizedCut(4, kernel=mm.NeighborGraph(12), random_state=0).fit(X)
    assert same_partition(coarse.labels_, group)
    weights = RNG.integers(0, 3, size=400)
    weighted = mm.NormalizedCut(4, kernel=mm.NeighborGraph(12), random_state=0)
    weighted.fit(X, sample_weight=weights)
    K = weighted.affinity_matrix_.toarray()
    assert weighted.inertia_ == pytest.approx(cut(K, weighted.labels_, weights))
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        mm.NormalizedCut(4, max_seconds=0.0, random_state=0).fit(X)


def test_pictures_say_the_bound():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    for model in (
        mm.NormalizedCut(3, random_state=0),
        mm.KernelKMeans(3, kernel=mm.RBF(0.5), random_state=0),
        mm.KernelKMeans(3, kernel=mm.RBF(0.5), rank=20, random_state=0),
    ):
        model.fit(MOONS)
        for ax in (model.plot(), model.plot(MOONS)):
            assert f"{model.certificate_.primal:.4g}" in ax.get_title()
            ax.figure.canvas.draw()
        with pytest.raises(ValueError, match="rows of the fit"):
            model.plot(MOONS[:5])
    pyplot.close("all")


def test_nodes_without_weight_go_to_the_nearest_centre():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [10.0, 0.0], [10.0, 1.0], [10.0, 2.0]])
    for init in ("spectral", [0, 0, 1, 1, 0]):
        model = mm.NormalizedCut(2, kernel=mm.RBF(3.0), init=init, random_state=0)
        model.fit(X, sample_weight=[1, 1, 1, 1, 0])
        assert model.labels_.tolist() == [0, 0, 1, 1, 1]
        assert (model.predict(X) == model.labels_).all()


def test_the_limit_holds_for_the_bound_too(monkeypatch):
    from minimand.certificate.eigenvalues import relaxation, rough

    ring = sparse.diags_array([1.0] * 3, offsets=[-1, 0, 1], shape=(2001, 2001)).tocsr()
    begun = []

    class Counted(relaxation.Krylov):
        def __iter__(self):
            for found in super().__iter__():
                begun.append(found)
                yield found

    monkeypatch.setattr(relaxation, "Krylov", Counted)
    monkeypatch.setattr(rough, "_FREE", math.inf)  # so that k-means takes eigenvalues, too
    labels = np.arange(2001) * 3 // 2001
    for model in (
        mm.NormalizedCut(3, kernel="precomputed", init=labels),
        mm.KMeans(3, random_state=0),
    ):
        begun.clear()
        free = model.fit(ring).certificate_
        assert len(begun) > 1
        begun.clear()
        with pytest.warns(ConvergenceWarning, match="max_seconds=0"):
            short = model.set_params(max_seconds=0).fit(ring).certificate_
        assert len(begun) == 1
        assert short.dual <= free.primal


def test_new_rows_without_affinity_are_refused():
    far = np.vstack([MOONS[:3], [[1e3, 1e3]]])
    y = np.where(np.arange(len(MOON)) < 20, MOON, -1)
    for model in (
        mm.NormalizedCut(2, kernel=mm.RBF(0.5), random_state=0).fit(MOONS),
        mm.GraphClassifier(kernel=mm.RBF(0.5)).fit(MOONS, y),
        mm.NormalizedPCA(2, kernel=mm.RBF(0.5)).fit(MOONS),
    ):
        answer = getattr(model, "predict", None) or model.transform
        assert len(answer(far[:3])) == 3
        with pytest.raises(ValueError, match="row 3 of X has no affinity to any row of the fit"):
            answer(far)


@pytest.mark.parametrize(
    ("n", "init"), [(2200, "spectral"), (2200, "k-means++"), (4100, "spectral")]
)
def test_a_cut_is_certified_anew_as_well_as_by_its_fit(n, init):
    """Both bounds begin with about the same eigenvectors: of the graph, or of a coarser one."""
    X, _ = make_blobs(n, centers=8, n_features=2, cluster_std=3.0, random_state=0)
    model = mm.NormalizedCut(8, init=init, random_state=0).fit(X)
    again = mm.certify(model, X)
    assert again.primal == pytest.approx(model.inertia_)
    assert again.dual >= (1 - 1e-3) * model.certificate_.dual
    if (n, init) == (2200, "spectral"):
        assert again.dual > 0
