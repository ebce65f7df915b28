"""KNeighborsClassifier and KNeighborsRegressor predict what scikit-learn's do, and more."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import neighbors
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
from minimand.reverse.nearest_rows import inverse_distances
from minimand.sklearn import KNeighborsClassifier, KNeighborsRegressor

RNG = np.random.default_rng(5)
PAIRS = [
    (KNeighborsClassifier, neighbors.KNeighborsClassifier),
    (KNeighborsRegressor, neighbors.KNeighborsRegressor),
]


def rows_of(kind, n, rng):
    """Rows: of numbers, of whole numbers with many ties and copies, wide, sparse, single."""
    if kind == "ties":
        return rng.integers(0, 4, (n, 3)).astype(float)
    if kind == "wide":
        return rng.normal(size=(n, 20))
    if kind == "sparse":
        return sparse.random_array((n, 30), density=0.1, rng=rng, format="csr")
    if kind == "single":
        return rng.normal(size=(n, 20)).astype(np.float32)
    return rng.normal(size=(n, 3))


def targets(n, rng):
    words = np.array(["a", "bb", "c"])
    return {
        "class": words[rng.integers(0, 3, n)],
        "classes": rng.integers(0, 3, (n, 2)),
        "number": rng.normal(size=n),
        "numbers": rng.normal(size=(n, 2)),
        "whole": rng.integers(0, 9, n),
    }


def near(distances):
    return np.exp(-distances)


def outcomes(model, X, y, new):
    model.fit(X, y)
    yield model.predict(new)
    yield model.predict(None)
    yield model.kneighbors(new)[0]
    yield model.kneighbors(None, 2, return_distance=False)
    yield model.kneighbors_graph(new, mode="distance").toarray()
    if hasattr(model, "predict_proba"):
        found = model.predict_proba(new)
        yield from found if isinstance(found, list) else [found]


@pytest.mark.filterwarnings("ignore:Parameter p is found")  # scikit-learn writes it there itself
@pytest.mark.parametrize("weights", ["uniform", "distance", near, None])
@pytest.mark.parametrize("kind", ["plain", "ties", "wide", "sparse", "single"])
def test_predictions_are_scikit_learns(kind, weights):
    rng = np.random.default_rng(3)
    X, new = rows_of(kind, 80, rng), rows_of(kind, 30, rng)
    ways = [{}, {"n_neighbors": 1}, {"n_neighbors": 7, "p": 1}, {"algorithm": "brute"}]
    if kind not in ("sparse", "single"):
        ways += [{"metric": "chebyshev", "algorithm": "ball_tree"}, {"metric": "canberra"}]
        ways += [{"p": 3, "metric_params": {"w": np.arange(1.0, X.shape[1] + 1)}}]
    for (ours, theirs), how in itertools.product(PAIRS, ways):
        of_classes = ours is KNeighborsClassifier
        for name, y in targets(80, rng).items():
            if of_classes and name.startswith("number"):
                continue
            if not of_classes and name == "class":
                continue
            mine = outcomes(ours(weights=weights, **how), X, y, new)
            wanted = outcomes(theirs(weights=weights, **how), X, y, new)
            for found, want in zip(mine, wanted, strict=True):
                assert found.dtype == want.dtype
                assert found.shape == want.shape
                if found.dtype.kind == "f":
                    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
                else:
                    np.testing.assert_array_equal(found, want)


def test_attributes_are_scikit_learns():
    X, y = rows_of("plain", 40, RNG), RNG.integers(0, 2, 40)
    for ours, theirs in PAIRS:
        mine, wanted = ours(p=1).fit(X, y), theirs(p=1).fit(X, y)
        assert isinstance(mine, theirs)
        public = {name for name in vars(wanted) if name.endswith("_")}
        assert {name for name in vars(mine) if name.endswith("_")} == public
        for name in public:
            np.testing.assert_array_equal(getattr(mine, name), getattr(wanted, name))
        assert mine.score(X, y) == wanted.score(X, y)
        assert mine.score(None, y) == wanted.score(None, y)  # each row left out in turn
        tree = neighbors.KDTree(X)
        np.testing.assert_array_equal(
            ours().fit(tree, y).predict(X), theirs().fit(tree, y).predict(X)
        )


def test_a_column_of_labels_and_distances_that_are_given():
    X, y, new = rows_of("plain", 40, RNG), RNG.integers(0, 3, 40), rows_of("plain", 9, RNG)
    wanted = KNeighborsClassifier().fit(X, y).predict_proba(new)
    with pytest.warns(Warning, match="column-vector y"):
        column = KNeighborsClassifier().fit(X, y[:, None])
    np.testing.assert_array_equal(column.predict_proba(new), wanted)
    given = KNeighborsClassifier(metric="precomputed").fit(cdist(X, X), y)
    np.testing.assert_array_equal(given.predict_proba(cdist(new, X)), wanted)
    graph = neighbors.NearestNeighbors(n_neighbors=8).fit(X)
    thin = KNeighborsClassifier(metric="precomputed").fit(
        graph.kneighbors_graph(X, 8, "distance"), y
    )
    np.testing.assert_array_equal(
        thin.predict_proba(graph.kneighbors_graph(new, 8, "distance")), wanted
    )


@pytest.mark.parametrize("far", [1e4, 1e8])
def test_rows_far_from_zero_keep_their_neighbours(far):
    X, new, y = rows_of("wide", 60, RNG), rows_of("wide", 20, RNG), RNG.normal(size=60)
    labels = (y > 0).astype(int)
    for weights in ("uniform", "distance"):
        for mine in (KNeighborsClassifier(weights=weights), KNeighborsRegressor(weights=weights)):
            target = labels if hasattr(mine, "predict_proba") else y
            exact = cdist(new + far, X + far)
            order = np.argsort(exact, axis=1)[:, :5]
            moved = clone(mine).fit(X + far, target)
            np.testing.assert_array_equal(moved.kneighbors(new + far)[1], order)
            np.testing.assert_allclose(
                moved.kneighbors(new + far)[0], np.take_along_axis(exact, order, axis=1), rtol=1e-9
            )
            tree = clone(mine).set_params(algorithm="kd_tree").fit(X + far, target)
            np.testing.assert_allclose(moved.predict(new + far), tree.predict(new + far))
            np.testing.assert_allclose(moved.predict(None), tree.predict(None))
            assert (moved.kneighbors(return_distance=False) != np.arange(60)[:, None]).all()


def test_equal_distances_stay_equal_far_from_zero():
    """Years and other whole numbers: moving the rows must not break ties by rounding."""
    rng = np.random.default_rng(0)
    X = rng.integers(1990, 2025, (70, 17)) * 1.0
    new = rng.integers(1990, 2025, (30, 17)) * 1.0
    for algorithm in ("brute", "kd_tree"):
        found = KNeighborsRegressor(algorithm=algorithm).fit(X, np.zeros(70)).kneighbors(new)[0]
        np.testing.assert_allclose(found**2, np.rint(found**2), rtol=1e-13)


def test_a_kernel_as_metric_is_the_distance_of_its_features():
    X, new, y = rows_of("plain", 50, RNG), rows_of("plain", 20, RNG), RNG.integers(0, 3, 50)
    for ours, _ in PAIRS:
        plain = ours(7, weights="distance").fit(X, y)
        linear = ours(7, weights="distance", metric=mm.Linear()).fit(X, y)
        np.testing.assert_allclose(linear.predict(new), plain.predict(new), rtol=1e-6)
        np.testing.assert_allclose(linear.kneighbors(None)[0], plain.kneighbors(None)[0], atol=1e-6)
        np.testing.assert_array_equal(linear.kneighbors(new)[1], plain.kneighbors(new)[1])
        # distances of RBF grow with the others
        rbf = ours(7, metric=mm.RBF(tau=2.0)).fit(X, y)
        np.testing.assert_array_equal(rbf.predict(new), ours(7).fit(X, y).predict(new))
        graph = rbf.kneighbors_graph(new)
        assert graph.shape == (20, 50)
        assert (graph.sum(axis=1) == 7).all()
    both = np.column_stack([y, y > 1])
    many = KNeighborsClassifier(3, metric=mm.Linear()).fit(X, both)
    np.testing.assert_array_equal(
        many.predict(new), KNeighborsClassifier(3).fit(X, both).predict(new)
    )
    thin = KNeighborsClassifier(3, metric=mm.Linear()).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(
        thin.predict(sparse.csr_array(new)), KNeighborsClassifier(3).fit(X, y).predict(new)
    )


def test_kernels_of_words_and_searches_over_their_parameters():
    words = ["aaaa", "aaab", "abab", "zzzz", "zzzy", "zyzy"]
    model = KNeighborsClassifier(1, metric=mm.Spectrum(2)).fit(words, list("xxxyyy"))
    assert model.predict(["aaba", "zzzzz"]).tolist() == ["x", "y"]
    assert model.predict(None).tolist() == list("xxxyyy")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(words), model.predict_proba(words))
    X, y = rows_of("plain", 60, RNG), RNG.integers(0, 2, 60)
    kernel = mm.RBF(tau=1.0) + mm.Linear()
    search = GridSearchCV(KNeighborsClassifier(metric=kernel), {"n_neighbors": [1, 3]}, cv=2)
    assert search.fit(X, y).best_params_["n_neighbors"] in (1, 3)


def test_ordinary_data():
    X, y = rows_of("plain", 40, RNG), np.array(["no", "yes"])[RNG.integers(0, 2, 40)]
    wanted = KNeighborsClassifier().fit(X, y).predict(X)
    locked = X.copy()
    locked.setflags(write=False)
    wide = np.zeros((40, 6))
    wide[:, ::2] = X
    frame = pd.DataFrame(X, columns=list("abc"))
    for given in (frame, X.tolist(), locked, np.asfortranarray(X), wide[:, ::2]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (KNeighborsClassifier().fit(given, y).predict(given) == wanted).all()
    assert KNeighborsClassifier().fit(frame, y).feature_names_in_.tolist() == list("abc")
    far = frame + 1e7
    brute = KNeighborsClassifier(algorithm="brute").fit(far, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (brute.predict(far) == wanted).all()
    with pytest.raises(ValueError, match="feature names"):
        brute.predict(far.rename(columns={"a": "z"}))


def test_a_model_that_is_fitted_again_forgets_the_last_search():
    X, y = rows_of("wide", 40, RNG), RNG.integers(0, 2, 40)
    model = KNeighborsClassifier()
    for data in (X + 1e7, X, X + 1e7):
        assert (
            model.fit(data, y).predict(data)
            == KNeighborsClassifier(algorithm="kd_tree").fit(data, y).predict(data)
        ).all()
    model.set_params(metric=mm.Linear()).fit(X, y)
    assert (
        model.set_params(metric="minkowski").fit(X, y).predict(X)
        == KNeighborsClassifier().fit(X, y).predict(X)
    ).all()


@pytest.mark.parametrize("p", [1, 2])
def test_entries_of_one_cell_count_as_their_sum(p):
    """scikit-learn's products of sparse rows take them for cells of their own."""
    places = np.repeat(np.arange(60) % 4, 2), np.arange(0, 121, 2)
    thin = sparse.csr_matrix((np.arange(120.0), *places), shape=(60, 4))
    assert not thin.has_canonical_format
    rows, y = thin.toarray(), np.arange(60) % 2
    for ours, _ in PAIRS:
        found, want = ours(3, p=p).fit(thin, y), ours(3, p=p, algorithm="brute").fit(rows, y)
        np.testing.assert_allclose(found.kneighbors(thin)[0], want.kneighbors(rows)[0], atol=1e-9)
        by_kernel = ours(3, metric=mm.Linear()).fit(thin, y)
        assert p == 1 or (by_kernel.predict(thin) == want.predict(rows)).all()
    assert thin.nnz == 120  # X is not changed
    far = rows_of("wide", 40, RNG) + 1e6
    dense = KNeighborsClassifier(3).fit(far, y[:40])
    assert (dense.predict(sparse.csr_matrix(far)) == dense.predict(far)).all()


