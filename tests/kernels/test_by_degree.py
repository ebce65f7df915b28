"""Kernels divided by degrees, and the supervised normalised form that they give."""

import numpy as np
import pytest

import minimand as mm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = RNG.normal(size=(30, 2))


def test_it_is_a_kernel():
    mm.testing.check_kernel(mm.RBF(2.0).by_degree())
    K = mm.RBF(1.0)(X)
    degrees = K.sum(axis=1)
    kernel = mm.RBF(1.0).by_degree()
    np.testing.assert_allclose(kernel(X), K / np.outer(degrees, degrees))
    np.testing.assert_allclose(kernel.degrees(X), degrees)
    assert repr(kernel) == "RBF().by_degree()"


def test_regression_is_the_supervised_normalised_form():
    kernel, beta = mm.RBF(1.0), 0.3
    K = kernel(X)
    degrees = K.sum(axis=1)
    root = np.sqrt(degrees)
    normalised = K / np.outer(root, root)
    A = root[:, None] * np.linalg.solve(normalised + beta * np.eye(30), root[:, None] * Y)
    model = mm.Regressor(
        alpha=beta / degrees.sum(), features=kernel.by_degree(), intercept=False, tol=1e-12
    ).fit(X, Y, sample_weight=degrees)
    new = RNG.normal(size=(10, 2))
    k = kernel(new, X)
    wanted = (k @ (A / degrees[:, None])) / k.sum(axis=1)[:, None]
    np.testing.assert_allclose(model.predict(new), wanted, rtol=1e-6, atol=1e-9)
    # and it is the minimum of (6.8)
    value = 0.5 * beta * np.trace(A.T @ (K / np.outer(degrees, degrees)) @ A)
    R = K @ (A / degrees[:, None]) / degrees[:, None] - Y
    value += 0.5 * np.trace(R.T @ (degrees[:, None] * R))
    assert model.certificate_.primal * degrees.sum() == pytest.approx(value)


def test_degrees_must_be_positive():
    with pytest.raises(ValueError, match="positive"):
        mm.Linear().by_degree()([[1.0], [-1.0]])
