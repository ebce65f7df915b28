"""Columns far from zero: no certificate is false beyond the rounding that it states."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.certificate.eigenvalues import relaxation
from minimand.design import as_design
from minimand.design.near_zero import near_zero


def _least(X, q, weights=None):
    """mean ½‖x − x̂‖² of the best q components, and of none; centred in exact arithmetic."""
    s = np.ones(len(X)) if weights is None else weights
    exact = [Fraction(w) for w in s]
    means = [sum(w * Fraction(v) for w, v in zip(exact, x)) / sum(exact) for x in X.T]
    centred = np.array([[float(Fraction(v) - m) for v in x] for x, m in zip(X.T, means)]).T
    squares = np.linalg.svd(np.sqrt(s)[:, None] * centred, compute_uv=False) ** 2
    return 0.5 * squares[q:].sum() / s.sum(), 0.5 * squares.sum() / s.sum()


def _true(certificate, least, total):
    slack = certificate.rounding + 4e-15 * total
    return certificate.dual <= least + slack and certificate.primal >= least - slack


@pytest.mark.parametrize("offset", [10.0, 1e5, 1.7e9])
@pytest.mark.parametrize("method", ["auto", "gram", "krylov", "covariance"])
def test_sparse_rows_with_a_time_stamp(method, offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 50)) * (rng.random((30, 50)) < 0.1)
    X[:, 0] = offset + rng.normal(size=30)
    X[3, 0] = 0.0 if offset < 100 else X[3, 0]
    model = mm.PCA(5, method=method, random_state=0).fit(sparse.csr_matrix(X))
    least, total = _least(X, 5)
    assert _true(model.certificate_, least, total)
    assert _true(mm.certify(model, sparse.csr_matrix(X)), least, total)
    assert model.certificate_.primal == pytest.approx(least, rel=1e-5)
    assert model.certificate_.rounding < 1e-9 * total
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("offset", [50.0, 1e7, 7e14])
@pytest.mark.parametrize("method", ["covariance", "gram", "svd", "krylov", "power", "stream"])
def test_dense_rows_and_weights(method, offset):
    rng = np.random.default_rng(1)
    for trial in range(4):
        X = rng.normal(size=(25, 4))
        X[:, 0] += offset
        s = 10.0 ** rng.uniform(-3, 3, size=25) if trial % 2 else np.ones(25)
        model = mm.PCA(trial + 1, method="auto" if method == "stream" else method, random_state=0)
        if method == "stream":
            for part in np.array_split(np.arange(25), 3):
                model.partial_fit(X[part], sample_weight=s[part])
        else:
            model.fit(X, sample_weight=s)
        least, total = _least(X, trial + 1, s)
        assert _true(model.certificate_, least, total)
        assert _true(mm.certify(model, X, sample_weight=s), least, total)


def test_bounds_by_products_of_sparse_rows(monkeypatch):
    monkeypatch.setattr(relaxation, "SIDE", 10)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 45)) * (rng.random((40, 45)) < 0.1)
    X[:, 0] = 1e7 + rng.normal(size=40)
    squares = 80 * _least(X, 2)[0]
    found = relaxation.top_of_rows(sparse.csr_matrix(X), 2)
    assert found.discarded <= squares
    assert found.discarded == pytest.approx(squares, rel=1e-2)


def test_columns_with_zeros_are_charged():
    # Half of the numbers are zero, so that the column is not shifted; its spread hides the others.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 40)) * (rng.random((30, 40)) < 0.2)
    X[::2, 0] = 1e8
    for method in ("gram", "krylov"):
        model = mm.PCA(3, method=method, random_state=0).fit(sparse.csr_matrix(X))
        assert _true(model.certificate_, *_least(X, 3))


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_near_zero_is_the_same_rows_shifted(form, kind):
    rng = np.random.default_rng(4)
    X = (rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.3)).astype(kind)
    X[:, 2] = 1e6 + rng.integers(0, 9, size=400)
    X[:, 4] = -3e4 + rng.integers(0, 9, size=400)
    X[5, 4] = 0.0
    design, shift = near_zero(as_design(sparse.csr_matrix(X).asformat(form)))
    assert np.flatnonzero(shift).tolist() == [2, 4]
    np.testing.assert_array_equal(design.x.toarray().astype(float) + shift, X)
    same = as_design(X)
    assert near_zero(same).design is same


@pytest.mark.parametrize("value", [0.1, 1e10 / 3])
def test_one_cluster_of_equal_rows_costs_nothing(value):
    X = np.full((77, 3), value)
    proof = mm.certify(mm.KMeans(1).fit(X), X, thorough=True)
    assert proof.dual <= proof.rounding


@pytest.mark.parametrize("method", ["auto", "gram", "krylov", "svd"])
def test_the_mean_that_is_kept_counts_and_not_the_one_before_rounding(method):
    """The columns' means need more digits than single precision has: x̂ is off by what is lost."""
    X = (np.random.default_rng(0).normal(size=(44, 32)) + 1e6).astype(np.float32)
    model = mm.PCA(30, method=method, random_state=0).fit(X)
    centred = X - model.mean_.astype(float)
    turn = model.components_.astype(float)
    lost = 0.5 * np.mean(np.sum((centred - centred @ turn.T @ turn) ** 2, axis=1))
    assert model.certificate_.primal == pytest.approx(lost, rel=1e-5)
    assert mm.certify(model, X).primal == pytest.approx(lost, rel=1e-5)
