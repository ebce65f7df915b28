"""Sparse rows with columns far from zero are clustered as dense ones, whose mean is subtracted."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import minimand as mm
import minimand.sklearn as ms

RNG = np.random.default_rng(0)
NEAR = RNG.normal(size=(60, 4)) + 6.0 * RNG.integers(0, 3, size=(60, 1))
NEAR[::4, 0] = 0.0
START = [0, 20, 40]


def far(offset, kind=float):
    X = NEAR.copy()
    X[:, 2] += offset
    return X.astype(kind)


MODELS = {
    "bounded": mm.KMeans(3),
    "hartigan": mm.KMeans(3, algorithm="hartigan"),
    "minibatch": mm.KMeans(3, algorithm="minibatch", random_state=0),
    "soft": mm.SoftKMeans(3, temperature=1.0),
    "fuzzy": mm.SoftKMeans(3, form="fuzzy"),
    "drop-in": ms.KMeans(3, n_init=1),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("offset", [1e5, 1.7e9, -1e11])
def test_sparse_rows_are_clustered_as_dense_ones(name, offset):
    X = far(offset)
    thin, full = (clone(MODELS[name]).set_params(init=X[START]) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thin.fit(sparse.csr_matrix(X))
        full.fit(X)
    np.testing.assert_array_equal(thin.labels_, full.labels_)
    np.testing.assert_array_equal(thin.predict(sparse.csc_matrix(X)), thin.labels_)
    np.testing.assert_array_equal(thin.predict(sparse.csr_matrix(X)[:1]), thin.labels_[:1])
    assert thin.inertia_ == pytest.approx(full.inertia_, rel=1e-4)
    np.testing.assert_allclose(thin.cluster_centers_, full.cluster_centers_, rtol=1e-12, atol=1e-4)
    found, dense = thin.certificate_, full.certificate_
    assert found.rounding <= 1e-9 * found.primal
    assert found.dual == pytest.approx(dense.dual, rel=1e-4, abs=1e-9)
    again = mm.certify(thin, sparse.csr_matrix(X))
    assert again.primal == pytest.approx(thin.inertia_, rel=1e-4)
    assert thin.score(sparse.csr_matrix(X)) == pytest.approx(-thin.inertia_, rel=1e-4)
    np.testing.assert_allclose(thin.transform(sparse.csr_matrix(X)), full.transform(X), atol=1e-2)


def test_single_precision_starts_streams_and_copies():
    X = far(4096.0, np.float32)
    given = []

    def first(rows, k, random_state):
        given.append(rows)
        return X[START]

    thin = mm.KMeans(3, init=first, n_init=1).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(given[0].toarray(), X)
    assert thin.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(
        thin.labels_, mm.KMeans(3, init=X[START]).fit(X.astype(float)).labels_
    )
    X = far(1.7e9)
    streams = [mm.KMeans(3, init=X[START]) for _ in range(2)]
    for part in np.array_split(np.arange(60), 4):
        streams[0].partial_fit(sparse.csr_matrix(X[part]))
        streams[1].partial_fit(X[part])
    np.testing.assert_allclose(*(each.cluster_centers_ for each in streams), rtol=1e-12, atol=1e-9)
    counts = RNG.integers(0, 3, size=60)
    counts[START] = 1
    one = mm.KMeans(3, init=X[START]).fit(sparse.csr_matrix(X), sample_weight=counts)
    two = mm.KMeans(3, init=X[START]).fit(sparse.csr_matrix(np.repeat(X, counts, axis=0)))
    np.testing.assert_array_equal(np.repeat(one.labels_, counts), two.labels_)


def test_equal_rows_and_smaller_shifts():
    with pytest.warns(UserWarning, match="duplicate points"):
        mm.KMeans(2).fit(sparse.csr_matrix(np.full((9, 2), 1e9)))
    rng = np.random.default_rng(1)
    for offset, d in ((0.0, 5), (1e3, 5), (1e5, 5), (1e5, 1500)):
        X = rng.normal(size=(80, d)) * (0.05 if d > 5 else 1.0) + offset * (np.arange(d) < 2)
        model = mm.KMeans(3, random_state=0).fit(sparse.csr_matrix(X))
        left = X - model.cluster_centers_[model.labels_]
        found = model.certificate_
        assert abs(model.inertia_ - np.square(left).sum()) <= found.rounding + 1e-13 * found.primal
        assert found.dual <= np.square(left).sum()
