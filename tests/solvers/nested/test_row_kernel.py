"""The kernel of rows: systems by products of sparse rows are those of a factorised matrix."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.sklearn import HuberRegressor
from minimand.solvers.nested import row_kernel
from minimand.solvers.nested.row_kernel import RowKernel

ALWAYS, SELDOM = 1e9, 1e-1  # how many products a factorisation is worth


def made(n=60, d=200, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.1, rng=rng, format="csr")
    y = X @ rng.normal(size=d) + rng.standard_t(2, size=n)
    return X, y


def kernel(X, factors):
    n, d = X.shape
    penalty = mm.L2().bind(d, 1.0)
    problem = Objective(mm.Huber(), penalty, as_design(X), np.zeros(n), np.full(n, 1 / n))
    return RowKernel(problem, factors)


@pytest.mark.parametrize("as_stored", [lambda X: X, lambda X: X.toarray()], ids=["sparse", "dense"])
@pytest.mark.parametrize("level", [1e-12, 1.0])
@pytest.mark.parametrize("worth", [ALWAYS, SELDOM])
def test_solutions_satisfy_their_equations(monkeypatch, as_stored, level, worth):
    monkeypatch.setattr(row_kernel, "_DENSE", worth)
    X, _ = made()
    rng = np.random.default_rng(1)
    factors, some = rng.uniform(0.5, 2.0, size=X.shape[1]), rng.random(X.shape[0]) < 0.8
    diagonal = level * rng.uniform(0.5, 2.0, size=some.sum())
    right = np.column_stack([rng.normal(size=some.sum()), np.zeros(some.sum())])
    S = (X * factors) @ X.T
    matrix = S.toarray()[np.ix_(some, some)] + np.diag(diagonal)
    found = kernel(as_stored(X), factors)
    np.testing.assert_allclose(
        found.solutions(some, diagonal, right), np.linalg.solve(matrix, right), rtol=1e-7, atol=1e-9
    )
    p = rng.normal(size=X.shape[0])
    np.testing.assert_allclose(found.times(p), S @ p, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("worth", [ALWAYS, SELDOM])
def test_a_robust_fit_does_not_depend_on_how_rows_are_stored(monkeypatch, alpha, worth):
    monkeypatch.setattr(row_kernel, "_DENSE", worth)
    X, y = made()
    one, other = (HuberRegressor(alpha=alpha).fit(Z, y) for Z in (X, X.toarray()))
    assert one.certificate_.relative < 1e-6
    np.testing.assert_allclose(one.scale_, other.scale_, rtol=1e-3)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=2e-3 * np.abs(y).max())
