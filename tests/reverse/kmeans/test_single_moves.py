"""algorithm="hartigan": in the end no move of a single row lowers the objective."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm


def objective(X, labels, w, k):
    """Σ w‖x − mean‖² of the clusters, from the definition."""
    found = 0.0
    for c in range(k):
        rows = (labels == c) & (w > 0)
        if rows.any():
            mean = np.average(X[rows], axis=0, weights=w[rows])
            found += w[rows] @ ((X[rows] - mean) ** 2).sum(axis=1)
    return found


def least_after_a_move(X, labels, w, k):
    """The least objective of all clusterings that differ in one row."""
    least = np.inf
    for i in np.flatnonzero(w > 0):
        for c in range(k):
            moved = labels.copy()
            moved[i] = c
            least = min(least, objective(X, moved, w, k))
    return least


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("seed", range(4))
def test_no_single_move_helps(seed, kind):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(40, 2)) + 4 * rng.integers(0, 2, size=(40, 1)), 2)
    w = rng.integers(0, 4, size=40).astype(float)
    given = {"float64": X, "float32": X.astype(np.float32), "sparse": sparse.csr_matrix(X)}[kind]
    exact = given.astype(float) if kind == "float32" else X
    model = mm.KMeans(5, algorithm="hartigan", init="random", n_init=1, random_state=seed)
    model.fit(given, sample_weight=w)
    own = objective(exact, model.labels_, w, 5)
    tight = 1e-6 if kind == "float32" else 1e-10
    assert model.inertia_ == pytest.approx(own, rel=tight)
    assert least_after_a_move(exact, model.labels_, w, 5) >= own * (1 - tight)
    primal = model.history_.primal
    assert (np.diff(primal) <= 1e-9 * primal[:-1]).all()
    assert (model.predict(given) == model.labels_).all()


def test_lloyd_may_end_where_a_move_helps():
    rng = np.random.default_rng(0)
    helped = 0
    for _ in range(20):
        X, w = rng.normal(size=(30, 2)), np.ones(30)
        start = X[:6]
        plain = mm.KMeans(6, init=start, tol=0).fit(X)
        moved = mm.KMeans(6, init=start, tol=0, algorithm="hartigan").fit(X)
        assert moved.inertia_ <= plain.inertia_ * (1 + 1e-12)
        helped += moved.inertia_ < plain.inertia_ * (1 - 1e-6)
        assert least_after_a_move(X, moved.labels_, w, 6) >= moved.inertia_ * (1 - 1e-10)
    assert helped  # else this test could not fail


def test_weights_scale_and_zero_is_absent_under_single_moves():
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(30, 2)), rng.integers(0, 4, size=30).astype(float)
    start = X[w > 0][:3]
    one = mm.KMeans(3, algorithm="hartigan", init=start).fit(X, sample_weight=w)
    other = mm.KMeans(3, algorithm="hartigan", init=start).fit(X[w > 0], sample_weight=7 * w[w > 0])
    assert (other.labels_ == one.labels_[w > 0]).all()
    assert other.inertia_ == pytest.approx(7 * one.inertia_)


def test_single_moves_hear_limits_and_refuse_other_centres():
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = mm.KMeans(9, algorithm="hartigan", max_iter=2, random_state=0).fit(X)
    assert model.n_iter_ == 2
    assert model.certificate_.dual <= model.inertia_
    for distance in ("cosine", "manhattan"):
        with pytest.raises(ValueError, match="algorithm='hartigan' moves rows between means"):
            mm.KMeans(2, algorithm="hartigan", distance=distance).fit(X)
