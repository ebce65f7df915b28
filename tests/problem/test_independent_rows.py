"""Rows of a wide matrix that do not depend on each other: the shortest model that fits them all."""

import numpy as np
import pytest

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective

N, D = 8, 20


def objective(intercept, x=None):
    rng = np.random.default_rng(0)
    mass = rng.uniform(0.5, 2.0, N)
    x = rng.standard_normal((N, D)) + 3.0 if x is None else x
    penalty = mm.NoPenalty().bind(D, 0.0)
    y = rng.standard_normal(N)
    return Objective(mm.Squared(), penalty, as_design(x), y, mass / mass.sum(), intercept=intercept)


def centred(problem):
    x = problem.design.x
    return x - problem.mass @ x if problem.intercept else x


@pytest.mark.parametrize("intercept", [True, False])
def test_the_shortest_model_is_that_of_the_pseudo_inverse(intercept):
    problem = objective(intercept)
    rows, x = problem.independent_rows, centred(problem)
    target = np.arange(N) - (problem.mass @ np.arange(N) if intercept else 0.0)
    np.testing.assert_allclose(rows.shortest(target), np.linalg.pinv(x) @ target, atol=1e-12)
    w = np.random.default_rng(1).standard_normal(D)
    shorter = rows.projected(w)
    np.testing.assert_allclose(shorter, np.linalg.pinv(x) @ x @ w, atol=1e-12)
    np.testing.assert_allclose(rows.projected(shorter), shorter, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_spectrum_is_that_of_the_weighted_rows(intercept):
    problem = objective(intercept)
    weighted = np.sqrt(N * problem.mass)[:, None] * centred(problem)
    values, rank = problem.independent_rows.spectrum
    np.testing.assert_allclose(values, np.linalg.svd(weighted)[1], atol=1e-7)
    assert rank == np.linalg.matrix_rank(weighted) == N - intercept


def test_dependent_rows_and_tall_matrices_are_none():
    x = np.random.default_rng(0).standard_normal((N, D))
    x[3] = x[1] - 2 * x[2]
    assert objective(False, x).independent_rows is None
    tall = objective(True).with_penalty(mm.NoPenalty().bind(3, 0.0), columns=np.arange(3))
    assert tall.independent_rows is None


@pytest.mark.parametrize("shape", [(60, 4), (12, 40), (41, 40)])
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_take_one_gram(shape, intercept):
    """The solution of LAPACK, proved, in one Gram and a few products."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(shape) + 2.0, rng.standard_normal(shape[0])
    s = rng.uniform(0.5, 2.0, shape[0])
    model = mm.Regressor("squared", "no_penalty", 0.0, intercept=intercept)
    model.fit(x, y, sample_weight=s, offset=0.1 * y**2)
    columns = np.c_[x, np.ones(shape[0])] if intercept else x
    expected = np.linalg.lstsq(
        np.sqrt(s)[:, None] * columns, np.sqrt(s) * (y - 0.1 * y**2), rcond=None
    )[0]
    fitted = columns @ expected
    np.testing.assert_allclose(x @ model.coef_ + model.intercept_, fitted, atol=1e-9)
    assert model.certificate_.relative < 1e-12
    assert model.certificate_.passes <= 7
    again = mm.certify(model, x, y, sample_weight=s, offset=0.1 * y**2)
    assert again.relative < 1e-12
