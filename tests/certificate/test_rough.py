"""Cheap bounds of what clusterings cost: below all partitions, and below those by eigenvalues."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.certificate.eigenvalues import rough
from minimand.certificate.eigenvalues.centred import mean_of, pairs_operator, rows_operator
from minimand.certificate.eigenvalues.relaxation import top_of_rows
from minimand.certificate.eigenvalues.rough import top_within
from minimand.design import as_design
from minimand.reverse.hierarchy.branches import scatter_of
from minimand.reverse.kmeans.bound import lower_bound
from minimand.reverse.kmeans.distances import REGISTRY
from minimand.reverse.kmeans.rows import Rows
from minimand.sklearn import BisectingKMeans, KMeans, MiniBatchKMeans


def some_rows(n, d, share, seed, *, positive=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    return np.abs(X) if positive else X


def least_cost(X, w, k):
    """The smallest sum of squares of all partitions into at most k clusters."""
    best = math.inf
    for labels in itertools.product(range(k), repeat=len(X) - 1):
        labels = np.array([0, *labels])
        total = 0.0
        for c in np.unique(labels):
            own = labels == c
            if w[own].sum() > 0:
                gaps = X[own] - w[own] @ X[own] / w[own].sum()
                total += w[own] @ (gaps * gaps).sum(axis=1)
        best = min(best, total)
    return best


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("d", [1, 3, 12])
@pytest.mark.parametrize("seed", range(4))
def test_no_partition_costs_less(seed, d, k, monkeypatch):
    X = some_rows(7, d, 0.4, seed, positive=seed % 2 == 1)
    w = np.random.default_rng(seed).integers(0, 4, 7).astype(float)
    w[0] = 1.0
    least = least_cost(X, w, k)
    monkeypatch.setattr(rough, "_FREE", 1e9)  # squares of the products of all pairs, too
    for budget in (0.0, 1e-9):
        monkeypatch.setattr(rough, "_price", lambda X, k: math.inf)
        found = top_within(sparse.csr_array(X), k - 1, weights=w, budget=budget)
        assert not found.exact
        assert 0 <= found.discarded <= least * (1 + 1e-12) + 1e-12
    bound = lower_bound(Rows.of(sparse.csr_array(X), w, REGISTRY.get("euclidean")), k, 0.0)
    assert bound.value <= least * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("shape", [(40, 90), (90, 40), (60, 60)])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_above_the_eigenvalues_and_says_something(shape, positive, weighted, monkeypatch):
    X = some_rows(*shape, 0.05, 3, positive=positive)
    w = np.random.default_rng(1).random(shape[0]) if weighted else None
    exact = top_of_rows(X, 2, weights=w)
    monkeypatch.setattr(rough, "_price", lambda X, k: math.inf)
    by_norm = top_within(sparse.csr_matrix(X), 2, weights=w, budget=0.0)
    by_squares = top_within(sparse.csr_matrix(X.astype(np.float32)), 2, weights=w, budget=1.0)
    for found in (by_norm, by_squares):
        assert found.total == pytest.approx(exact.total, rel=1e-6)
        assert exact.attained <= found.bound * (1 + 1e-6)
        assert 0.25 * exact.discarded <= found.discarded <= exact.discarded * (1 + 1e-6)
    assert by_squares.bound <= by_norm.bound * (1 + 1e-6)


def some_text(n, d, seed):
    """Counts of words, few of them frequent, in rows of length one: they lie along their mean."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, d + 1) * (1 + 20 * (rng.random((n // 20 + 1, d)) < 0.02))
    counts = rng.poisson(30 * share / share.sum(axis=1, keepdims=True)[:, :1])
    rows = rng.poisson(0.2 + counts[rng.integers(0, len(counts), n)]) * (rng.random((n, d)) < 0.5)
    rows = rows.astype(float)
    rows[:, 0] += 1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(150, 400), (400, 150)])
@pytest.mark.parametrize("k", [1, 4, 12])
def test_steps_of_a_krylov_space_tighten_it(shape, k, weighted, monkeypatch):
    X = some_text(*shape, k)
    w = np.random.default_rng(k).integers(0, 4, shape[0]).astype(float) if weighted else None
    thin = sparse.csr_array(X)
    exact = top_of_rows(X, k, weights=w)
    monkeypatch.setattr(rough, "_price", lambda X, k: math.inf)
    cheap = top_within(thin, k, weights=w, budget=0.0)
    closer = top_within(thin, k, weights=w, budget=1e9)
    assert closer.total == pytest.approx(exact.total, rel=1e-9)
    for found in (cheap, closer):
        assert exact.attained <= found.bound * (1 + 1e-9)
    assert exact.discarded - closer.discarded <= 0.05 * exact.total
    assert closer.discarded >= cheap.discarded
    for allowed in (1e5, 1e6):  # one step, or none
        found = top_within(thin, k, weights=w, budget=allowed)
        assert exact.attained <= found.bound * (1 + 1e-9)
        assert found.bound <= cheap.bound * (1 + 1e-9)


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_products_of_pairs_of_rows_have_the_same_eigenvalues(far):
    X = some_rows(20, 50, 0.2, 2)
    X[:, 0] += far
    w = np.random.default_rng(0).random(20)
    design = as_design(sparse.csr_array(X))
    mean = mean_of(design, w)
    columns, pairs = (make(design, w, mean) for make in (rows_operator, pairs_operator))
    left = (X - w @ X / w.sum()) * np.sqrt(w)[:, None]
    np.testing.assert_allclose(pairs.product(np.eye(20)), left @ left.T, atol=1e-12 + 1e-8 * far)
    assert pairs.trace == columns.trace == pytest.approx(np.sum(left * left), rel=1e-9)
    assert pairs.size == 20


