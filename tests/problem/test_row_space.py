"""The rows of a wide matrix: the shortest model that fits them best."""

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
    rows, x = problem.row_space, centred(problem)
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
    values, rank = problem.row_space.spectrum
    np.testing.assert_allclose(values, np.linalg.svd(weighted)[1], atol=1e-7)
    assert rank == np.linalg.matrix_rank(weighted) == N - intercept


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_that_depend_on_others_have_the_pseudo_inverse_under_the_masses(intercept):
    x = np.random.default_rng(0).standard_normal((N, D))
    x[3] = x[1]
    problem = objective(intercept, x)
    rows, x, root = problem.row_space, centred(problem), np.sqrt(problem.mass)
    assert rows.rank == N - 1 - intercept
    target = np.arange(N) - (problem.mass @ np.arange(N) if intercept else 0.0)
    expected = np.linalg.pinv(root[:, None] * x, rcond=1e-10) @ (root * target)
    np.testing.assert_allclose(rows.shortest(target), expected, atol=1e-12)
    w = np.random.default_rng(1).standard_normal(D)
    np.testing.assert_allclose(
        rows.projected(w), np.linalg.pinv(x, rcond=1e-10) @ x @ w, atol=1e-12
    )
    assert rows.spectrum.rank == rows.rank


def test_rows_of_unclear_rank_and_tall_matrices_are_none():
    x = np.random.default_rng(0).standard_normal((N, D))
    x[3] = x[1] + 1e-6 * x[3]
    assert objective(False, x).row_space is None
    tall = objective(True).with_penalty(mm.NoPenalty().bind(3, 0.0), columns=np.arange(3))
    assert tall.row_space is None


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
