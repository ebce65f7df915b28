"""The band |X w + b − y| ≤ t: its system of rows against the matrix written out."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.solvers.programs.band import Band
from minimand.solvers.programs.quadratic_program import Rows


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("spread", [0, 6])
def test_is_the_matrix_of_both_inequalities(intercept, spread):
    rng = np.random.default_rng(spread)
    m, d = 7, 12
    x, free = rng.normal(size=(m, d)), np.ones((m, int(intercept)))
    quadratic = rng.uniform(0.1, 2.0, d)
    edge = -np.ones((m, 1))
    whole = Rows(np.vstack([np.hstack([x, free, edge]), np.hstack([-x, -free, edge])]))
    band = Band(x, free, quadratic)
    v, u = rng.normal(size=d + intercept + 1), rng.uniform(size=2 * m)
    np.testing.assert_allclose(band.times(v), whole.times(v), rtol=1e-12)
    np.testing.assert_allclose(band.transposed(u), whole.transposed(u), rtol=1e-12)
    weight = 10.0 ** rng.uniform(-spread, spread, 2 * m)
    every = np.append(quadratic, np.zeros(intercept + 1))
    found, expected = band.solver(weight, every)(v), whole.solver(weight, every)(v)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["dense", "sparse", "unscaled"])
@pytest.mark.parametrize("intercept", [False, True])
def test_chebyshev_on_wide_data_is_the_quadratic_program(kind, intercept):
    rng = np.random.default_rng(3)
    n, d, alpha = 40, 90, 0.02
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    if kind == "unscaled":
        X *= np.geomspace(1e-2, 1e2, d)
    y = X @ rng.normal(size=d) + rng.normal(size=n) + 5
    given = sparse.csr_array(X) if kind == "sparse" else X
    model = mm.Regressor("chebyshev", "l2", alpha, intercept=intercept).fit(given, y)
    P = np.diag(np.append(np.full(d, alpha), [0.0, 0.0]))
    ones = np.full((n, 1), float(intercept))
    A = np.vstack(
        [np.hstack([X, ones, -np.ones((n, 1))]), np.hstack([-X, -ones, -np.ones((n, 1))])]
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(P), np.append(np.zeros(d + 1), 1.0), sparse.csc_matrix(A),
        np.append(y, -y), [clarabel.NonnegativeConeT(2 * n)], settings,
    ).solve()  # fmt: skip
    assert model.certificate_.relative <= 1e-6
    rounding = 1e-7 * np.abs(y).max()  # of the other solver
    assert model.certificate_.dual <= found.obj_val + rounding
    assert model.certificate_.primal - found.obj_val <= model.certificate_.gap + rounding
