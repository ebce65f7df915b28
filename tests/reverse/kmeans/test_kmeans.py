"""The laws of k-means: descent, stationarity, weights, seeding, bounds, bad input."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.reverse.kmeans.bound import lower_bound
from minimand.reverse.kmeans.distances import REGISTRY
from minimand.reverse.kmeans.rows import Rows
from minimand.reverse.kmeans.seeding import plus_plus_rows
from sklearn_checks import by_checks, quietly, weights_are_no_copies

DISTANCES = ["euclidean", "cosine", "manhattan"]


def blobs(n=200, d=3, k=4, seed=0, spread=3.0):
    rng = np.random.default_rng(seed)
    return spread * rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))


def cost(X, c, distance):
    """The cost of every row at a centre, from the definition."""
    if distance == "euclidean":
        return ((X - c) ** 2).sum(axis=1)
    if distance == "manhattan":
        return np.abs(X - c).sum(axis=1)
    lengths = np.linalg.norm(X, axis=1) * np.linalg.norm(c)
    return 1 - np.divide(X @ c, lengths, out=np.zeros(len(X)), where=lengths > 0)


def best_center(X, w, distance):
    """By the definition of mean, direction and median."""
    if distance == "euclidean":
        return np.average(X, axis=0, weights=w)
    if distance == "manhattan":
        copies = np.repeat(X, w.astype(int), axis=0)
        return np.median(copies, axis=0)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    total = (w[:, None] * np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)).sum(0)
    return total / max(np.linalg.norm(total), 1e-300)


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse", "fortran", "frame"])
@pytest.mark.parametrize("algorithm", ["auto", "lloyd"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_descent_to_a_stationary_clustering(distance, algorithm, kind):
    dense = np.round(blobs(), 2)
    dense[np.abs(dense) < 0.5] = 0.0
    dense[3] = 0.0
    w = np.random.default_rng(1).integers(0, 4, len(dense)).astype(float)
    X = {
        "float64": lambda: dense,
        "float32": lambda: dense.astype(np.float32),
        "sparse": lambda: sparse.csr_matrix(dense),
        "fortran": lambda: np.asfortranarray(dense),
        "frame": lambda: pd.DataFrame(dense, columns=list("abc")),
    }[kind]()
    exact = dense.astype(np.float32).astype(float) if kind == "float32" else dense
    model = mm.KMeans(5, distance=distance, algorithm=algorithm, tol=0, random_state=0)
    model.fit(X, sample_weight=w)
    primal = model.history_.primal
    assert (np.diff(primal) <= 1e-6 * primal[:-1]).all()
    centers = model.cluster_centers_.astype(float)
    costs = np.array([cost(exact, c, distance) for c in centers])
    own = costs[model.labels_, np.arange(len(exact))]
    tight = 1e-5 if kind == "float32" else 1e-9
    assert model.inertia_ == pytest.approx(w @ own, rel=tight)
    assert (own <= costs.min(axis=0) + tight * (1 + own)).all()  # labels best for the centres
    for c in range(5):  # centres best for the labels
        rows = (model.labels_ == c) & (w > 0)
        if rows.any():
            least = w[rows] @ cost(
                exact[rows], best_center(exact[rows], w[rows], distance), distance
            )
            assert w[rows] @ own[rows] <= least + 10 * tight * (1 + least)
    assert (model.predict(X) == model.labels_).all()
    assert model.score(X, sample_weight=w) == pytest.approx(-model.inertia_, rel=1e-6)
    assert model.certificate_.dual <= model.inertia_ + model.certificate_.rounding
    assert model.cluster_centers_.dtype == (np.float32 if kind == "float32" else np.float64)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("init", ["random", "partition", "array"])
def test_weights_are_copies_and_zero_is_absence(distance, init):
    X = np.round(blobs(60, seed=3), 1)
    w = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    starts = X[w > 0][[0, 5, 9]]
    if init != "array":
        starts = mm.KMeans(3, init=init, distance=distance, random_state=0, max_iter=1, n_init=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            starts = starts.fit(X, sample_weight=w).cluster_centers_
    fits = [
        mm.KMeans(3, init=starts, distance=distance, tol=0).fit(rows, sample_weight=weights)
        for rows, weights in [
            (X, w),
            (np.repeat(X, w.astype(int), axis=0), None),
            (X[w > 0], 7.0 * w[w > 0]),
        ]
    ]
    for other, unit in zip(fits[1:], (1.0, 7.0)):
        np.testing.assert_allclose(other.cluster_centers_, fits[0].cluster_centers_, atol=1e-9)
        assert other.inertia_ == pytest.approx(unit * fits[0].inertia_)
        for name in ("primal", "dual"):
            value = getattr(fits[0].certificate_, name)
            assert getattr(other.certificate_, name) == pytest.approx(
                unit * value, rel=1e-7, abs=1e-7
            )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from(["euclidean", "cosine"]))
@example(8818, 3, "cosine")  # a row of zeros as a centre
def test_the_bound_is_below_every_partition(seed, k, distance):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2)) + rng.normal(size=2)
    X[rng.random((7, 2)) < 0.1] = 0.0
    w = rng.integers(1, 3, 7).astype(float)
    best = math.inf
    for labels in itertools.product(range(k), repeat=6):
        labels = np.array([0, *labels])
        total = 0.0
        for c in np.unique(labels):
            rows = labels == c
            center = best_center(X[rows], w[rows], distance)
            total += w[rows] @ cost(X[rows], center, distance)
        best = min(best, total)
    bound, rounding, _ = lower_bound(Rows.of(X, w, REGISTRY.get(distance)), k)
    assert bound <= best + rounding + 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.KMeans(k, distance=distance, random_state=0, tol=0).fit(X, sample_weight=w)
    assert model.inertia_ >= best - 1e-9
    assert model.certificate_.dual <= best + 1e-9
    if k == 1 and distance == "euclidean":
        assert model.certificate_.gap <= 1e-9


def test_seeds_are_drawn_in_proportion_to_their_cost():
    X = np.array([[0.0], [1.0], [3.0]])
    rows = Rows.of(X, np.array([1.0, 2.0, 1.0]), REGISTRY.get("euclidean"))
    random = np.random.RandomState(0)
    draws = 4000
    first = np.zeros(3)
    second = np.zeros((3, 3))
    for _ in range(draws):
        one, two = plus_plus_rows(rows, 2, random)
        first[one] += 1
        second[one, two] += 1
    # Two candidates are drawn with probability ∝ weight·cost, and the better one is kept.
    np.testing.assert_allclose(first / draws, [0.25, 0.5, 0.25], atol=0.03)
    drawn = np.array([0.0, 2 * 1.0, 9.0]) / 11  # given that row 0 was first
    left = np.array([np.inf, 1 * 0 + 4.0, 2 * 1.0])  # cost with rows {0, 1} and {0, 2}
    better = int(np.argmin(left))
    wanted = 1 - (1 - drawn[better]) ** 2
    assert second[0, better] / second[0].sum() == pytest.approx(wanted, abs=0.03)


def test_centres_far_from_all_rows_are_filled():
    X = blobs(50, seed=5)
    start = np.vstack([X[:2], X[:2] + 1e6])
    model = mm.KMeans(4, init=start, tol=0).fit(X)
    assert (model.counts_ > 0).all()
    assert (np.diff(model.history_.primal) <= 1e-9).all()


def test_fewer_different_rows_than_clusters():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = mm.KMeans(4, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert np.unique(model.labels_).size == 2
    assert mm.KMeans(1, random_state=0).fit([[3.0, 4.0]]).cluster_centers_.tolist() == [[3.0, 4.0]]


def test_as_many_clusters_as_rows_cost_nothing():
    X = blobs(12, seed=8)
    model = mm.KMeans(12, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)
    assert sorted(model.labels_.tolist()) == list(range(12))


def test_running_means():
    X = blobs(90, seed=2)
    model = mm.KMeans(3, init=X[:3])
    for part in np.split(X, 3):
        model.partial_fit(part)
    assert model.n_iter_ == 3
    assert model.counts_.sum() == 90
    fitted = mm.KMeans(3, random_state=0).fit(X)
    counts, centers = fitted.counts_.copy(), fitted.cluster_centers_.copy()
    label = int(fitted.predict(X[:1])[0])
    fitted.partial_fit(X[:1])
    wanted = centers[label] + (X[0] - centers[label]) / (counts[label] + 1)
    np.testing.assert_allclose(fitted.cluster_centers_[label], wanted)
    assert not hasattr(fitted, "certificate_")


def test_minibatches_come_near():
    X = blobs(3000, k=5, spread=8.0, seed=4)
    whole = mm.KMeans(5, random_state=0, n_init=3).fit(X)
    small = mm.KMeans(5, algorithm="minibatch", batch_size=200, random_state=0).fit(X)
    assert small.inertia_ <= 1.2 * whole.inertia_
    assert small.inertia_ == pytest.approx(-small.score(X))
    assert small.certificate_.dual == pytest.approx(whole.certificate_.dual)


def test_more_starts_are_no_worse_and_the_seed_decides():
    X = blobs(300, k=8, seed=6, spread=1.5)
    one = mm.KMeans(8, init="random", n_init=1, random_state=1).fit(X)
    ten = mm.KMeans(8, init="random", random_state=1).fit(X)
    again = mm.KMeans(8, init="random", random_state=1).fit(X)
    assert ten.inertia_ <= one.inertia_
    assert np.array_equal(ten.labels_, again.labels_)


def test_limits_leave_a_valid_model():
    X = blobs(400, k=9, seed=7, spread=1.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        short = mm.KMeans(9, max_iter=2, random_state=0).fit(X)
    assert short.n_iter_ == 2
    assert (short.predict(X) == short.labels_).all()

    def stop(state):
        return mm.STOP if state.iteration == 1 else None

    with pytest.warns(ConvergenceWarning, match="a callback"):
        stopped = mm.KMeans(9, callbacks=[stop], random_state=0).fit(X)
    assert len(stopped.history_) == 2
    with pytest.warns(ConvergenceWarning, match="max_seconds=0"):
        mm.KMeans(9, max_seconds=0, random_state=0).fit(X)

    def press(state):
        raise KeyboardInterrupt

    with pytest.raises(mm.Interrupted) as caught:
        mm.KMeans(9, n_init=5, callbacks=[press], random_state=0).fit(X)
    assert (caught.value.result.predict(X) == caught.value.result.labels_).all()


def test_the_data_are_not_changed():
    X = blobs().astype(np.float32)
    X.setflags(write=False)
    copy = X.copy()
    mm.KMeans(3, random_state=0).fit(X).predict(X)
    assert np.array_equal(X, copy)


def test_transform_and_names():
    X = blobs(20)
    model = mm.KMeans(3, random_state=0).fit(X)
    wanted = np.sqrt([cost(X, c, "euclidean") for c in model.cluster_centers_]).T
    np.testing.assert_allclose(model.transform(X), wanted, atol=1e-9)
    assert model.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]
    assert "lower bound" in repr(model)
    assert "% of the objective" in repr(model)


@pytest.mark.parametrize(
    ("parameters", "X", "words"),
    [
        ({"n_clusters": 0}, None, "n_clusters must be an integer ≥ 1"),
        ({"n_clusters": 5}, np.zeros((4, 2)), "n_samples=4 should be >= n_clusters=5"),
        ({"distance": "chebyshev"}, None, "distance='chebyshev' is not known"),
        ({"distance": "l1"}, None, "write distance='manhattan'"),
        ({"init": "best"}, None, "init='best' is not known"),
        ({"init": [[1.0]], "n_clusters": 2}, None, "init must have a row for every cluster"),
        ({"n_init": 0}, None, "n_init must be an integer"),
        ({"algorithm": "elkan"}, None, "algorithm='elkan' is not known"),
        ({"algorithm": "minibatch", "distance": "manhattan"}, None, "are medians"),
        ({"tol": -1}, None, "tol must be"),
        ({"n_clusters": 2}, np.array([[1.0], [np.nan], [2.0]]), "NaN"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(parameters, X, words):
    with pytest.raises(ValueError, match=words):
        mm.KMeans(**parameters).fit(blobs(30) if X is None else X)


def test_unknown_parameters_get_advice():
    with pytest.raises(TypeError, match="distance="):
        mm.KMeans(3, metric="cosine")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        mm.KMeans(3, distance="cosine").partial_fit(blobs())


def expected_failures(estimator):
    """As in scikit-learn: the rows that are drawn depend on how many there are."""
    return weights_are_no_copies("k-means++ draws other rows if rows are repeated or left out")


@by_checks(
    [mm.KMeans(3, random_state=0)],
    [
        mm.KMeans(3, distance="cosine", random_state=0),
        mm.KMeans(3, distance="manhattan", random_state=0),
        mm.KMeans(3, algorithm="minibatch", batch_size=20, random_state=0),
    ],
    expected_failures,
)
def test_sklearn_checks(estimator, check):
    quietly(estimator, check)


@pytest.mark.parametrize("distance", ["euclidean", "cosine", "manhattan"])
def test_numbers_whose_squares_overflow_are_refused(distance):
    x = np.random.default_rng(0).normal(size=(30, 3))
    model = mm.KMeans(2, distance=distance, random_state=0)
    with pytest.raises(ValueError, match="squares overflow: divide X"):
        model.fit(1e155 * x)
    with pytest.raises(ValueError, match="squares overflow: divide X"):
        model.fit(x).predict(1e160 * x)


def test_large_numbers_in_single_precision_are_clustered_in_double():
    x = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    found = mm.KMeans(3, random_state=0).fit(x * np.float32(1e20))
    same = mm.KMeans(3, random_state=0).fit(x)
    np.testing.assert_array_equal(found.labels_, same.labels_)
    np.testing.assert_allclose(
        found.certificate_.primal, 1e40 * same.certificate_.primal, rtol=1e-5
    )


def test_rows_too_short_for_a_cosine_are_refused():
    x = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="its length underflows: multiply X"):
        mm.KMeans(2, distance="cosine").fit(1e-170 * x)


def test_scores_that_all_overflow_give_a_label():
    """Of centres that are far beyond the square root of the largest number."""
    x = np.random.default_rng(0).normal(size=(30, 3))
    with np.errstate(over="ignore", invalid="ignore"):
        found = mm.KMeans(2, init=1e200 * x[:2], n_init=1).fit(x)
    assert set(found.labels_) <= {0, 1}


@pytest.mark.parametrize("model", [mm.KMeans(2), mm.SoftKMeans(2), mm.PCA(1), mm.Divisive(2)])
def test_numbers_whose_squares_underflow_are_refused(model):
    x = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="underflow: divide X"):
        model.fit(1e-200 * x)
    model.fit(x)
    model.fit(np.zeros((4, 3)) if isinstance(model, mm.PCA) else x)  # zeros are no tiny numbers


def test_small_numbers_in_single_precision_are_clustered_in_double():
    x = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    found = mm.KMeans(3, random_state=0).fit(x * np.float32(1e-25))
    same = mm.KMeans(3, random_state=0).fit(x)
    np.testing.assert_array_equal(found.labels_, same.labels_)


@pytest.mark.parametrize("size", [1e-14, 1e-11, 1.0, 1e11, 1e14])
@pytest.mark.parametrize("kind", ["blobs", "far", "integers", "heavy tails"])
def test_bounds_of_distances_give_the_same_labels(kind, size):
    rng = np.random.default_rng(0)
    X = {
        "blobs": lambda: blobs(400, 5, 8),
        "far": lambda: blobs(400, 5, 8) + 1e4,
        "integers": lambda: rng.integers(0, 3, size=(400, 3)).astype(float),
        "heavy tails": lambda: rng.standard_cauchy(size=(400, 3)),
    }[kind]()
    X = size * X
    start = X[rng.choice(400, 12, replace=False)]
    bounded, plain = (
        mm.KMeans(12, init=start, algorithm=algorithm, tol=0).fit(X)
        for algorithm in ("bounded", "lloyd")
    )
    np.testing.assert_array_equal(bounded.labels_, plain.labels_)
    assert bounded.n_iter_ == plain.n_iter_
    np.testing.assert_allclose(
        bounded.cluster_centers_, plain.cluster_centers_, rtol=1e-12, atol=1e-14 * size
    )


@pytest.mark.parametrize("algorithm", ["auto", "lloyd", "hartigan", "minibatch"])
@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_whose_mean_is_rounded_end_the_algorithm(algorithm, seed):
    """The mean of equal rows may differ from them in the last place; nothing is gained by it."""
    X = np.tile(np.random.default_rng(seed).normal(size=(1, 3)) / 3, (7, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.KMeans(4, algorithm=algorithm, random_state=0, max_iter=1000).fit(X)
    assert model.n_iter_ < 1000
    assert model.inertia_ <= 1e-25


def test_directions_in_single_precision_are_judged_in_double():
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    model = mm.KMeans(1, distance="cosine", random_state=0).fit(X)
    unit = X.astype(float) / np.linalg.norm(X.astype(float), axis=1, keepdims=True)
    least = 40 - np.linalg.norm(unit.sum(axis=0))  # of all centres
    assert model.inertia_ >= least * (1 - 1e-14)
    assert model.cluster_centers_.dtype == np.float32
