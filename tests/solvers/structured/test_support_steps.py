"""Chains with an l1 part whose columns have very different units."""

from __future__ import annotations

import numpy as np
import pytest

import minimand as mm


def _wild(n: int, d: int, k: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(1)
    units = 10.0 ** rng.uniform(-6, 6, size=d)
    X = [rng.normal(size=(rng.integers(1, 9), d)) for _ in range(n)]
    w = rng.normal(size=(d, k))
    y = [(x @ w + 2 * rng.gumbel(size=(len(x), k))).argmax(axis=1) for x in X]
    return [x * units for x in X], y


@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
def test_chains_with_columns_of_all_units_reach_the_tolerance(penalty: str) -> None:
    X, y = _wild(100, 10, 3)
    model = mm.SequenceLabeler("crf", penalty, alpha=0.01, max_iter=300).fit(X, y)
    assert model.certificate_.relative <= 1e-4
