"""W and U of reverse least squares follow from each other."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm


def _problem(n=30, d=5, k=3, rank=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if rank is not None:
        X = X[:, :rank] @ rng.standard_normal((rank, d))
    return X, rng.standard_normal((n, k))


@pytest.mark.parametrize(("d", "rank"), [(5, None), (5, 3), (40, None)])
def test_both_directions(d, rank):
    """Also with dependent columns, and with more columns than rows."""
    X, Y = _problem(d=d, rank=rank)
    W, U = np.linalg.pinv(X) @ Y, np.linalg.pinv(Y) @ X
    assert np.allclose(mm.forward_from_reverse(X, Y, U), W)
    assert np.allclose(mm.reverse_from_forward(X, Y, W), U)


def test_both_directions_with_dependent_outputs():
    X, Y = _problem()
    Y[:, 2] = Y[:, 0] - Y[:, 1]
    U = np.linalg.pinv(Y) @ X
    W = mm.forward_from_reverse(X, Y, U)
    assert np.allclose(W, np.linalg.pinv(X) @ Y)
    assert np.allclose(mm.reverse_from_forward(X, Y, W), U)


def test_clusters_means_and_sparse_rows():
    X, _ = _problem()
    Y = np.eye(3)[np.arange(30) % 3]
    U = np.array([X[i::3].mean(axis=0) for i in range(3)])
    W = mm.forward_from_reverse(sparse.csr_array(X), Y, U)
    assert np.allclose(X.T @ X @ W, X.T @ Y)
    assert np.allclose(mm.reverse_from_forward(X, sparse.csr_array(Y), W), U)


def test_components_by_conversion():
    """The seeds: with Y the top left singular vectors, W = V Σ⁻¹ projects onto them."""
    X, _ = _problem()
    Q, sizes, turns = np.linalg.svd(X, full_matrices=False)
    W = mm.forward_from_reverse(X, Q[:, :2], Q[:, :2].T @ X)
    assert np.allclose(W, turns[:2].T / sizes[:2])


@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_kernel_form(beta):
    X, Y = _problem()
    K = mm.RBF(1.0)(X)
    A = mm.kernel_from_reverse(K, Y, beta=beta)
    assert np.allclose((K + beta * np.eye(30)) @ A, Y)
    assert np.allclose(mm.kernel_from_reverse(K, Y, np.linalg.pinv(Y), beta), A)


def test_kernel_form_of_the_linear_kernel_is_the_plain_one():
    X, Y = _problem()
    A = mm.kernel_from_reverse(X @ X.T, Y)
    assert np.allclose(X.T @ A, np.linalg.pinv(X) @ Y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, Y: mm.forward_from_reverse(X, Y, X), "U must have shape"),
        (lambda X, Y: mm.reverse_from_forward(X, Y[:5], np.ones((5, 3))), "same samples"),
        (lambda X, Y: mm.reverse_from_forward(X, Y, np.full((5, 3), np.nan)), "W contains NaN"),
        (lambda X, Y: mm.forward_from_reverse("a", Y, X), "X must be a matrix of numbers"),
        (lambda X, Y: mm.kernel_from_reverse(X, Y), "K must be a square matrix"),
        (lambda X, Y: mm.kernel_from_reverse(X @ X.T, Y, beta=-1), "beta must be"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call(*_problem())