def test_a_kernel_that_others_hold_is_not_changed():
    kernel = mm.RBF(tau=1.0)
    one, other = KNeighborsClassifier(metric=kernel), KNeighborsClassifier(metric=kernel)
    assert one.set_params(metric__tau=2.0, n_neighbors=3).metric.tau == 2.0
    assert one.n_neighbors == 3
    assert other.metric.tau == kernel.tau == 1.0
    with pytest.raises(ValueError, match="Invalid parameter"):
        one.set_params(metric__width=2.0)
    with pytest.raises(ValueError, match="metric=RBF is a class: pass an object"):
        KNeighborsClassifier(metric=mm.RBF).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="y must hold numbers"):
        KNeighborsRegressor(1).fit([[0.0], [1.0]], ["a", "b"])


@pytest.mark.parametrize("metric", ["minkowski", mm.RBF(tau=1.0)])
def test_bad_input_gets_a_sentence(metric):
    X, y = rows_of("plain", 4, RNG), np.array([0, 1, 0, 1])
    for ours, _ in PAIRS:
        model = ours(metric=metric).fit(X, y)
        with pytest.raises(ValueError, match="n_neighbors = 5, n_samples_fit = 4"):
            model.predict(X)
        with pytest.raises(ValueError, match="n_neighbors = 4, n_samples_fit = 4"):
            model.kneighbors(None, 4)
        with pytest.raises(ValueError, match="NaN"):
            ours(metric=metric).fit(np.where(X[0, 0] == X, np.nan, X), y)
        with pytest.raises(ValueError, match="3 features"):
            model.predict(X[:, :2])
        with pytest.raises(ValueError, match="must be an int"):
            ours(n_neighbors=2.5, metric=metric).fit(X, y)
    with pytest.raises(ValueError, match="some sample is getting zero weights"):
        KNeighborsClassifier(2, metric=metric, weights=np.zeros_like).fit(X, y).predict(X)
    with pytest.raises(ValueError, match="holds text"):
        KNeighborsClassifier().fit([["1"], ["2"]], [0, 1])
    with pytest.raises(ValueError, match=r"[Uu]nknown label type"):
        KNeighborsClassifier(1, metric=metric).fit(X, y + 0.5)