def test_it_is_attained_by_equal_eigenvalues():
    """Rows that are orthogonal and of one length: the squares are those of equal numbers."""
    found = top_within(sparse.eye_array(50, format="csr"), 7, budget=0.0)
    assert found.bound == pytest.approx(7.0)
    assert found.total == pytest.approx(49.0)
    empty = top_within(sparse.csr_array((5, 9)), 2, budget=0.0)
    assert empty.exact
    assert empty.bound == empty.total == empty.discarded == 0


@pytest.mark.parametrize("size", [1e-120, 1e-60, 1e-40, 1e40, 1e60])
def test_numbers_whose_fourth_powers_underflow(size, monkeypatch):
    monkeypatch.setattr(rough, "_price", lambda X, k: math.inf)
    X = some_rows(40, 90, 0.05, 3) * np.logspace(-3, 3, 90)
    X[0] *= 1e-30
    exact = top_of_rows(X, 2)
    found = top_within(sparse.csr_array(X * size), 2, budget=1.0)
    assert found.bound / size / size >= exact.attained * (1 - 1e-12)


def test_what_costs_little_or_is_dense_is_exact():
    X = some_rows(60, 30, 0.2, 0)
    for form in (X, sparse.csr_array(X)):
        assert top_within(form, 3, budget=1.0).exact
    assert top_within(X, 3, budget=0.0).exact
    assert top_within(sparse.csr_array(X), 0, budget=0.0).exact


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        mm.KMeans(4, random_state=0),
        mm.KMeans(4, distance="cosine", random_state=0),
        KMeans(4, random_state=0),
        MiniBatchKMeans(4, random_state=0, n_init=1),
        BisectingKMeans(4, random_state=0),
        mm.SoftKMeans(4, form="fuzzy", random_state=0),
        mm.SoftKMeans(4, temperature=0.1, random_state=0),
        mm.Divisive(4, random_state=0),
    ],
)
def test_certify_tightens_the_bound_of_a_fit(model, weighted, monkeypatch):
    X = sparse.csr_matrix(some_rows(80, 120, 0.05, 5) + 0.0)
    w = np.random.default_rng(2).integers(1, 4, 80).astype(float) if weighted else None
    monkeypatch.setattr(rough, "_FREE", 0.0)
    monkeypatch.setattr(rough, "_DENSE", 1e9)
    fitted = model.fit(X, sample_weight=w).certificate_
    full = mm.certify(model, X, sample_weight=w)
    assert 0 < fitted.dual < full.dual * (1 - 1e-6)
    assert full.dual <= full.primal
    assert fitted.certain


@pytest.mark.parametrize("far", [0.0, 1e8])
def test_scatters_of_sparse_rows_are_those_of_dense_ones(far):
    X = some_rows(30, 20, 0.3, 7)
    X[:, 0] += far
    w = np.random.default_rng(0).random(30)
    own = np.arange(3, 30)
    dense, thin = (scatter_of(form, w, None)(own) for form in (X, sparse.csr_array(X)))
    assert thin == pytest.approx(dense, rel=1e-12 if far == 0 else 1e-8)
    same = sparse.csr_array(np.tile(X[:1] / 3, (30, 1)))
    assert scatter_of(same, w, None)(own) == 0


@pytest.mark.parametrize("shape", [(40, 90), (160, 1100), (300, 301)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e5])
def test_products_in_single_precision_bound_those_in_double(shape, weighted, far):
    rng = np.random.default_rng(0)
    n = shape[0]
    X = rng.normal(size=shape) + 3.0 * rng.normal(size=(n, 1)) + far
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    for k in (1, 7):
        found = top_within(X, k, weights=weights, budget=1.0)
        close = top_of_rows(X, k, weights=weights)
        assert not found.exact
        assert close.exact
        assert close.attained <= found.bound <= close.attained + 0.03 * close.total
        assert found.total == pytest.approx(close.total, rel=1e-9)
        assert found.discarded <= close.total - close.attained
    # Where the clusters themselves take longer, all digits are computed.
    assert top_within(X, 7, weights=weights, budget=1e12).exact


@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e12, 1e30])
def test_numbers_out_of_reach_of_single_precision_are_taken_in_double(unit):
    X = np.random.default_rng(0).normal(size=(50, 80))
    found, same = top_within(unit * X, 3, budget=1.0), top_of_rows(X, 3)
    assert same.attained * (1 - 1e-12) <= found.bound / unit**2 <= 1.001 * same.attained
