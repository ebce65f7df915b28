"""Compiled searches for the nearest centre, seeding and online means, against NumPy."""

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from minimand import _core

EMPTY = np.zeros(0)
KINDS = ["dense32", "dense64", "sparse32", "sparse64", "long32", "long64"]


def rows_of(X, kind):
    """X as the core takes it, and the numbers that it holds then."""
    X = X.astype(np.float32 if kind.endswith("32") else np.float64)
    if kind.startswith("dense"):
        return X, X.astype(float)
    index = np.int64 if kind.startswith("long") else np.int32
    m = sparse.csr_matrix(X)
    parts = m.indptr.astype(index), m.indices.astype(index), m.data
    return _core.Compressed(*parts, X.shape[1]), X.astype(float)


def table(X, centers, measure):
    gaps = X[:, None, :] - centers[None]
    return (gaps**2).sum(2) if measure == 0 else np.abs(gaps).sum(2)


def data(n=700, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, (n, 1))
    X[rng.random((n, d)) < 0.4] = 0.0
    return X, rng


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure", [0, 1])
@pytest.mark.parametrize("k", [1, 3, 16, 17, 70, 300])
def test_labels_are_nearest_while_centres_move(kind, measure, k):
    X, rng = data()
    core, exact = rows_of(X, kind)
    middle = exact.mean(axis=0) if kind.startswith("dense") and measure == 0 else EMPTY
    facts = (measure, EMPTY, EMPTY, middle)
    search = _core.CenterSearch(core, k, facts, True)
    centers = exact[rng.choice(len(X), k, replace=False)]
    shares = []
    for step in range(8):
        before = search.labels()
        moved, share, complete = search.assign(centers)
        distances = table(exact, centers, measure)
        labels = search.labels()
        own = distances[np.arange(len(X)), labels]
        slack = 1e-12 if kind.endswith("64") else 2e-5
        assert (own <= distances.min(axis=1) + slack * (1 + np.abs(own))).all()
        assert complete
        assert moved == np.count_nonzero(before != labels)
        np.testing.assert_allclose(search.distances(), own, rtol=1e-9, atol=1e-9)
        sums, masses = search.sums()
        wanted = np.array([exact[labels == c].sum(axis=0) for c in range(k)])
        np.testing.assert_allclose(sums, wanted, atol=1e-9)
        np.testing.assert_array_equal(masses, np.bincount(labels, minlength=k))
        shares.append(share)
        centers = centers + rng.normal(size=centers.shape) * 0.2 * 0.4**step
    assert shares[0] == 1.0
    assert k == 1 or shares[-1] < 1.0  # the bounds do something


def test_far_from_the_origin_single_precision_still_finds_the_nearest():
    X, _ = data()
    X = (X + 1e4).astype(np.float32)
    exact = X.astype(float)
    centers = exact[:20]
    search = _core.CenterSearch(X, 20, (0, EMPTY, EMPTY, exact.mean(axis=0)), True)
    search.assign(centers)
    distances = table(exact, centers, 0)
    own = distances[np.arange(len(X)), search.labels()]
    # The numbers of a row are rounded by 1e4·6e-8, and so are its distances.
    assert (np.sqrt(own) <= np.sqrt(distances.min(axis=1)) + 0.05).all()


def test_results_do_not_depend_on_the_number_of_threads():
    X, rng = data(60_000, 9)
    X = X.astype(np.float32)
    weights = rng.uniform(size=len(X))
    uniforms = rng.uniform(size=(39, 5))
    results = []
    for threads in (1, 3):
        with threadpool_limits(threads):
            facts = (0, weights, EMPTY, X.mean(axis=0, dtype=float))
            chosen = _core.seed_rows(X, 40, facts, 5, uniforms)
            search = _core.CenterSearch(X, 40, facts, True)
            centers = X[chosen].astype(float)
            for _ in range(5):
                search.assign(centers)
                sums, masses = search.sums()
                centers = sums / masses[:, None]
            results.append((chosen, centers, search.labels()))
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure", [0, 1])
def test_seeding_is_greedy_sampling_by_cost(kind, measure):
    X, rng = data(300, 4)
    core, exact = rows_of(X, kind)
    weights = rng.integers(0, 3, len(X)).astype(float)
    uniforms = rng.uniform(size=(11, 3))
    chosen = _core.seed_rows(core, 12, (measure, weights, EMPTY, EMPTY), 7, uniforms)
    costs, expected = table(exact, exact[[7]], measure)[:, 0], [7]
    for draws in uniforms:
        below = np.cumsum(weights * costs)
        drawn = np.searchsorted(below, draws * below[-1])
        options = np.minimum(costs[:, None], table(exact, exact[drawn], measure))
        best = np.argmin(weights @ options)
        costs = options[:, best]
        expected.append(drawn[best])
    assert chosen.tolist() == expected


