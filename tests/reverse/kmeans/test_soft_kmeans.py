"""Soft k-means: shares that sum to one, descent, limits of its parameters, bounds."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

FORMS = [{"temperature": 1.5}, {"form": "fuzzy", "exponent": 1.7}, {}]


def blobs(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=(3, 2))[rng.integers(3, size=n)] + rng.normal(size=(n, 2))


def objective(X, centers, y, parameters):
    d = ((X[:, None] - centers[None]) ** 2).sum(axis=2)
    if parameters.get("form") == "fuzzy":
        return (y ** parameters["exponent"] * d).sum(axis=1)
    logs = np.log(np.maximum(y, 1e-300))
    return (y * d + parameters["temperature"] * y * logs).sum(axis=1)


@pytest.mark.parametrize("parameters", FORMS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_shares_and_centres_are_best_for_each_other(parameters, kind):
    X = np.round(blobs(), 2)
    w = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    given = {"dense": X, "sparse": sparse.csr_matrix(X), "float32": X.astype(np.float32)}[kind]
    model = mm.SoftKMeans(3, **parameters, tol=1e-14, random_state=0).fit(given, sample_weight=w)
    y = model.predict_proba(given)
    assert y.min() >= 0
    np.testing.assert_allclose(y.sum(axis=1), 1.0)
    if not parameters:
        parameters = {"temperature": model.temperature_}
    value = objective(X, model.cluster_centers_, y, parameters)
    assert model.inertia_ == pytest.approx(w @ value, rel=1e-5)
    assert model.score(given, sample_weight=w) == pytest.approx(-model.inertia_, rel=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(20):  # no other shares, no other centres are better
        other = rng.dirichlet(np.ones(3), len(X))
        mixed = 0.9 * y + 0.1 * other
        assert (objective(X, model.cluster_centers_, mixed, parameters) >= value - 1e-4).all()
        moved = model.cluster_centers_ + 0.1 * rng.normal(size=(3, 2))
        assert w @ objective(X, moved, y, parameters) >= w @ value - 1e-4
    assert (np.diff(model.history_.primal) <= 0).all()
    assert model.certificate_.dual <= model.certificate_.primal
    assert (model.predict(given) == model.labels_).all()


@pytest.mark.parametrize(
    "parameters", [{"temperature": 1e-6}, {"form": "fuzzy", "exponent": 1.001}]
)
def test_both_forms_become_k_means(parameters):
    X = blobs()
    hard = mm.KMeans(3, init=X[:3], tol=0).fit(X)
    soft = mm.SoftKMeans(3, init=X[:3], tol=0, **parameters).fit(X)
    np.testing.assert_allclose(soft.cluster_centers_, hard.cluster_centers_, atol=1e-3)
    assert soft.inertia_ == pytest.approx(hard.inertia_, rel=1e-3)


@pytest.mark.parametrize("parameters", FORMS[:2])
def test_the_bound_is_below_what_is_found_on_small_problems(parameters):
    X = np.random.default_rng(3).normal(size=(6, 2))
    best = min(
        mm.SoftKMeans(2, init=X[list(pair)], tol=1e-12, **parameters).fit(X).inertia_
        for pair in itertools.combinations(range(6), 2)
    )
    model = mm.SoftKMeans(2, random_state=0, **parameters).fit(X)
    assert model.certificate_.dual <= best + 1e-9


@pytest.mark.parametrize("parameters", FORMS)
def test_rows_far_from_zero_keep_their_digits(parameters):
    X = blobs()
    near = mm.SoftKMeans(3, **parameters, init=X[:3]).fit(X)
    for shift in (1e6, 1e8):
        moved = X + shift
        X_there = moved - shift  # what rounding leaves of X
        far = mm.SoftKMeans(3, **parameters, init=moved[:3]).fit(moved)
        assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-5)
        assert far.certificate_.dual <= far.certificate_.primal
        np.testing.assert_allclose(far.predict_proba(moved), near.predict_proba(X_there), atol=1e-3)
    means = mm.KMeans(3, init=moved[:3]).fit(moved)
    assert (means.transform(moved).argmin(axis=1) == means.predict(moved)).all()


def test_a_fit_without_time_has_a_model():
    X = blobs()
    for form in ("gaussian", "fuzzy"):
        with pytest.warns(ConvergenceWarning, match="max_seconds=0"):
            model = mm.SoftKMeans(3, form=form, max_seconds=0.0, random_state=0).fit(X)
        assert model.certificate_.dual <= model.inertia_
        assert (model.predict(X) == model.labels_).all()


def test_a_row_on_a_centre_belongs_to_it():
    model = mm.SoftKMeans(2, form="fuzzy", init=[[0.0], [8.0]], max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model.fit([[0.0], [8.0], [1.0]])
    model.cluster_centers_ = np.array([[0.0], [8.0]])
    np.testing.assert_array_equal(model.predict_proba([[8.0]]), [[0.0, 1.0]])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"form": "hard"}, "form='hard' is not known"),
        ({"temperature": 0.0}, "temperature must be a finite number > 0"),
        ({"temperature": -1}, "temperature must be a finite number > 0"),
        ({"exponent": 1.0}, "exponent must be a finite number > 1"),
        ({"init": [[0.0, 1.0], [np.nan, 1.0]], "n_clusters": 2}, "init must .* with NaN"),
        ({"n_clusters": 99}, "n_samples=20 should be >= n_clusters=99"),
    ],
)
def test_bad_parameters_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        mm.SoftKMeans(**parameters).fit(blobs(20))


@pytest.mark.conformance
@parametrize_with_checks(
    [mm.SoftKMeans(3, random_state=0), mm.SoftKMeans(3, form="fuzzy", random_state=0)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "k-means++ draws other rows",
        "check_sample_weight_equivalence_on_sparse_data": "k-means++ draws other rows",
        "check_estimator_sparse_array": "takes predict_proba for that of a classifier of y",
        "check_estimator_sparse_matrix": "takes predict_proba for that of a classifier of y",
    },
)
def test_all_sklearn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
