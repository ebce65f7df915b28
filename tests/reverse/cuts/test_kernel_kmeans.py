"""Kernel k-means: its objective, its moves, new rows, weights, and its bound."""

import numpy as np
import pandas as pd
import pytest
from partitions import partitions, same_partition, scatter
from scipy import sparse
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning

import minimand as mm

RNG = np.random.default_rng(1)
BLOBS, GROUP = make_blobs(90, centers=3, cluster_std=1.5, random_state=4)


def rings(n=160):
    return make_circles(n, factor=0.3, noise=0.05, random_state=0)


def test_rings_are_found_and_new_rows_go_to_them():
    X, ring = rings()
    model = mm.KernelKMeans(2, kernel=mm.RBF(0.3), random_state=0).fit(X)
    assert same_partition(model.labels_, ring)
    new, where = make_circles(60, factor=0.3, noise=0.05, random_state=3)
    assert same_partition(model.predict(new), where)


@pytest.mark.parametrize("kernel", [mm.Linear(), mm.RBF(2.0), mm.Polynomial(2) + 1.0])
@pytest.mark.parametrize("init", ["spectral", "k-means++", "random"])
def test_the_objective_falls_no_move_helps_and_rows_are_nearest_to_their_centre(kernel, init):
    model = mm.KernelKMeans(4, kernel=kernel, init=init, n_init=1, random_state=0).fit(BLOBS)
    K = kernel(BLOBS)
    assert model.inertia_ == pytest.approx(scatter(K, model.labels_), rel=1e-9)
    assert (np.diff(model.history_.primal) <= 1e-9 * model.inertia_).all()
    assert (model.predict(BLOBS) == model.labels_).all()
    for i in range(0, 90, 7):
        for j in range(4):
            moved = model.labels_.copy()
            moved[i] = j
            if len(np.unique(moved)) == 4:
                assert scatter(K, moved) >= model.inertia_ * (1 - 1e-9)
    assert model.certificate_.kind == "relaxation"
    assert 0 <= model.certificate_.dual <= model.inertia_