def test_weights_of_distances_that_nearly_vanish():
    d = np.array([[0.0, 0.0, 1.0], [2.0, 4.0, 8.0], [1e-320, 4e-320, 1.0]])
    found = inverse_distances(d)
    np.testing.assert_array_equal(found[:2], [[1, 1, 0], [0.5, 0.25, 0.125]])
    np.testing.assert_allclose(found[2], [1.0, 0.25, 0.0], rtol=1e-3, atol=1e-300)
    missing = inverse_distances(np.array([[np.nan, np.nan], [0.0, np.nan], [2.0, np.nan]]))
    np.testing.assert_array_equal(missing, [[np.nan, np.nan], [1, 0], [0.5, np.nan]])


@parametrize_with_checks([KNeighborsClassifier(3)])
def test_sklearn_checks_of_votes(estimator, check):
    check(estimator)


@pytest.mark.conformance
@parametrize_with_checks(
    [
        KNeighborsClassifier(),
        KNeighborsRegressor(),
        KNeighborsRegressor(2, weights="distance"),
        KNeighborsClassifier(3, metric=mm.RBF(tau=1.0)),
        KNeighborsRegressor(3, metric=mm.Linear()),
    ]
)
def test_sklearn_checks_of_neighbours(estimator, check):
    check(estimator)