def test_rows_that_are_centres_are_not_drawn_again():
    X = np.repeat(np.array([[1e3, 1.0], [1e3, 1.001], [1e3, 5.0]]), 40, axis=0).astype(np.float32)
    for seed in range(20):
        uniforms = np.random.default_rng(seed).uniform(size=(2, 2))
        chosen = _core.seed_rows(X, 3, (0, EMPTY, EMPTY, EMPTY), 50, uniforms)
        assert len({tuple(row) for row in X[chosen]}) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_online_means(kind):
    X, rng = data(200, 3)
    core, exact = rows_of(X, kind)
    weights = rng.uniform(size=len(X))
    centers, counts = exact[:4].copy(), np.zeros(4)
    wanted, seen, labels = centers.copy(), counts.copy(), []
    for x, w in zip(exact, weights):
        c = int(np.argmin(((x - wanted) ** 2).sum(axis=1)))
        seen[c] += w
        wanted[c] += (w / seen[c]) * (x - wanted[c])
        labels.append(c)
    found = _core.learn_means(core, weights, centers, counts)
    assert found.tolist() == labels
    np.testing.assert_allclose(centers, wanted, atol=1e-12)
    np.testing.assert_allclose(counts, seen)


def test_bad_arguments_are_refused():
    X = np.zeros((4, 2))
    facts = (0, EMPTY, EMPTY, EMPTY)
    search = _core.CenterSearch(X, 2, facts, True)
    with pytest.raises(ValueError, match="assign first"):
        search.distances()
    with pytest.raises(ValueError, match="centre"):
        search.assign(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="weights"):
        _core.CenterSearch(X, 2, (0, np.zeros(3), EMPTY, EMPTY), True)
    with pytest.raises(ValueError, match="measure"):
        _core.CenterSearch(X, 2, (2, EMPTY, EMPTY, EMPTY), True)
    with pytest.raises(ValueError, match="row"):
        _core.seed_rows(X, 2, facts, 4, np.zeros((1, 2)))
    search.assign(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="cluster"):
        search.relabel(0, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_single_moves_follow_the_means(kind):
    X, rng = data(80, 3)
    core, exact = rows_of(X, kind)
    weights = rng.integers(0, 3, size=len(X)).astype(float)
    labels = rng.integers(4, size=len(X)).astype(np.int32)
    masses = np.bincount(labels, weights, minlength=4)
    centers = np.array([np.average(exact[labels == c], 0, weights[labels == c]) for c in range(4)])

    def objective(labels):
        parts = [(labels == c) & (weights > 0) for c in range(4)]
        means = [np.average(exact[p], 0, weights[p]) for p in parts]
        return sum(weights[p] @ ((exact[p] - m) ** 2).sum(axis=1) for p, m in zip(parts, means))

    before = labels.copy()
    found, moved = _core.improve_rows(core, weights, centers, masses, labels)
    assert (labels == before).all()
    assert moved == (found != before).sum() > 0
    assert objective(found) < objective(before)
    np.testing.assert_allclose(masses, np.bincount(found, weights, minlength=4), atol=1e-12)
    for c in range(4):
        own = found == c
        np.testing.assert_allclose(centers[c], np.average(exact[own], 0, weights[own]), atol=1e-5)
    with pytest.raises(ValueError, match="no such cluster"):
        _core.improve_rows(core, weights, centers, masses, labels + np.int32(4))


@pytest.mark.parametrize(
    "case", ["plain", "far apart", "offset", "outlier", "huge", "tiny", "equal"]
)
def test_labels_of_doubles_are_exact_although_scores_may_be_single(case):
    """Rows and centres that single precision cannot tell apart are told apart all the same."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 5))
    if case == "far apart":  # centres within a cluster differ by less than the rounding of products
        X = 1e-3 * X + 1e5 * rng.integers(0, 4, (3000, 1))
    elif case == "offset":
        X += 1e9
    elif case == "outlier":
        X[0] = 1e12
    elif case == "huge":
        X *= 1e30
    elif case == "tiny":
        X *= 1e-30
    elif case == "equal":
        X = X[rng.integers(0, 40, 3000)]
    k = 40
    middle = X.mean(axis=0)
    search = _core.CenterSearch(X, k, (0, EMPTY, EMPTY, middle), True)
    centers = X[rng.choice(3000, k, replace=False)]
    for _ in range(6):
        search.assign(centers)
        distances = table(X, centers, 0)
        own = distances[np.arange(3000), search.labels()]
        assert (own <= distances.min(axis=1) * (1 + 1e-12)).all()
        sums, masses = search.sums()
        filled = masses > 0
        centers = centers.copy()
        centers[filled] = sums[filled] / masses[filled, None]


def test_seeds_with_many_trials_are_rows_that_differ():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 3))
    k = 1200  # more trials than a panel has places
    uniforms = rng.uniform(size=(k - 1, 9))
    rows = _core.seed_rows(X, k, (0, EMPTY, EMPTY, X.mean(axis=0)), 3, uniforms)
    assert rows[0] == 3
    assert np.unique(rows).size == k
