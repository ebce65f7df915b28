"""Rows that are computed on demand obey the laws of the matrix that they stand for."""

import numpy as np
import pytest
from scipy import linalg

import minimand as mm
from minimand.design import ComputedDesign, Whitened
from minimand.design import computed as module
from minimand.testing import check_design

RNG = np.random.default_rng(0)
X = RNG.normal(size=(23, 4))
MARKS = RNG.normal(size=(5, 4))
KERNEL = mm.RBF(2.0)


def values(x):
    return KERNEL.block(x, MARKS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Seven rows a block, and a sample of six."""
    monkeypatch.setattr(module, "_BLOCK", 35)
    monkeypatch.setattr(module, "_TILE", 35)
    monkeypatch.setattr(module, "_FEWEST", 1)
    monkeypatch.setattr(module, "_SAMPLE", 6)
    monkeypatch.setattr(module, "_TALL", 10)


@pytest.mark.parametrize("in_threads", [False, True])
@pytest.mark.parametrize("room", [0, 300, 1e6])
def test_computed_rows_are_the_matrix(room, in_threads):
    check_design(ComputedDesign(values, X, 5, room, in_threads=in_threads), values(X))


@pytest.mark.parametrize("room", [0, 300, 1e6])
def test_whitened_rows_are_the_matrix(room):
    triangle = linalg.cholesky(KERNEL(MARKS), lower=True)
    whole = linalg.solve_triangular(triangle, values(X).T, lower=True).T
    check_design(Whitened(ComputedDesign(values, X, 5, room), triangle), whole)


def test_blocks_are_kept_while_there_is_room():
    counted = []

    def counting(x):
        counted.append(len(x))
        return values(x)

    design = ComputedDesign(counting, X, 5, room=2 * 7 * 5 * 8)
    for _ in range(3):
        design.matvec(np.ones(5))
    assert [len(block.matrix) for block in design.blocks()] == [7, 7, 7, 2]
    assert counted.count(7) == 2 + 4  # two blocks once, the third in every pass
    assert ComputedDesign(values, X, 5).reading > design.reading > 1.0
    assert ComputedDesign(values, X, 5, room=1e9).reading == 1.0


def test_the_last_covariance_is_kept_and_not_changed_by_its_users():
    design, h = ComputedDesign(values, X, 5), RNG.uniform(size=23)
    first = design.covariance(h)
    want = first.matrix.copy()
    np.add(first.matrix, 1.0, out=first.matrix)
    np.testing.assert_array_equal(design.covariance(h).matrix, want)
    other = design.covariance(h.copy()[::-1].copy())
    assert not np.allclose(other.matrix, want)


def test_images_are_products_in_blocks():
    triangle = linalg.cholesky(KERNEL(MARKS), lower=True)
    design = Whitened(ComputedDesign(values, X, 5), triangle)
    matrix = RNG.normal(size=(5, 3))
    parts = [block.matrix for block in design.images(matrix)]
    np.testing.assert_allclose(np.concatenate(parts), design.matvec(matrix), atol=1e-10)


def test_sizes_from_some_rows_are_those_of_all_if_rows_are_alike():
    alike = np.repeat(X[:3], 40, axis=0)[RNG.permutation(120)]
    design = ComputedDesign(values, alike, 5)
    h = np.ones(120)
    np.testing.assert_allclose(design.column_squares(h), design.moments(h).second, rtol=0.5)
    weightless = np.zeros(120)
    weightless[7] = 1.0  # not among the sampled rows
    np.testing.assert_allclose(
        design.column_squares(weightless), design.moments(weightless).second, rtol=1e-12
    )


@pytest.mark.parametrize("least", [1.0, 1e-5])
def test_sums_of_squares_of_whitened_rows_are_exact_whether_or_not_the_triangle_is(least):
    triangle = np.linalg.cholesky(KERNEL.block(MARKS, MARKS))
    triangle[-1] *= least
    design = Whitened(ComputedDesign(values, X, 5), triangle)
    whole = linalg.solve_triangular(triangle, values(X).T, lower=True).T
    h = RNG.uniform(0.5, 1.5, size=len(X))
    centred = whole - h @ whole / h.sum()
    covariance = design.covariance(h)
    np.testing.assert_allclose(design.gram(h), whole.T @ (h[:, None] * whole), rtol=1e-9)
    np.testing.assert_allclose(covariance.mean, h @ whole / h.sum(), rtol=1e-9)
    expected = centred.T @ (h[:, None] * centred)
    sizes = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.all(np.abs(covariance.matrix - expected) <= 1e-9 * sizes)


def test_scores_and_sums_of_them_take_one_pass():
    passes = []

    def counting(x):
        passes.append(len(x))
        return values(x)

    whole, w, rows = values(X), RNG.normal(size=5), RNG.normal(size=23)
    triangle = linalg.cholesky(KERNEL(MARKS), lower=True)
    inner = ComputedDesign(counting, X, 5)

    def f(t, part):
        return np.stack([part * t, part], axis=1)

    for design, matrix in [
        (inner, whole),
        (Whitened(inner, triangle), linalg.solve_triangular(triangle, whole.T, lower=True).T),
    ]:
        passes.clear()
        sums, t = design.scores_and_sums(w, f, rows)
        assert sum(passes) == 23
        np.testing.assert_allclose(t, matrix @ w, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(sums, matrix.T @ f(matrix @ w, rows), rtol=1e-9, atol=1e-12)


def test_negative_weights_of_squares_count():
    h = RNG.normal(size=23)
    design = ComputedDesign(values, X, 5, in_threads=True)
    np.testing.assert_allclose(design.gram(h), values(X).T @ (h[:, None] * values(X)), atol=1e-12)
