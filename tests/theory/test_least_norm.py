"""Least squares without a unique minimiser: the shortest one, whatever makes the rank deficient."""

import numpy as np
import pytest
import scipy.sparse as sp

import minimand as mm
from minimand.problem.dependence import MOST_COLUMNS

CASES = {
    "wide": lambda normal: normal((10, 25)),
    "wide, rows repeated": lambda normal: normal((8, 25))[np.r_[0:8, 0:4]],
    "wide, rows combined": lambda normal: normal((12, 5)) @ normal((5, 25)),
    "wide, columns repeated": lambda normal: np.tile(normal((10, 5)), (1, 4)),
    "wide, a constant": lambda normal: np.column_stack([normal((10, 20)), np.full(10, 3.0)]),
    "wide, both repeated": lambda normal: np.tile(normal((6, 5)), (2, 4)),
    "tall, columns repeated": lambda normal: normal((30, 4))[:, [0, 1, 2, 3, 1, 1]],
    "tall, columns combined": lambda normal: normal((30, 4)) @ normal((4, 7)),
    "tall, both repeated": lambda normal: np.tile(normal((6, 5)), (6, 3)),
    "tall, rows repeated": lambda normal: np.tile(normal((6, 9)), (4, 1)),
    "tall, a zero": lambda normal: np.column_stack([normal((30, 4)), np.zeros(30)]),
    "square, a row repeated": lambda normal: normal((9, 9))[[0, 1, 2, 3, 4, 5, 6, 7, 1]],
    "sizes apart": lambda normal: (normal((30, 4)) @ normal((4, 7))) * np.logspace(-2, 2, 7),
    "more columns than are factorised": lambda normal: normal((9, 4100))[np.r_[0:9, 0:4]],
}


def shortest(X, y, s, intercept):
    """The solution of least norm by singular values."""
    mean, centre = (s @ X / s.sum(), s @ y / s.sum()) if intercept else (0.0 * X[0], 0.0)
    root = np.sqrt(s)
    w = np.linalg.pinv(root[:, None] * (X - mean), rcond=1e-10) @ (root * (y - centre))
    return np.append(w, centre - mean @ w)


def fitted(X, y, intercept, **extra):
    model = mm.Regressor("squared", "no_penalty", intercept=intercept).fit(X, y, **extra)
    assert model.certificate_.relative <= 1e-10
    if X.shape[1] <= MOST_COLUMNS:
        assert mm.certify(model, X, y, **extra).relative <= 1e-10
    return np.append(model.coef_, model.intercept_)


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_the_shortest_minimiser_and_weights_that_are_copies(case, intercept):
    rng = np.random.default_rng(3)
    X = CASES[case](rng.standard_normal)
    y = 1.0 + rng.standard_normal(len(X))
    close(fitted(X, y, intercept), shortest(X, y, np.ones(len(X)), intercept))
    counts = rng.integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), counts)
    weighted = fitted(X, y, intercept, sample_weight=counts)
    close(weighted, shortest(X, y, counts, intercept))
    close(weighted, fitted(X[rows], y[rows], intercept))  # copies, and rows that are absent
    present = counts > 0
    close(weighted, fitted(X[present], y[present], intercept, sample_weight=counts[present]))


@pytest.mark.parametrize("case", ["wide, rows repeated", "tall, columns combined"])
def test_the_shortest_minimiser_of_sparse_data_and_of_several_outputs(case):
    rng = np.random.default_rng(4)
    X = CASES[case](rng.standard_normal)
    Y = rng.standard_normal((len(X), 2))
    expected = [shortest(X, y, np.ones(len(X)), True) for y in Y.T]
    close(fitted(sp.csr_array(X), Y[:, 0], True), expected[0])
    model = mm.Regressor("squared", "no_penalty").fit(X, Y)
    close(np.column_stack([model.coef_, model.intercept_]), np.array(expected))


def test_other_losses_hand_over_the_shortest_of_equal_models():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 6))
    y = rng.standard_t(3, 40)
    for loss in ("huber", "absolute"):
        model = mm.Regressor(loss, "no_penalty").fit(X, y)
        centred = X - X.mean(axis=0)
        projected = np.linalg.pinv(centred, rcond=1e-10) @ (centred @ model.coef_)
        np.testing.assert_allclose(model.coef_, projected, atol=1e-10)
