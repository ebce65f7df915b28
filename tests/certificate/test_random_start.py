"""Bounds that a Krylov space has because its start was random: eigenvalues are known here."""

import math

import numpy as np
import pytest

from minimand.certificate.eigenvalues.krylov import Krylov
from minimand.certificate.eigenvalues.random_start import (
    largest_by_start,
    log_least_singular,
    sum_by_start,
)
from minimand.certificate.eigenvalues.ritz import Operator

SIZE = 600
SPECTRA = {
    "flat": np.linspace(40, 1, SIZE),
    "edge": 46 * (1 - 0.9 * np.linspace(0, 1, SIZE) ** (2 / 3)),
    "spike": np.append(1e4, np.linspace(2, 1, SIZE - 1)),
    "equal": np.ones(SIZE),
    "groups": np.repeat([8.0, 4.0, 1.0], [3, 4, SIZE - 7]),
    "powers": 0.9 ** np.arange(SIZE),
    "low rank": np.append([5.0, 4.0, 3.0], np.zeros(SIZE - 3)),
    "slow": np.arange(1.0, SIZE + 1) ** -0.5,
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize(("k", "width", "blocks"), [(2, 4, 1), (2, 4, 8), (5, 7, 4), (3, 3, 6)])
def test_no_eigenvalue_and_no_sum_is_above_its_bound(name, k, width, blocks):
    values = SPECTRA[name]
    for seed in range(5):
        rng = np.random.RandomState(seed)
        # Normal numbers have the same distribution in every basis: A is diagonal.
        operator = Operator(lambda v: values[:, None] * v, SIZE, float(values.sum()))
        start = rng.standard_normal((SIZE, width))
        ritz, degree = Krylov(operator, k, rng, start, width=width).grown(blocks)
        upper = largest_by_start(ritz.values, start, degree, k + 1)
        assert upper.size == min(k + 1, width)
        assert (upper >= values[: upper.size]).all()
        bound = sum_by_start(ritz, k, upper)
        assert bound >= values[:k].sum() * (1 - 1e-14) >= ritz.values[:k].sum() * (1 - 1e-12)


def test_a_bound_is_close_where_the_space_is_deep_and_eigenvalues_are_apart():
    values = np.concatenate([[9.0, 8.0, 7.0], np.linspace(1, 0, SIZE - 3)])
    rng = np.random.RandomState(0)
    operator = Operator(lambda v: values[:, None] * v, SIZE, float(values.sum()))
    start = rng.standard_normal((SIZE, 5))
    ritz, degree = Krylov(operator, 3, rng, start, width=5).grown(15)
    bound = sum_by_start(ritz, 3, largest_by_start(ritz.values, start, degree, 4))
    assert 24.0 <= bound + 1e-12 <= 24.0 + 1e-8


@pytest.mark.parametrize(("j", "width"), [(1, 1), (1, 4), (2, 4), (4, 4), (3, 12)])
def test_the_least_singular_value_is_rarely_below_its_quantile(j, width):
    """The share of samples below is what the formula says at most; the seed makes it certain."""
    samples = np.random.RandomState(0).standard_normal((20000, j, width))
    least = np.linalg.svd(samples, compute_uv=False)[:, -1]
    for chance in (0.1, 0.01):
        share = (least < math.exp(log_least_singular(width, j, chance))).mean()
        assert share <= chance
