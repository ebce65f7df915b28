"""PCA of more columns than rows, all components: the mean costs one of them, and no digits."""

import numpy as np
import pytest

import minimand as mm


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_about_their_mean_are_dependent(weighted):
    rng = np.random.default_rng(0)
    n, d = 60, 3000
    X = 5.0 + rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, size=d)
    weights = rng.integers(1, 4, size=n) if weighted else np.ones(n)
    model = mm.PCA(n).fit(X, sample_weight=weights)
    assert model.method_ == "gram"
    centred = X - weights @ X / weights.sum()
    sizes = np.linalg.svd(np.sqrt(weights)[:, None] * centred, compute_uv=False)
    assert model.explained_variance_[-1] == 0
    assert np.allclose(model.singular_values_[:-1], sizes[:-1], rtol=1e-12)
    assert np.allclose(model.components_ @ model.components_.T, np.eye(n), atol=1e-13)
    assert np.allclose(model.inverse_transform(model.transform(X)), X, rtol=1e-11)
    assert model.certificate_.primal <= 1e-12 * sizes[0] ** 2


def test_other_small_variances_are_found_by_singular_values():
    rng = np.random.default_rng(1)
    n, d = 60, 3000
    left, right = (np.linalg.qr(rng.normal(size=(m, n)))[0] for m in (n, d))
    X = left * np.geomspace(1.0, 1e-7, n) @ right.T
    model = mm.PCA(n).fit(X)
    assert model.method_ == "svd"
    sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert np.allclose(model.singular_values_[:-1], sizes[:-1], rtol=1e-6)
