"""Ritz pairs of block Krylov spaces, wide and narrow."""

from itertools import islice

import numpy as np
import pytest

from minimand.certificate.eigenvalues.krylov import NARROW, Krylov
from minimand.certificate.eigenvalues.ritz import Operator, bounded_above

SPECTRA = {
    "decay": 0.8 ** np.arange(120),
    "flat": np.ones(120),
    "many of each": np.repeat([3.0, 2.0, 1.0, 0.5], 30),
    "noise": np.sort(np.random.default_rng(0).uniform(0, 1, 120))[::-1],
    "low rank": np.append([3.0, 2.0, 1.0], np.zeros(117)),
    "zero": np.zeros(120),
}


def _operator(values):
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((values.size, values.size)))[0]
    matrix = (turn * values) @ turn.T
    return Operator(lambda v: matrix @ v, values.size, float(values.sum())), matrix


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("width", [None, 1, NARROW])
def test_pairs_are_those_of_an_orthonormal_basis(name, width):
    """AV is what it says it is, also after restarts, and no Ritz value is above its eigenvalue."""
    values = SPECTRA[name]
    operator, matrix = _operator(values)
    space = Krylov(operator, 3, np.random.RandomState(0), width=width)
    for found in islice(space, 30):
        for pairs in (found, space.for_a_proof()):
            V, m = pairs.vectors, pairs.values.size
            np.testing.assert_allclose(V.T @ V, np.eye(m), atol=1e-10)
            np.testing.assert_allclose(pairs.images, matrix @ V, atol=1e-10)
            np.testing.assert_allclose(V.T @ pairs.images, np.diag(pairs.values), atol=1e-10)
            assert (pairs.values <= values[:m] + 1e-12).all()
        assert found.values.size == 11


@pytest.mark.parametrize("width", [None, 1, NARROW])
def test_distinct_eigenvalues_are_found(width):
    values = SPECTRA["noise"]
    operator, _ = _operator(values)
    *_, found = islice(Krylov(operator, 3, np.random.RandomState(0), width=width), 60)
    np.testing.assert_allclose(found.values[:3], values[:3], rtol=1e-8)


def test_narrow_blocks_take_fewer_columns():
    """The same accuracy with a half of the products, where eigenvalues lie close together."""
    values = np.linspace(1.0, 0.0, 600)
    operator, _ = _operator(values)

    def steps(width):
        space = Krylov(operator, 4, np.random.RandomState(0), width=width)
        for step, found in enumerate(space, 1):
            if values[:4].sum() - found.values[:4].sum() <= 1e-6:
                return step

    assert 2 * steps(NARROW) <= steps(None)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("steps", [1, 4])
def test_bounds_by_all_pairs_of_the_space_are_above(name, k, steps):
    """Whatever the space has found, and however many of its pairs the proof uses."""
    values = SPECTRA[name]
    operator, _ = _operator(values)
    rng = np.random.RandomState(0)
    space = Krylov(operator, k, rng, width=NARROW)
    *_, found = islice(space, steps)
    for pairs in (found, space.for_a_proof()):
        for most in (0, 4, 24, 200):
            above = bounded_above(operator, pairs, k, pairs.values[:k].sum(), rng, most)
            assert above.bound >= values[:k].sum() * (1 - 1e-12)
            assert above.products <= 3 * most


def test_pairs_that_are_no_eigenvectors_yet_are_no_guess():
    """A space that has just been restarted: most of its pairs say nothing of what is left."""
    rng = np.random.default_rng(66)
    X = rng.normal(size=(189, 186))
    values = np.linalg.eigvalsh(X.T @ X)[::-1]
    operator = Operator(lambda v: X.T @ (X @ v), 186, float(values.sum()))
    random = np.random.RandomState(0)
    space = Krylov(operator, 24, random)
    *_, found = islice(space, 9)
    target = found.values[:24].sum()
    few, many = (
        bounded_above(operator, pairs, 24, target, random, 24).bound
        for pairs in (found, space.for_a_proof())
    )
    assert values[:24].sum() <= many <= few + 0.01 * values.sum()
    assert many <= 1.05 * values[:24].sum()