def test_a_linear_kernel_is_plain_kmeans():
    start = RNG.integers(3, size=90)
    model = mm.KernelKMeans(3, kernel="linear", init=start).fit(BLOBS)
    means = np.array([BLOBS[model.labels_ == j].mean(axis=0) for j in range(3)])
    far = ((BLOBS[:, None] - means) ** 2).sum(axis=2)
    assert (far.argmin(axis=1) == model.labels_).all()
    assert model.inertia_ == pytest.approx(far.min(axis=1).sum(), rel=1e-9)
    np.testing.assert_allclose(model.dual_coef_ @ BLOBS, means, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_bound_is_below_every_partition_and_restarts_find_the_best(k):
    X = RNG.normal(size=(8, 2))
    weights = RNG.integers(1, 4, size=8)
    kernel = mm.RBF(1.0)
    K = kernel(X)
    least = min(scatter(K, labels, weights) for labels in partitions(8, k))
    model = mm.KernelKMeans(k, kernel=kernel, n_init=10, random_state=0)
    model.fit(X, sample_weight=weights)
    assert model.certificate_.dual <= least * (1 + 1e-12)
    assert model.inertia_ == pytest.approx(least, rel=1e-9)


def test_weights_are_copies_and_zero_is_absent():
    X = RNG.normal(size=(20, 2))
    weights = RNG.integers(0, 3, size=20)
    start = np.arange(20) % 3
    copies = np.repeat(np.arange(20), weights)
    kernel = mm.RBF(1.0)
    one = mm.KernelKMeans(3, kernel=kernel, init=start).fit(X, sample_weight=weights)
    two = mm.KernelKMeans(3, kernel=kernel, init=start[copies]).fit(X[copies])
    assert one.inertia_ == pytest.approx(scatter(kernel(X[copies]), one.labels_[copies]))
    assert one.certificate_.dual == pytest.approx(two.certificate_.dual, abs=1e-9)
    assert one.inertia_ == pytest.approx(two.inertia_, rel=0.2)  # another local minimum, perhaps


def test_permutations_of_rows_permute_the_labels():
    order = RNG.permutation(90)
    start = GROUP.copy()
    one = mm.KernelKMeans(3, kernel=mm.RBF(2.0), init=start).fit(BLOBS)
    two = mm.KernelKMeans(3, kernel=mm.RBF(2.0), init=start[order]).fit(BLOBS[order])
    assert (one.labels_[order] == two.labels_).all()


def test_a_factor_charges_what_it_leaves_out():
    exact = mm.KernelKMeans(3, kernel=mm.RBF(1.0), init=GROUP).fit(BLOBS)
    for rank in (10, 60):
        rough = mm.KernelKMeans(3, kernel=mm.RBF(1.0), rank=rank, init=GROUP, random_state=0)
        rough.fit(BLOBS)
        true = scatter(mm.RBF(1.0)(BLOBS), rough.labels_)
        assert rough.certificate_.dual <= exact.inertia_
        assert true <= rough.inertia_ * (1 + 1e-9)
        assert (rough.predict(BLOBS) == rough.labels_).all()
    small = mm.KernelKMeans(3, kernel=mm.RBF(1.0), memory=2e4, random_state=0).fit(BLOBS)
    assert small._map is not None
    assert small.certificate_.dual <= exact.inertia_


def test_a_kernel_that_is_zero_has_a_regression():
    equal = np.ones((4, 2))
    for rank in (None, 2):
        model = mm.KernelKMeans(
            1, kernel=mm.RBF().center(), out_of_sample="regression", rank=rank
        ).fit(equal)
        assert (model.predict(equal) == 0).all()


def test_regression_gives_the_labels_back_as_beta_falls():
    model = mm.KernelKMeans(
        3, kernel=mm.RBF(0.5), out_of_sample="regression", beta=1e-9, init=GROUP
    )
    assert (model.fit(BLOBS).predict(BLOBS) == model.labels_).all()
    beta = 1e-3
    model = mm.KernelKMeans(
        3, kernel=mm.RBF(2.0), out_of_sample="regression", init=GROUP, beta=beta
    )
    K, Y = mm.RBF(2.0)(BLOBS), np.eye(3)[model.fit(BLOBS).labels_]
    B = np.linalg.inv(Y.T @ Y) @ Y.T
    A = np.linalg.solve(K + beta * np.eye(90), B.T @ Y.T @ Y)
    new = RNG.normal(scale=5, size=(40, 2))
    assert (model.predict(new) == (mm.RBF(2.0)(new, BLOBS) @ A).argmax(axis=1)).all()


def test_input_as_people_have_it():
    wanted = mm.KernelKMeans(3, kernel=mm.RBF(2.0), init=GROUP).fit(BLOBS).labels_
    frozen = BLOBS.copy()
    frozen.flags.writeable = False
    for X in (
        pd.DataFrame(BLOBS, columns=["a", "b"]),
        sparse.csr_matrix(BLOBS),
        BLOBS.astype(np.float32),
        frozen,
        np.asfortranarray(BLOBS),
    ):
        model = mm.KernelKMeans(3, kernel=mm.RBF(2.0), init=GROUP).fit(X)
        assert (model.labels_ == wanted).all()
        assert (model.predict(X) == wanted).all()
    words = ["aab", "aba", "abb", "xyz", "xzy", "zyx"]
    found = mm.KernelKMeans(2, kernel=mm.Spectrum(1), random_state=0).fit(words)
    assert same_partition(found.labels_, [0, 0, 0, 1, 1, 1])
    assert (found.predict(words) == found.labels_).all()


def test_duplicates_and_as_many_clusters_as_rows():
    X = np.repeat([[0.0], [1.0]], 3, axis=0)
    model = mm.KernelKMeans(3, kernel=mm.RBF(1.0), random_state=0).fit(X)
    assert model.inertia_ <= 1e-12
    every = mm.KernelKMeans(5, kernel=mm.RBF(1.0), random_state=0).fit(RNG.normal(size=(5, 2)))
    assert sorted(every.labels_) == [0, 1, 2, 3, 4]
    assert every.inertia_ <= 1e-12


def test_limits_are_heard():
    stops = []

    def stop(state):
        stops.append(state.primal)
        return mm.STOP

    model = mm.KernelKMeans(4, kernel=mm.RBF(1.0), init="random", random_state=0, callbacks=[stop])
    with pytest.warns(ConvergenceWarning, match="callback"):
        model.fit(BLOBS)
    assert len(stops) == 1
    assert model.labels_.shape == (90,)
    assert model.certificate_.dual <= model.inertia_
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        mm.KernelKMeans(4, kernel=mm.RBF(1.0), max_seconds=0.0, random_state=0).fit(BLOBS)

    def interrupt(state):
        raise KeyboardInterrupt

    stopped = mm.KernelKMeans(4, random_state=0, callbacks=[interrupt])
    with pytest.raises(mm.Interrupted) as caught:
        stopped.fit(BLOBS)
    assert caught.value.result.labels_.shape == (90,)


@pytest.mark.parametrize(
    ("changes", "X", "words"),
    [
        ({"n_clusters": 91}, BLOBS, "n_clusters=91"),
        ({"n_clusters": 0}, BLOBS, "n_clusters"),
        ({"kernel": "gaussian"}, BLOBS, "'rbf'"),
        ({"kernel": mm.Precomputed()}, np.array([[1.0, 2.0], [2.0, 1.0]]), "semidefinite"),
        ({"init": "first"}, BLOBS, "init"),
        ({"init": np.zeros(3, dtype=int)}, BLOBS, "init"),
        ({"init": np.full(90, 7)}, BLOBS, "clusters from 0"),
        ({"out_of_sample": "nearest"}, BLOBS, "out_of_sample"),
        ({"n_init": 0}, BLOBS, "n_init"),
        ({"max_seconds": -1.0}, BLOBS, "max_seconds"),
        ({}, np.where(BLOBS > 3, np.nan, BLOBS), "NaN"),
        ({}, np.array([["a", "b"]]), "numbers"),
    ],
)
def test_bad_input_gets_one_sentence_about_kernel_kmeans(changes, X, words):
    model = mm.KernelKMeans(**{"n_clusters": 2, **changes})
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(X)


def test_a_kernel_that_tells_nothing_of_the_rows():
    X = 1e6 * RNG.normal(size=(150, 4))  # k(X, X) is the identity, all of whose eigenvalues are 1
    model = mm.KernelKMeans(3, kernel=mm.RBF(1.0), random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(147)
    assert model.certificate_.dual == pytest.approx(147)
    assert mm.certify(model, X, thorough=True).kind == "global"
    cut = mm.NormalizedCut(3, kernel=mm.RBF(1.0), random_state=0).fit(X)
    assert cut.inertia_ == pytest.approx(0.0, abs=1e-12)
    assert mm.PCA(3).fit(np.eye(150)).explained_variance_.shape == (3,)


def test_a_matrix_of_zeros_has_one_cluster_and_one_that_is_not_symmetric_none():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\) found smaller"):
        model = mm.KernelKMeans(2, kernel="precomputed").fit(np.zeros((4, 4)))
    assert model.inertia_ == 0
    with pytest.raises(ValueError, match="is not symmetric"):
        mm.KernelKMeans(2, kernel="precomputed").fit(np.triu(np.eye(4) + 0.5))


def test_rows_without_weight_go_to_the_nearest_centre():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [10.0, 0.0], [10.0, 1.0], [10.0, 2.0]])
    for kernel in ("linear", mm.RBF(3.0)):
        for rank in (None, 3):
            for init in ("spectral", [0, 0, 1, 1, 0]):
                model = mm.KernelKMeans(2, kernel=kernel, rank=rank, init=init, random_state=0)
                model.fit(X, sample_weight=[1, 1, 1, 1, 0])
                assert model.labels_.tolist() == [0, 0, 1, 1, 1]
                assert (model.predict(X) == model.labels_).all()


@pytest.mark.parametrize("rank", [None, 3])
def test_fewer_distinct_rows_than_clusters_warn(rank):
    X = np.repeat([[0.1, 0.2], [7.0, 3.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found smaller than n_cl"):
        mm.KernelKMeans(3, kernel="linear", rank=rank, random_state=0).fit(X)


@pytest.mark.parametrize("how", [{}, {"rank": 3}, {"init": "random"}, {"init": [3, 2, 1, 0] * 2}])
@pytest.mark.parametrize("kernel", ["linear", mm.RBF(2.0)], ids=["linear", "rbf"])
def test_equal_rows_have_equal_labels(kernel, how):
    X = np.repeat([[0.1, 0.2], [7.0, 3.0]], 4, axis=0)
    model = mm.KernelKMeans(4, kernel=kernel, random_state=0, **how)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        model.fit(X, sample_weight=[1, 1, 1, 0, 2, 1, 1, 0])
    first, second = model.labels_[:4], model.labels_[4:]
    assert len(set(first)) == len(set(second)) == 1
    assert first[0] != second[0]
    np.testing.assert_array_equal(model.predict(X), model.labels_)
