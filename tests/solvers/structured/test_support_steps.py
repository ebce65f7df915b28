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


def test_gains_below_the_rounding_of_the_objective_are_judged_by_the_gap() -> None:
    X, y = _wild(60, 12, 3)
    model = mm.SequenceLabeler("crf", "l1", alpha=0.03, tol=1e-6, max_iter=100).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    again = mm.certify(model, X, y)
    assert again.relative <= 1e-6


def test_the_curvature_of_an_earlier_point_leads_to_the_same_optimum() -> None:
    X, y = _wild(100, 10, 3)
    tight = mm.SequenceLabeler("crf", "l1", alpha=0.003, tol=1e-9, max_iter=500).fit(X, y)
    rough = mm.SequenceLabeler("crf", "l1", alpha=0.003).fit(X, y)
    assert tight.certificate_.dual <= rough.certificate_.primal
    assert rough.certificate_.dual <= tight.certificate_.primal + tight.certificate_.rounding


@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
@pytest.mark.parametrize("kind", ["graphs", "edge features"])
def test_small_penalties_with_an_l1_part_reach_the_tolerance(kind: str, penalty: str) -> None:
    """Curvature by differences: quasi-Newton steps alone need thousands of iterations here."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(6)]
    y = [rng.integers(3, size=4) for _ in X]
    params = {"penalty": penalty, "alpha": 3e-4, "tol": 1e-6, "max_iter": 200}
    if kind == "graphs":
        edges = [[(0, 1), (1, 2), (2, 3), (3, 0)]] * len(X)
        model = mm.GraphLabeler("crf", **params).fit(X, y, edges)
    else:
        model = mm.SequenceLabeler("crf", edge_features="later", **params).fit(X, y)
    assert model.certificate_.relative <= 1e-6
