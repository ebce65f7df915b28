"""`KNNClassifier` and `KNNRegressor` against scikit-learn, copies and kernels."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

RNG = np.random.default_rng(11)
X, NEW = RNG.standard_normal((90, 3)), RNG.standard_normal((40, 3))
LABELS = np.array(["a", "b", "c"])[
    np.digitize(X[:, 0] + 0.5 * RNG.standard_normal(90), [-0.5, 0.5])
]
Y = np.column_stack([X[:, 0] ** 2, X @ [1.0, 2.0, 3.0]])


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
@pytest.mark.parametrize("distance", ["euclidean", "manhattan", "chebyshev", "cosine"])
def test_against_scikit_learn(weights, distance):
    how = {"weights": weights, "metric": distance}
    theirs = KNeighborsClassifier(7, **how).fit(X, LABELS)
    ours = mm.KNNClassifier(7, weights=weights, distance=distance).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-12)
    assert (ours.predict(NEW) == theirs.predict(NEW)).all()
    for y in (Y, Y[:, 0]):
        want = KNeighborsRegressor(7, **how).fit(X, y).predict(NEW)
        found = mm.KNNRegressor(7, weights=weights, distance=distance).fit(X, y).predict(NEW)
        np.testing.assert_allclose(found, want, atol=1e-10)
    np.testing.assert_allclose(ours.kneighbors(NEW)[0], theirs.kneighbors(NEW)[0])
    assert ours.score(NEW, theirs.predict(NEW)) == 1.0


@pytest.mark.parametrize("how", ["linear", "function", "precomputed", "ball_tree"])
def test_all_ways_to_say_the_same_distance(how):
    options, rows, new = {}, X, NEW
    if how == "linear":
        options = {"kernel": mm.Linear()}
    elif how == "function":
        options = {"distance": lambda a, b: np.linalg.norm(a - b)}
    elif how == "precomputed":
        options, rows, new = {"distance": "precomputed"}, cdist(X, X), cdist(NEW, X)
    else:
        options = {"algorithm": "ball_tree"}
    weights = RNG.integers(0, 3, 90)
    for kind, y in ((mm.KNNClassifier, LABELS), (mm.KNNRegressor, Y)):
        plain = kind(4, weights="distance").fit(X, y, sample_weight=weights)
        other = kind(4, weights="distance", **options).fit(rows, y, sample_weight=weights)
        predict = "predict_proba" if hasattr(plain, "predict_proba") else "predict"
        np.testing.assert_allclose(
            getattr(other, predict)(new), getattr(plain, predict)(NEW), atol=1e-6
        )
        np.testing.assert_array_equal(other.kneighbors(new)[1], plain.kneighbors(NEW)[1])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_weights_are_copies_and_zero_is_absent(weights):
    mass = RNG.integers(0, 4, 90)
    copies = np.repeat(np.arange(90), mass)
    for k in (1, 5, 12):
        weighted = mm.KNNClassifier(k, weights=weights).fit(X, LABELS, sample_weight=mass)
        copied = mm.KNNClassifier(k, weights=weights).fit(X[copies], LABELS[copies])
        np.testing.assert_allclose(
            weighted.predict_proba(NEW), copied.predict_proba(NEW), atol=1e-12
        )
    halves = mm.KNNRegressor(6, weights=weights).fit(X, Y, sample_weight=np.full(90, 0.5))
    full = mm.KNNRegressor(12, weights=weights).fit(X, Y)  # half of each of twelve rows
    np.testing.assert_allclose(halves.predict(NEW), full.predict(NEW), atol=1e-12)


def test_rows_at_distance_zero_count_alone():
    model = mm.KNNRegressor(3, weights="distance").fit([[0.0], [0.0], [1.0]], [1.0, 3.0, 50.0])
    assert model.predict([[0.0]]).tolist() == [2.0]
    assert mm.KNNClassifier(1).fit(X, LABELS).score(X, LABELS) == 1.0


def test_kernels_of_strings_and_of_vectors():
    words = ["aaaa", "aaab", "abab", "zzzz", "zzzy", "zyzy"]
    model = mm.KNNClassifier(2, kernel=mm.Spectrum(2)).fit(words, [0, 0, 0, 1, 1, 1])
    assert model.predict(["aaba", "zzzzz"]).tolist() == [0, 1]
    # RBF distances grow with Euclidean ones: the same neighbours
    rbf, plain = mm.KNNClassifier(5, kernel="rbf"), mm.KNNClassifier(5)
    np.testing.assert_array_equal(
        rbf.fit(X, LABELS).predict_proba(NEW), plain.fit(X, LABELS).predict_proba(NEW)
    )


def test_ordinary_data():
    frame = pd.DataFrame(X, columns=list("abc"))
    wanted = mm.KNNClassifier().fit(X, LABELS).predict(NEW)
    locked = X.copy()
    locked.setflags(write=False)
    for given in (frame, X.tolist(), locked, sparse.csr_matrix(X), np.asfortranarray(X)):
        new = pd.DataFrame(NEW, columns=list("abc")) if given is frame else NEW
        assert (mm.KNNClassifier().fit(given, LABELS).predict(new) == wanted).all()
    model = pickle.loads(pickle.dumps(mm.KNNClassifier().fit(X, LABELS)))
    assert (model.predict(NEW) == wanted).all()
    assert "rows 90" in repr(model)
    weights = np.ones(90)
    mm.KNNClassifier().fit(X, LABELS, sample_weight=weights)
    assert (weights == 1).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer ≥ 1"),
        ({"n_neighbors": 91}, "n_neighbors=91 is more than the n_samples=90 rows"),
        ({"weights": "near"}, "weights must be 'uniform', 'distance' or a function"),
        ({"algorithm": "tree"}, "algorithm must be"),
        ({"distance": "euclid"}, "is not known"),
    ],
)
def test_bad_input_gets_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        mm.KNNClassifier(**options).fit(X, LABELS)


def test_bad_weights_and_targets_get_a_sentence():
    with pytest.raises(ValueError, match="adds up to 1, less than n_neighbors=5"):
        mm.KNNClassifier().fit(X, LABELS, sample_weight=np.full(90, 1 / 90))
    with pytest.raises(ValueError, match="no class labels"):
        mm.KNNClassifier().fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="must hold numbers"):
        mm.KNNRegressor().fit(X, LABELS)
    model = mm.KNNRegressor(weights=lambda d: -d).fit(X, Y)
    with pytest.raises(ValueError, match="a finite number ≥ 0 for every distance"):
        model.predict(NEW)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(NEW[:, :2])


def test_numbers_are_left_to_the_regressor():
    with pytest.raises(ValueError, match=r"use minimand\.KNNRegressor"):
        mm.KNNClassifier(1).fit([[0.0], [1.0]], [0.5, 1.5])


@parametrize_with_checks([mm.KNNClassifier(3)])
def test_sklearn_checks_of_votes(estimator, check):
    check(estimator)


@pytest.mark.conformance
@parametrize_with_checks(
    [mm.KNNRegressor(3), mm.KNNClassifier(3, kernel="rbf"), mm.KNNRegressor(2, weights="distance")]
)
def test_sklearn_checks_of_means(estimator, check):
    check(estimator)
