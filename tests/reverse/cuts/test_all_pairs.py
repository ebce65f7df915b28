"""Eigenvectors of a matrix of pairs that start a search: near those of LAPACK, in any unit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.image import grid_to_graph

from minimand.reverse.cuts.pairs import DensePairs, FactorPairs, SparsePairs


def weakly_linked(link, groups=12, size=25, seed=0):
    """Groups with about equal links inside, and by pairs of groups weaker and weaker ones."""
    rng = np.random.default_rng(seed)
    n = groups * size
    group = np.arange(n) // size
    apart = np.abs(group[:, None] - group)
    values = link**apart * rng.uniform(0.5, 1.0, size=(n, n))
    return 0.5 * (values + values.T)


@pytest.mark.parametrize("link", [0.5, 1e-4, 1e-7])
def test_eigenvectors_whose_eigenvalues_are_close_to_one_are_found(link):
    values = weakly_linked(link)
    degrees = values.sum(axis=1)
    scale = 1.0 / np.sqrt(degrees)
    whole = values * np.outer(scale, scale)
    best = np.linalg.eigvalsh(whole)[::-1][:8]
    known = np.sqrt(degrees)[:, None] / np.linalg.norm(np.sqrt(degrees))
    rng = np.random.RandomState(0)
    found, vectors = DensePairs(values).top(scale, 7, known, rng)
    basis = np.linalg.qr(np.column_stack([known, vectors]))[0]
    ritz = np.linalg.eigvalsh(basis.T @ whole @ basis)[::-1]
    np.testing.assert_allclose(found, best[1:], atol=1e-3)
    # What is lost of the sum is small beside what the eigenvalues leave, 1 − λ.
    assert best.sum() - ritz.sum() <= 1e-2 * (8 - best.sum())


def test_no_direction_is_arbitrary_where_there_is_no_inverse():
    """The smooth functions of a plane of points have eigenvalues close to one."""
    graph = sparse.csr_array(grid_to_graph(40, 30).astype(float))
    degrees = np.asarray(graph.sum(axis=1))
    scale, root = 1.0 / np.sqrt(degrees), np.sqrt(degrees)[:, None]
    known = root / np.linalg.norm(root)
    whole = scale[:, None] * graph.toarray() * scale
    _, left = np.linalg.eigh(whole + 2.0 * np.eye(len(whole)))
    factor = FactorPairs((left * np.sqrt(np.linalg.eigvalsh(whole) + 2.0))[:, ::-1])
    for pairs, side, shift in (
        (SparsePairs(graph), scale, 0.0),
        (factor, np.ones_like(scale), 2.0),
    ):
        rng = np.random.RandomState(0)
        values, vectors = pairs.top(side, 7, known, rng)
        quotients = np.einsum("ij,ij->j", vectors, whole @ vectors)
        assert quotients.min() > 0.97
        np.testing.assert_allclose(values - shift, quotients, atol=5e-3)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_the_unit_of_a_kernel_matrix_makes_no_difference(unit):
    values = weakly_linked(0.5)
    best, wanted = np.linalg.eigh(values)
    ones, nothing = np.ones(len(values)), np.empty((len(values), 0))
    found, vectors = DensePairs(unit * values).top(ones, 3, nothing, np.random.RandomState(0))
    np.testing.assert_allclose(found / unit, best[::-1][:3], rtol=1e-3)
    cosines = np.linalg.svd(vectors.T @ wanted[:, -3:], compute_uv=False)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-3)
