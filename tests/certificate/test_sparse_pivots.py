"""Sums of the largest eigenvalues of sparse graphs, proved by the pivots of a factorisation."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.certificate.eigenvalues import pivots, relaxation
from minimand.certificate.eigenvalues.pivots import proved_by_pivots
from minimand.certificate.eigenvalues.relaxation import top_of_normalised
from minimand.certificate.eigenvalues.ritz import Ritz


def grid(side):
    """A square grid, whose eigenvalues come in pairs."""
    line = sparse.diags_array([np.ones(side - 1)] * 2, offsets=[-1, 1])
    one = sparse.eye_array(side)
    return sparse.kron(line, one) + sparse.kron(one, line)


def of_points(seed, parts, apart):
    rng = np.random.default_rng(seed)
    points = [rng.normal([apart * i, 0.0], size=(70, 2)) for i in range(parts)]
    return mm.NeighborGraph(6, tau=0.7).matrix(np.concatenate(points))


GRAPHS = {
    "grid": grid(14),
    "one part": of_points(0, 1, 0.0),
    "hardly touching": of_points(1, 3, 5.5),
    "four parts": of_points(2, 4, 90.0),
    "path": sparse.diags_array([np.ones(199)] * 2, offsets=[-1, 1]),
    "chain of weights": sparse.diags_array([np.logspace(-6, 6, 150)] * 2, offsets=[-1, 1]),
}


def normalised(K):
    root = 1 / np.sqrt(np.asarray(K.sum(axis=0)).ravel())
    found = sparse.csc_array(sparse.diags_array(root) @ K @ sparse.diags_array(root))
    return 0.5 * (found + found.T)


@pytest.mark.parametrize("k", [1, 2, 4, 9])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_bound_is_above_the_eigenvalues_and_close(name, k, monkeypatch):
    monkeypatch.setattr(pivots, "_EASY", 3.0)
    matrix = normalised(GRAPHS[name])
    exact = np.linalg.eigvalsh(matrix.toarray())[::-1][:k].sum()
    found = proved_by_pivots(matrix, k, 1e-6)
    assert found is not None
    assert exact <= found.bound <= exact + 1e-6 + 1e-12
    assert found.values.sum() <= exact + 1e-12
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-10)


def test_ritz_pairs_that_miss_an_eigenvector_prove_nothing():
    """Eigenpairs 2, 3, 4, … look as good as 1, 2, 3, …: only the count tells."""
    matrix = normalised(GRAPHS["hardly touching"])
    values, vectors = np.linalg.eigh(matrix.toarray())
    for left_out in range(3):
        kept = np.delete(np.arange(len(values))[::-1], left_out)[:8]
        ritz = Ritz(values[kept], vectors[:, kept], matrix @ vectors[:, kept])
        assert not pivots._are_largest(matrix, ritz, 3, 1e-10)
    ritz = Ritz(values[::-1][:8], vectors[:, ::-1][:, :8], matrix @ vectors[:, ::-1][:, :8])
    assert pivots._are_largest(matrix, ritz, 3, 1e-10)


@pytest.mark.parametrize("level", [-0.9, 0.0, 0.3, 0.95, 0.999])
def test_pivots_count_eigenvalues(level):
    """Sylvester's law, where the matrix is as indefinite as can be."""
    for K in GRAPHS.values():
        matrix = normalised(K)
        values = np.linalg.eigvalsh(matrix.toarray())
        factor = pivots._factor(matrix, level)
        if factor is not None and np.abs(values - level).min() > 1e-6:
            assert (factor.U.diagonal() < 0).sum() == (values > level).sum()


def test_wide_graphs_are_left_to_other_bounds(monkeypatch):
    matrix = normalised(GRAPHS["one part"])
    assert proved_by_pivots(matrix, matrix.shape[0], 1.0) is None
    assert pivots.is_narrow(matrix)
    monkeypatch.setattr(pivots, "_MOST_WORK", 10.0)
    assert not pivots.is_narrow(matrix)
    monkeypatch.setattr(relaxation, "SIDE", 10)
    monkeypatch.setattr(relaxation, "proved_by_pivots", None)
    assert top_of_normalised(matrix, 2).discarded >= 0


@pytest.mark.parametrize("weighted", [False, True])
def test_large_graphs_take_it(weighted, monkeypatch):
    K = sparse.csr_array(GRAPHS["hardly touching"])
    w = np.random.default_rng(0).integers(1, 4, K.shape[0]).astype(float) if weighted else None
    exact = top_of_normalised(K, 3, weights=w)
    monkeypatch.setattr(relaxation, "SIDE", 10)
    found = top_of_normalised(K, 3, weights=w, tol=1e-8)
    assert found.certain
    assert not found.exact
    assert found.vectors.shape == (K.shape[0], 3)
    assert found.discarded <= exact.discarded + 1e-12
    assert found.discarded == pytest.approx(exact.discarded, abs=1e-7)
    assert found.discarded > 0


def test_parts_that_hardly_touch_have_a_bound():
    """3000 points in two parts with few edges between: 1 − λ₂ is 10⁻⁴, and the cut is near it."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal([far, 0, 0], size=(1500, 3)) for far in (0, 6)])
    model = mm.NormalizedCut(2, random_state=0).fit(X)
    found = mm.certify(model, X)
    assert found.certain
    assert 0.3 * found.primal < found.dual <= found.primal


@pytest.mark.parametrize("k", [2, 3])
def test_certify_has_the_bound_of_a_plane_which_is_a_small_share_of_the_cut(k):
    X = np.random.default_rng(0).random((2100, 2))
    model = mm.NormalizedCut(k, random_state=0).fit(X)
    found = mm.certify(model, X)
    matrix = normalised(model.affinity_matrix_)
    least = np.linalg.eigvalsh(np.eye(2100) - matrix.toarray())[:k].sum()
    assert 0.8 * least < found.dual <= least
    assert found.dual < 0.1 * found.primal
