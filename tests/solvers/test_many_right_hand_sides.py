"""Ridge with many outputs: one factorisation and common products, the model of every output."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from minimand.sklearn import Ridge, RidgeClassifier
from minimand.solvers.smooth import ridge_steps


def data(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    Y = X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)) + 3.0
    return X, Y, rng.uniform(0.2, 2.0, n)


@pytest.fixture
def factorised(monkeypatch):
    """The sides of the systems that were factorised."""
    sides, factorise = [], ridge_steps.factorise

    def counting(matrix):
        sides.append(len(matrix))
        return factorise(matrix)

    monkeypatch.setattr(ridge_steps, "factorise", counting)
    return sides


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_matrix])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 7), (9, 25)])
def test_the_normal_equations_of_all_outputs(factorised, kind, intercept, shape):
    """W = (XᵀSX + alpha)⁻¹XᵀSY with centred X and Y, from one factorisation."""
    X, Y, weight = data(*shape, k=70)
    model = Ridge(alpha=1.5, fit_intercept=intercept).fit(kind(X), Y, sample_weight=weight)
    mean = weight @ X / weight.sum() if intercept else np.zeros(shape[1])
    level = weight @ Y / weight.sum() if intercept else np.zeros(70)
    A, B = X - mean, Y - level
    W = np.linalg.solve((A.T * weight) @ A + 1.5 * np.eye(shape[1]), (A.T * weight) @ B)
    np.testing.assert_allclose(model.coef_, W.T, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, level - mean @ W, rtol=1e-6, atol=1e-6)
    assert model.certificate_.relative <= 1e-6
    assert len(factorised) == 1


def test_one_pass_serves_all_outputs():
    X, Y, _ = data(60, 7, 32)
    many, one = Ridge().fit(X, Y), Ridge().fit(X, Y[:, 0])
    assert many.certificate_.passes <= 2 * one.certificate_.passes


@pytest.mark.parametrize("shape", [(60, 8), (6, 20)])
def test_without_a_penalty_columns_that_depend_on_others_give_the_least_norm(shape):
    X, Y, _ = data(*shape, k=5)
    X[:, -1] = X[:, 0] - 2 * X[:, 1]
    model = Ridge(alpha=0, fit_intercept=False).fit(X, Y)
    W = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(X @ model.coef_.T, X @ W, atol=1e-7)
    assert model.certificate_.relative <= 1e-6


def test_outputs_with_penalties_of_their_own():
    X, Y, _ = data(60, 7, 4)
    alphas = np.array([0.1, 1.0, 1.0, 50.0])
    model = Ridge(alpha=alphas).fit(X, Y)
    for k, alpha in enumerate(alphas):
        alone = Ridge(alpha=alpha).fit(X, Y[:, k])
        np.testing.assert_allclose(model.coef_[k], alone.coef_, rtol=1e-6, atol=1e-8)


def test_classes_of_the_squared_loss_share_a_factorisation(factorised):
    X, Y, _ = data(80, 5, 4)
    y = Y.argmax(axis=1)
    model = RidgeClassifier(alpha=2.0).fit(X, y)
    assert len(factorised) == 1
    for c, w in enumerate(model.coef_):
        alone = Ridge(alpha=2.0).fit(X, np.where(y == c, 1.0, -1.0))
        np.testing.assert_allclose(w, alone.coef_, atol=1e-6)
