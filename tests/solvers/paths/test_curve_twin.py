"""Blocks of the logistic loss in compiled code: the same models as those of its formula."""

from __future__ import annotations

import numpy as np
import pytest

import minimand as mm
from minimand import _core


class Written(mm.Margin):
    """log(1 + e^−m) as a user would write it, which the core does not know by name."""

    def psi(self, t):
        return np.logaddexp(0.0, -t)

    def dpsi(self, t):
        return -1.0 / (1.0 + np.exp(t))

    def ddpsi(self, t):
        return np.exp(-np.logaddexp(0.0, t) - np.logaddexp(0.0, -t))


def data(seed=0, n=120, d=40):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    y = np.where(X[:, :3].sum(axis=1) + rng.standard_normal(n) > 1.0, 1, -1)
    return X, y, rng


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [mm.L1(), mm.L1() + 0.3 * mm.L2()], ids=["l1", "elastic net"])
@pytest.mark.parametrize("scalar", [np.float64, np.float32])
def test_both_find_the_same_path(intercept, penalty, scalar):
    X, y, rng = data()
    X = X.astype(scalar)
    weight, offset = rng.uniform(0.2, 2.0, len(y)), 0.5 * rng.standard_normal(len(y))
    alphas = np.geomspace(0.1, 0.005, 12)
    paths = [
        mm.path(mm.Classifier(loss, penalty, intercept=intercept, tol=1e-9), X, y, alphas,
                sample_weight=weight, offset=offset)
        for loss in (mm.Logistic(), Written())
    ]  # fmt: skip
    for path in paths:
        assert max(c.relative for c in path.certificates) <= 1e-9
    np.testing.assert_allclose(paths[0].coefs, paths[1].coefs, atol=2e-4)
    np.testing.assert_allclose(paths[0].intercepts, paths[1].intercepts, atol=2e-4)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("first", [0, 3, 8])
def test_the_compiled_minimiser_is_stationary(free, first):
    X, y, rng = data(1, d=8)
    n, d = X.shape
    y = y.astype(float)
    mass, h = np.full(n, 1 / n), rng.uniform(0.1, 0.3, n) / n
    mean = h @ X / h.sum() if free else np.zeros(d)
    centred = (X - mean)[:, :first]  # the other columns come in when their slopes are large
    gram = np.ascontiguousarray(centred.T @ (h[:, None] * centred))
    alphas = np.array([0.1, 0.03, 0.01])
    l1, l2 = np.repeat(alphas[:, None], d, axis=1), np.full((3, d), 1e-3)
    coefs = np.zeros((3, d))
    solved = _core.PathOnCurves().solve(
        np.asfortranarray(X),
        (mass, y, None, free),
        (gram, h, mean, float(h.sum())),
        (alphas, l1, l2, coefs),
        0,
        True,
        (1e-10, 1e-12, 1.0, 200, 50),
    )
    assert solved == 3
    for alpha, w in zip(alphas, coefs):
        z = X @ w
        b = 0.0
        for _ in range(100 if free else 0):  # Newton's method for the constant
            p = 1 / (1 + np.exp(y * (z + b)))
            b += (y * p).sum() / (p * (1 - p)).sum()
        slope = X.T @ (-y / (1 + np.exp(y * (z + b)))) / n + 1e-3 * w
        used = w != 0
        np.testing.assert_allclose(slope[used], -alpha * np.sign(w[used]), atol=1e-5)
        assert np.abs(slope[~used]).max(initial=0.0) <= alpha + 1e-5


def test_sizes_are_checked():
    X, y, _ = data(2, d=3)
    path = _core.PathOnCurves()
    mass, vectors = (
        np.ones(len(y)),
        (np.ones(1), np.ones((1, 3)), np.ones((1, 3)), np.zeros((1, 3))),
    )
    with pytest.raises(ValueError, match="G must be a square matrix"):
        path.solve(X.copy("F"), (mass, y * 1.0, None, False), (np.eye(4), mass, np.zeros(3), 1.0),
                   vectors, 0, True, (1e-6, 1e-6, 1.0, 5, 5))  # fmt: skip


def test_columns_that_came_in_are_kept_until_the_curvatures_change():
    X, y, rng = data(3, d=12)
    n, d = X.shape
    mass, alphas = np.full(n, 1 / n), np.array([0.02])
    path, found = _core.PathOnCurves(), []
    for h in rng.uniform(0.1, 0.3, (2, n)) / n:
        for _ in range(2):
            w, l1, l2 = np.zeros((1, d)), np.full((1, d), 0.02), np.zeros((1, d))
            nothing = np.zeros((0, 0))
            solved = path.solve(
                np.asfortranarray(X), (mass, y * 1.0, None, False), (nothing, h, np.zeros(d), 0.2),
                (alphas, l1, l2, w), 0, True, (1e-12, 1e-14, 1.0, 200, 50),
            )  # fmt: skip
            assert solved == 1
            found.append(w[0])
        path.forget()
    assert np.count_nonzero(found[0]) > 3
    for w in found[1:]:
        np.testing.assert_allclose(w, found[0], atol=1e-6)
