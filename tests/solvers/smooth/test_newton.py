"""Newton on tall data: the Hessian of some rows behind conjugate gradients over all of them."""

import numpy as np
import pytest

import minimand as mm
from minimand.solvers.smooth import newton
from minimand.solvers.smooth.newton import Newton
from minimand.solvers.steps.krylov import conjugate_gradients


def tall(rare=0, seed=0):
    """So many rows that some of them stand for all; the last columns are zero in nearly all."""
    rng = np.random.default_rng(seed)
    n, d = 26_000, 40
    X = rng.standard_normal((n, d)) + 0.5
    for j in range(d - rare, d):
        X[:, j] = 0.0
        X[rng.choice(n, 5, replace=False), j] = 3.0
    y = X @ rng.standard_normal(d) / 4 + rng.logistic(size=n) > 1.0
    return X, np.where(y, 1, -1)


def model(intercept, tol):
    return mm.Classifier(
        "logistic", "l2", alpha=1e-4, intercept=intercept, solver="newton", tol=tol
    )


@pytest.mark.parametrize("rare", [0, 3, 35])
@pytest.mark.parametrize("intercept", [False, True])
def test_some_rows_lead_to_the_optimum_of_all(rare, intercept, monkeypatch):
    """Also where they do not know of columns that others have: then all rows are asked."""
    X, y = tall(rare)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    sampled = model(intercept, 1e-10).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(newton, "_WORTH_REUSING", np.inf)
    exact = model(intercept, 1e-10).fit(X, y, sample_weight=weight)
    assert sampled.certificate_.relative <= 1e-10
    assert sampled.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(sampled.coef_, exact.coef_, rtol=1e-3, atol=2e-4)


@pytest.fixture
def grams(monkeypatch):
    """The numbers of rows of all Grams that are formed."""
    rows = []
    gram = newton.Objective.gram
    monkeypatch.setattr(
        newton.Objective, "gram", lambda self, *a: rows.append(len(self.y)) or gram(self, *a)
    )
    return rows


def test_no_hessian_of_all_rows_is_formed(grams):
    X, y = tall()
    assert model(False, 1e-6).fit(X, y).certificate_.relative <= 1e-6
    assert grams
    assert max(grams) < len(y)


def test_later_steps_reuse_the_hessian_of_the_first(grams, monkeypatch):
    monkeypatch.setattr(Newton, "at_once", lambda *_: iter(()))
    X, y = tall()
    found = model(False, 1e-6).fit(X[:2000], y[:2000])
    assert found.certificate_.relative <= 1e-6
    assert found.n_iter_ >= 3
    assert grams == [2000]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("alpha", [1e-8, 1e-2])
@pytest.mark.parametrize("intercept", [False, True])
def test_odd_columns(loss, alpha, intercept):
    """Wild scales, copies, a constant and a rare column, weights of all sizes."""
    X, y = tall(rare=1)
    X, y, rng = X[:1500] * np.logspace(-4, 4, 40), y[:1500], np.random.default_rng(2)
    X[:, 7], X[:, 20] = 2.0 * X[:, 6], 5.0
    weight = rng.pareto(1.0, len(y)) * (rng.random(len(y)) < 0.7)
    fitted = mm.Classifier(loss, "l2", alpha=alpha, intercept=intercept, solver="newton")
    assert fitted.fit(X, y, sample_weight=weight).certificate_.relative <= 1e-6


def test_the_right_preconditioner_needs_one_product():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((30, 20))
    A, right, products = root.T @ root, rng.standard_normal(20), []

    def product(v):
        products.append(v)
        return A @ v, root @ v

    def stop(residual, energy, first):
        return energy <= 1e-20 * first

    x, along = conjugate_gradients(product, right, lambda r: np.linalg.solve(A, r), stop)
    np.testing.assert_allclose(A @ x, right, rtol=1e-8)
    np.testing.assert_allclose(along, root @ x, rtol=1e-8)
    assert len(products) <= 2  # the second against rounding
